"""Makes ``values.schema.json``: what Helm refuses before anything reaches the API server.

The settings' part follows from the agent's own models, ranges and choices included. The rest is
stated here. Nothing is accepted that is not named; what Kubernetes itself defines (an affinity)
is left to the API server.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ascend_agent.cli.options import OPTIONS, Command
from ascend_agent.settings.agent import DialectName, Settings
from ascend_agent.settings.simulated import CHIPS, SimulatedNode
from tools.chart.places import value_name
from tools.chart.values import Value, values

Json = dict[str, Any]

NO_VALUES: Final[Mapping[str, str]] = {
    "device-config": "follows from hami.deviceConfigMap, which is what is mounted",
    "hami-assets": "follows from hami.assetsDir, which is what is mounted",
    "host-root": "the chart mounts it where a way of injection needs it",
    "kubeconfig": "in a pod the credentials are the ServiceAccount's",
    "kubelet-socket": "follows from devicePluginDir, which is what is mounted",
    "library-path": "follows from driverDir and driverExtraDirs, which are what is mounted",
    "node-config": "follows from hami.nodeConfigMap, which is what is mounted",
    "node-name": "NODE_NAME, by the downward API",
    "pod-resources-socket": "follows from kubeletDir, which is what is mounted",
    "service-account-dir": "where the kubelet puts the token",
}
"""Options of ``run`` without a value, and why nobody who uses the chart needs one."""

_PORT: Final = (
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
_TEXT: Final[Json] = {"type": "string"}
_FLAG: Final[Json] = {"type": "boolean"}
_TEXTS: Final[Json] = {"type": "object", "additionalProperties": {"type": "string"}}
_PATH: Final[Json] = {"type": "string", "pattern": "^(/[A-Za-z0-9._+@-]+)+$"}
_FILE: Final[Json] = {"type": "string", "pattern": "^(/[A-Za-z0-9._+@-]+){3,}$"}
"""A file whose folder may be mounted: neither the root nor what is as full as /etc."""
_NAME: Final[Json] = {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"}
_CONFIG_MAP: Final[Json] = {
    "type": "string",
    "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
}
_SPAN: Final[Json] = {"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"}
_QUANTITIES: Final[Json] = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number"]},
}


def _closed(properties: Mapping[str, Json], required: Iterable[str] = ()) -> Json:
    found: Json = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
    }
    if needed := list(required):
        found["required"] = needed
    return found


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _one_of(*words: str) -> Json:
    return {"type": "string", "enum": list(words)}


def _whole(low: int, high: int) -> Json:
    return {"type": "integer", "minimum": low, "maximum": high}


_OBJECT: Final[Json] = {"type": "object"}
_NAMED: Final = _list(_closed({"name": _TEXT}, ["name"]))
_TOLERATION: Final = _closed(
    {
        "key": _TEXT,
        "operator": _one_of("Exists", "Equal"),
        "value": _TEXT,
        "effect": _one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
        "tolerationSeconds": {"type": "integer"},
    }
)
_LAYOUTS: Final = ("kubeadm", "k3s", "rke", "rke-opt", "rke2", "k0s", "microk8s", "openshift")

_STATED: Final[Mapping[str, Json]] = {
    "dialect": {"anyOf": [_one_of(*(each.value for each in DialectName)), {"type": "null"}]},
    "kubeletDir": {"anyOf": [_PATH, {"type": "null"}]},
    "devicePluginDir": {"anyOf": [{**_PATH, "maxLength": 75}, {"type": "null"}]},
    "http": {"type": "string", "pattern": rf"^(0\.0\.0\.0|\[::\])?:{_PORT}$"},
    "hangConfig": {"anyOf": [_FILE, {"type": "null"}]},
    "dpuConfig": {"anyOf": [_FILE, {"type": "null"}]},
    "faultConfigMap": {"anyOf": [_CONFIG_MAP, {"type": "null"}]},
    "chip": _one_of(*CHIPS),
    "dockerRuntime": _FLAG,
    "scenario": _closed(
        {
            "chip": _one_of(*CHIPS),
            "npus": {"type": "integer", "minimum": 0},
            "seed": {"type": "integer"},
            "soft": _FLAG,
            "pods": _list({"type": "object"}),
            "steps": _list({"type": "object"}),
            "expect": _list({"type": "object"}),
        }
    ),
}
"""What the models don't say: forms of text, defaults that a layout gives, a variable, a document.

An address of one interface is none of a pod: its probes come from outside.
"""

OTHERS: Final[Mapping[str, Json]] = {
    "image.repository": {"type": "string", "minLength": 1},
    "image.tag": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{0,128}$"},
    "image.digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
    "image.pullPolicy": _one_of("Always", "IfNotPresent", "Never"),
    "imagePullSecrets": _NAMED,
    "nameOverride": _NAME,
    "fullnameOverride": _NAME,
    "replaces": _one_of("none", "mindcluster", "hami"),
    "avoidPeers": _FLAG,
    "kubeletLayout": _one_of(*_LAYOUTS),
    "driverDir": _PATH,
    "driverExtraDirs": {**_list(_PATH), "uniqueItems": True},
    "logDir": {"type": "string", "pattern": "^(/[A-Za-z0-9._+@-]+)*$"},
    "hami.deviceConfigMap": {**_NAME, "minLength": 1},
    "hami.nodeConfigMap": {**_NAME, "minLength": 1},
    "hami.assetsImage": {"type": "string", "pattern": "^[^\\s]*$"},
    "hami.assetsDir": _PATH,
    "extraArgs": _list(_TEXT),
    "extraEnv": _list(_closed({"name": _TEXT, "value": _TEXT, "valueFrom": _OBJECT}, ["name"])),
    "useApiServer": _FLAG,
    "serviceAccount.create": _FLAG,
    "serviceAccount.name": _NAME,
    "serviceAccount.annotations": _TEXTS,
    "rbac.create": _FLAG,
    "admissionPolicy.create": _FLAG,
    "privileged": {"type": ["boolean", "null"]},
    "hostPID": {"type": ["boolean", "null"]},
    "seLinuxOptions": _closed(dict.fromkeys(("user", "role", "type", "level"), _TEXT)),
    "appArmorProfile": {
        "type": "string",
        "pattern": "^(Unconfined|RuntimeDefault|Localhost/[A-Za-z0-9._/-]+)?$",
    },
    "openshiftScc": _NAME,
    "priorityClassName": _NAME,
    "nodesWithAnyLabel": _list(_closed({"key": _TEXT, "value": _TEXT}, ["key", "value"])),
    "nodeSelector": _TEXTS,
    "affinity": _closed(dict.fromkeys(("nodeAffinity", "podAffinity", "podAntiAffinity"), _OBJECT)),
    "tolerations": _list(_TOLERATION),
    "maxUnavailable": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^([1-9][0-9]?|100)%$"},
        ]
    },
    "terminationGracePeriodSeconds": _whole(5, 300),
    "resources": _closed({"requests": _QUANTITIES, "limits": _QUANTITIES}),
    "podLabels": _TEXTS,
    "podAnnotations": _TEXTS,
    "runtimeClass.create": _FLAG,
    "runtimeClass.name": {**_NAME, "minLength": 1},
    "runtimeClass.handler": {**_NAME, "minLength": 1},
    "service.create": _FLAG,
    "service.annotations": _TEXTS,
    "podMonitor.create": _FLAG,
    "podMonitor.labels": _TEXTS,
    "podMonitor.interval": _SPAN,
    "podMonitor.scrapeTimeout": _SPAN,
    "prometheusRule.create": _FLAG,
    "prometheusRule.labels": _TEXTS,
    "grafanaDashboard.create": _FLAG,
    "grafanaDashboard.labels": _TEXTS,
    "grafanaDashboard.annotations": _TEXTS,
}


def settings() -> Mapping[str, Json]:
    """Return the schema of each value below ``settings``, by its name."""
    models = (Settings.model_json_schema(), SimulatedNode.model_json_schema())
    found = dict(_STATED)
    for option in OPTIONS:
        name = value_name(option.name)
        if Command.RUN in option.commands and option.name not in NO_VALUES and name not in found:
            model = next(each for each in models if option.sets in each["properties"])
            found[name] = _narrow(model["properties"][option.sets], model)
    return found


def _narrow(field: Json, model: Json) -> Json:
    """Return the type, range and choices of one field of a pydantic schema, nothing else."""
    if reference := field.get("$ref"):
        chosen: Json = model["$defs"][reference.rpartition("/")[2]]
        return {"type": chosen["type"], "enum": chosen["enum"]}
    if "anyOf" in field:
        return {"anyOf": [_narrow(part, model) for part in field["anyOf"]]}
    if field.get("format") == "path":
        return _PATH
    kept = ("type", "minimum", "maximum")
    return {key: field[key] for key in kept if key in field}


def document() -> Json:
    """Return the whole schema; KeyError where a value of ``values.yaml`` has none."""
    known = {**OTHERS, **{f"settings.{name}": each for name, each in settings().items()}}
    root: Json = _closed({})
    root = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "ascend-agent", **root}
    for value in values():
        _place(root, value, known[value.path])
    # Helm itself gives every chart this section.
    root["properties"]["global"] = {"type": "object"}
    return root


def _place(root: Json, value: Value, schema: Json) -> None:
    *sections, name = value.path.split(".")
    where = root
    for section in sections:
        if section not in where["properties"]:
            _require(where, section)
        where = where["properties"].setdefault(section, _closed({}))
    where["properties"][name] = {"description": value.meaning, **schema}
    if not isinstance(value.default, dict | list | None):
        _require(where, name)


def _require(where: Json, name: str) -> None:
    """Have *name* given: Helm takes away what is null, and only a list or mapping may be empty."""
    where.setdefault("required", []).append(name)


def render() -> str:
    """Return the file's text."""
    return json.dumps(document(), indent=2) + "\n"
