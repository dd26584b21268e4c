"""Reads a scenario file.

Every scalar is read as text and typed by the models afterwards: YAML itself would turn a fault
code of digits into a decimal number, one with a leading zero into an octal one.
"""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ascend_agent.errors import ConfigError
from ascend_agent.settings.expectations import (
    NpuExpectation,
    PodExpectation,
    SwitchExpectation,
)
from ascend_agent.settings.problems import Problem, describe, shown
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.settings.simulated import SimulatedNode
from ascend_agent.settings.steps import (
    DpuStep,
    DropStep,
    FaultStep,
    HangStep,
    LinkStep,
    ProcessStep,
    StormStep,
    VnpuStep,
    WorkerStep,
)
from ascend_agent.settings.switch_steps import SwitchPlace, SwitchStep

_LARGEST_FILE = 1 << 20
_NAME_OF_YAML = re.compile(r'"<\w+ string>", ')
_EXCERPT = re.compile(r":\n {4}.*\n *\^")
"""In one line with the rest nobody sees what the arrow points to; line and column say it."""
_KNOWN = {
    "": tuple(SimulatedNode.model_fields),
    "steps fault": tuple(FaultStep.model_fields),
    "steps storm": tuple(StormStep.model_fields),
    "steps switch": tuple(SwitchStep.model_fields) + tuple(SwitchPlace.model_fields),
    "steps drop": tuple(DropStep.model_fields),
    "steps hang": tuple(HangStep.model_fields),
    "steps worker": tuple(WorkerStep.model_fields),
    "steps process": tuple(ProcessStep.model_fields),
    "steps vnpu": tuple(VnpuStep.model_fields),
    "steps dpu": tuple(DpuStep.model_fields),
    "steps link": tuple(LinkStep.model_fields),
    "pods": tuple(ScenarioPod.model_fields),
    "expect npu": tuple(NpuExpectation.model_fields),
    "expect switches": tuple(SwitchExpectation.model_fields),
    "expect pod": tuple(PodExpectation.model_fields),
}


class _TextLoader(yaml.BaseLoader):
    """YAML with text as the only scalar, and each key at most once in a mapping."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 -- PyYAML's signature
        seen = set()
        for key, _ in node.value:
            trouble = ""
            if not isinstance(key.value, str):
                trouble = "a key is no text"
            elif key.value in seen:
                trouble = f"the key {shown(key.value)} stands twice"
            if trouble:
                raise yaml.constructor.ConstructorError(None, None, trouble, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load_scenario(path: Path, **overrides: object) -> SimulatedNode:
    """Return the node a file describes; *overrides* replace what the file says.

    A directory that it names is looked for beside it.

    Raises:
        ConfigError: the file can't be read or means nothing; one line a violation.

    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(
            f"scenario {path}: can't be read ({error.strerror}); give a readable file"
        ) from error
    node = parse_scenario(data, name=str(path), **overrides)
    if node.fault_config_dir is None:
        return node
    beside = path.absolute().parent / node.fault_config_dir
    return node.model_copy(update={"fault_config_dir": beside})


def parse_scenario(data: bytes | str, *, name: str, **overrides: object) -> SimulatedNode:
    """Return the node that YAML (or JSON) *data* describes; *name* is for messages."""
    if len(data) > _LARGEST_FILE:
        raise ConfigError(f"scenario {name}: is larger than 1 MiB; shorten it")
    try:
        raw = yaml.load(data, Loader=_TextLoader)  # noqa: S506 -- builds text, lists, dicts only
    except (yaml.YAMLError, RecursionError) as error:
        # Of what YAML calls its input nobody needs to know; line and column stay.
        said = _EXCERPT.sub("", _NAME_OF_YAML.sub("", str(error)))
        why = " ".join(said.split()) or "nested too deeply"
        raise ConfigError(f"scenario {name}: is no YAML ({why}); correct it there") from error
    if not isinstance(raw, dict):
        said = "is empty" if raw is None else f"{shown(raw)} is no mapping"
        raise ConfigError(f"scenario {name}: {said}; start with chip:, npus: and steps:")
    try:
        return SimulatedNode.model_validate(raw | overrides)
    except ValidationError as error:
        problems = describe(error, known=_KNOWN)
        raise ConfigError(
            "\n".join(problem.text(f"scenario {name}{_place(problem)}") for problem in problems)
        ) from error


def _place(problem: Problem) -> str:
    """Return where in the file: ``, step 3, at_s`` counts steps from 1, as people do."""
    match problem.where:
        case ("steps" | "expect" | "pods" as of, int(number), *rest):
            entry = of.removesuffix("s") if of != "expect" else of
            return "".join([f", {entry} {number + 1}", *(f", {part}" for part in rest)])
        case where:
            return "".join(f", {part}" for part in where)
