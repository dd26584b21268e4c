"""Writes docs/configuration.md's tables from the options, the settings and the scenario models."""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ascend_agent.cli.options import COMMANDS, OPTIONS, Command, Option
from ascend_agent.cli.peers import MEANINGS, HamiFile, Healthz, NotBuilt, Retired, Same, Version
from ascend_agent.settings.agent import Settings
from ascend_agent.settings.expectations import (
    NpuExpectation,
    PodExpectation,
    SwitchExpectation,
)
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.settings.simulated import CHIPS, SimulatedNode
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
from ascend_agent.settings.switch_steps import SwitchStep
from tools.docs.pages import code, table

_STEPS: tuple[type[BaseModel], ...] = (
    FaultStep,
    StormStep,
    DropStep,
    HangStep,
    WorkerStep,
    ProcessStep,
    VnpuStep,
    LinkStep,
    SwitchStep,
    DpuStep,
)
_EXPECTATIONS: tuple[type[BaseModel], ...] = (NpuExpectation, SwitchExpectation, PodExpectation)


def commands() -> str:
    """Return one row a command."""
    return table(("command", "what it does"), [(code(c), text) for c, text in COMMANDS.items()])


def options() -> str:
    """Return one row an option: as flag, as variable, what it takes, its default, what it does."""
    head = ("flag", "environment", "takes", "default", "commands", "what it sets")
    return table(head, [_option_row(option) for option in OPTIONS])


def _option_row(option: Option) -> tuple[str, ...]:
    field = _schema(Settings).get(option.sets) or _schema(SimulatedNode).get(option.sets) or {}
    takes = _takes(option, field)
    used = ", ".join(command for command in Command if command in option.commands)
    text = str(field.get("description") or option.help)
    return code(option.flag), code(option.variable), takes, _default(option), used, text


def _schema(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return properties


def _takes(option: Option, field: dict[str, Any]) -> str:
    word = option.metavar or "true|false"
    return word if ".." in word else word + _range(field)


def _range(field: dict[str, Any]) -> str:
    parts = [field, *field.get("anyOf", [])]
    low = next((part["minimum"] for part in parts if "minimum" in part), None)
    high = next((part["maximum"] for part in parts if "maximum" in part), None)
    match low, high:
        case None, None:
            return ""
        case _, None:
            return f", at least {low:g}"
        case _:
            return f", {low:g} to {high:g}"


def _default(option: Option) -> str:
    values = Settings().model_dump(mode="json") | SimulatedNode().model_dump(mode="json")
    value = values.get(option.sets)
    match value:
        case None:
            return ""
        case bool():
            return code(str(value).lower())
        case float():
            return code(f"{value:g}")
        case _:
            return code(value)


def variables() -> str:
    """Return the settings that no option sets, so that none stays unknown."""
    optional = {option.sets for option in OPTIONS} | {"simulated"}
    fields = [name for name in Settings.model_fields if name not in optional]
    rows = [(code(name), str(_schema(Settings)[name].get("description", ""))) for name in fields]
    return table(("setting without an option", "what it says"), rows)


def peers() -> str:
    """Return one row an option of the two older plugins, with what it means here."""
    rows = [(code(f"--{name}"), text) for name, text in sorted(_meanings(), key=_by_name)]
    return table(("option of an older plugin", "here"), rows)


def _by_name(row: tuple[str, str]) -> str:
    return row[0].lower()


def _meanings() -> Iterator[tuple[str, str]]:
    by_field = {option.sets: option.flag for option in OPTIONS}
    for name, meaning in MEANINGS.items():
        match meaning:
            case Same(sets, _, allowed):
                yield name, f"same as {code(by_field[sets])}; takes {allowed}"
            case HamiFile(sets, selects):
                also = (
                    f", and {code('--dialect=hami')} where no dialect is given" if selects else ""
                )
                yield name, f"same as {code(by_field[sets])}{also}"
            case Retired(why):
                yield name, f"accepted with a warning, no effect: {why}"
            case NotBuilt(harmless, feature):
                words = " or ".join(code(word) or "the empty value" for word in _shortest(harmless))
                yield name, f"asks for {feature}, not built yet: {words} alone is accepted"
            case Healthz():
                yield name, f"together with its sibling the same as {code('--http')}"
            case Version():
                yield name, f"same as the command {code('version')}"


def _shortest(words: frozenset[str]) -> list[str]:
    """Return *words*, of the many spellings of true and false one alone."""
    return [word for word in ("true", "false") if word in words] or sorted(words)


def scenario() -> str:
    """Return the keys of a scenario file, of its steps, pods and expectations, and its chips."""
    node = [
        (code(name), str(field.get("description", "what happens, see below")))
        for name, field in _schema(SimulatedNode).items()
    ]
    steps, expectations = (
        [(", ".join(map(code, model.model_fields)), _summary(model)) for model in models]
        for models in (_STEPS, _EXPECTATIONS)
    )
    pods = [(", ".join(map(code, ScenarioPod.model_fields)), _summary(ScenarioPod))]
    chips = [
        (code(name), str(shape.usual_npus), str(shape.npus_per_card))
        for name, shape in CHIPS.items()
    ]
    return "\n\n".join(
        [
            table(("key of the file", "what it says"), node),
            table(("keys of a step", "what happens"), steps),
            table(("keys of a pod", "what it is"), pods),
            table(("keys of an expectation", "what should be true"), expectations),
            table(("chip", "NPUs by default", "NPUs on a card"), chips),
        ]
    )


def _summary(model: type[BaseModel]) -> str:
    return re.split(r"\n\s*\n", (model.__doc__ or "").strip())[0].replace("``", "`")
