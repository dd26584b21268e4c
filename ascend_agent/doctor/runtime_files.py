"""Where container runtimes keep their configuration on a node, read as far as it can be seen.

Distributions bring containerd with files of their own; all known places are looked at.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ascend_agent.cluster.fields import parse_json
from ascend_agent.doctor.runtime_config import (
    RuntimeConfig,
    merge,
    parse_containerd,
    parse_crio,
    parse_docker,
)
from ascend_agent.runtime.regular import read_regular

_CONTAINERD: Final = (
    "/etc/containerd/config.toml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
    "/var/snap/microk8s/current/args/containerd.toml",
    "/etc/k0s/containerd.toml",
)
_DOCKER: Final = ("/etc/docker/daemon.json",)
_CRIO: Final = ("/etc/crio/crio.conf",)
_CRIO_DROP_INS: Final = "/etc/crio/crio.conf.d"

OnHost = Callable[[str], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """One file that was found; ``trouble`` says why it could not be read, empty where it was."""

    path: str
    config: RuntimeConfig
    trouble: str = ""


def find_configs(on_host: OnHost) -> tuple[ConfigFile, ...]:
    """Return every configuration on the node; none in a pod that does not see the host's /etc."""
    places = [
        *((path, "containerd", _read_containerd) for path in _CONTAINERD),
        *((path, "docker", _read_docker) for path in _DOCKER),
        *((path, "cri-o", _read_crio) for path in _CRIO),
    ]
    found = []
    for path, product, read in places:
        if os.path.lexists(on_host(path)):
            try:
                found.append(ConfigFile(path=path, config=read(on_host, path)))
            except (OSError, ValueError) as error:
                nothing = RuntimeConfig(product=product)
                found.append(ConfigFile(path=path, config=nothing, trouble=str(error)))
    return tuple(found)


def _read_containerd(on_host: OnHost, path: str) -> RuntimeConfig:
    document = _toml(on_host(path))
    imports = document.get("imports")
    for pattern in imports if isinstance(imports, list) else []:
        absolute = (
            str(pattern) if str(pattern).startswith("/") else str(Path(path).parent / pattern)
        )
        folder, _, name = absolute.rpartition("/")
        for each in sorted(on_host(folder or "/").glob(name)):
            document = merge(document, _toml(each))
    return parse_containerd(document)


def _read_docker(on_host: OnHost, path: str) -> RuntimeConfig:
    document = parse_json(read_regular(on_host(path)))
    if not isinstance(document, dict):
        raise ValueError(f"{path} is no JSON object")  # noqa: TRY004 -- a file's fault, no caller's
    return parse_docker(document)


def _read_crio(on_host: OnHost, path: str) -> RuntimeConfig:
    document = _toml(on_host(path))
    for each in sorted(on_host(_CRIO_DROP_INS).glob("*")):
        document = merge(document, _toml(each))
    return parse_crio(document)


def _toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(read_regular(path).decode())
    except RecursionError:
        raise ValueError(f"{path} is nested too deep to be read") from None
