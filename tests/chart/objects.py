"""What Helm rendered, as objects that tests can ask about, and the agent's own view of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ascend_agent.cli.arguments import Arguments, parse
from ascend_agent.cli.compose import compose
from ascend_agent.cli.options import Command
from ascend_agent.settings import Settings
from tools.chart.places import VALUES
from tools.chart.render import ValueSet, value_sets

Json = dict[str, Any]

SETS: Mapping[str, ValueSet] = {chosen.name: chosen for chosen in value_sets()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One directory of the host as the container has it; ``kind`` is the volume's type."""

    host: str
    container: str
    read_only: bool
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The objects of one values file."""

    objects: tuple[Json, ...]

    def of(self, kind: str) -> list[Json]:
        """Return the objects of *kind*."""
        return [each for each in self.objects if each["kind"] == kind]

    @property
    def daemonset(self) -> Json:
        """Return the one DaemonSet."""
        (found,) = self.of("DaemonSet")
        return found

    @property
    def template(self) -> Json:
        """Return the pod template."""
        template: Json = self.daemonset["spec"]["template"]
        return template

    @property
    def pod(self) -> Json:
        """Return the pod's spec."""
        spec: Json = self.template["spec"]
        return spec

    @property
    def container(self) -> Json:
        """Return the one container."""
        (found,) = self.pod["containers"]
        container: Json = found
        return container

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the container's environment on a node ``node-1``, with what every pod is told."""
        env = {each["name"]: each.get("value", "node-1") for each in self.container["env"]}
        told = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        return {**told, **env}

    @property
    def host_mounts(self) -> Mapping[str, Mount]:
        """Return what the container has of the host, by its path in the container."""
        paths = {
            each["name"]: each["hostPath"] for each in self.pod["volumes"] if "hostPath" in each
        }
        return {
            each["mountPath"]: Mount(
                host=paths[each["name"]]["path"],
                container=each["mountPath"],
                read_only=each.get("readOnly", False),
                kind=paths[each["name"]]["type"],
            )
            for each in self.container["volumeMounts"]
            if each["name"] in paths
        }


def parsed(text: str) -> Rendered:
    """Return the objects in *text*."""
    # The C parser: the other takes a tenth of a second for a file, and there are many.
    return Rendered(objects=tuple(each for each in yaml.load_all(text, yaml.CSafeLoader) if each))


@cache
def golden(name: str) -> Rendered:
    """Return the objects of set *name* as the golden file holds them."""
    return parsed(SETS[name].golden.read_text())


@cache
def values_of(name: str) -> Json:
    """Return the values that set *name* comes to, as Helm merges them."""
    return _merged(yaml.safe_load(VALUES.read_text()), yaml.safe_load(SETS[name].file.read_text()))


def _merged(base: Json, over: Json) -> Json:
    """Return *base* with *over* laid over it: mappings key by key, all else as a whole."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = _merged(base[key], value) if both else value
    return result


def understood(
    rendered: Rendered, folder: Path, *, command: Command = Command.RUN
) -> tuple[Arguments, Settings]:
    """Return what the agent's own parser makes of the container; ConfigError where it refuses.

    *folder* takes the files of the ConfigMap, since the agent reads them. *command* is what is
    run in the container.
    """
    environment = rendered.environment
    for volume in rendered.pod["volumes"]:
        if "configMap" in volume and not volume["configMap"].get("optional"):
            environment = _with_files(rendered, volume, environment, folder)
    run, *further = rendered.container["args"]
    arguments = [run, *further] if command is Command.RUN else [command.value]
    found = parse(arguments, environment)
    settings, _ = compose(found)
    return found, settings


def _with_files(
    rendered: Rendered, volume: Json, environment: Mapping[str, str], folder: Path
) -> Mapping[str, str]:
    name = volume["configMap"]["name"]
    (config,) = [each for each in rendered.of("ConfigMap") if each["metadata"]["name"] == name]
    for file, text in config["data"].items():
        (folder / file).write_text(text)
    (mount,) = [m for m in rendered.container["volumeMounts"] if m["name"] == volume["name"]]
    place = mount["mountPath"]
    return {key: value.replace(place, str(folder)) for key, value in environment.items()}
