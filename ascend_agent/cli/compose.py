"""What was given → settings, or every violation, each under the name its user knows.

The sources are merged before this; here the models judge the values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ascend_agent.cli.arguments import Arguments, Given, option_of
from ascend_agent.cli.options import Command
from ascend_agent.errors import ConfigError
from ascend_agent.model.world import SharePolicy
from ascend_agent.settings import (
    DialectName,
    DriverKind,
    HamiSettings,
    LogLevel,
    LogStyle,
    Problem,
    Settings,
    build_settings,
)

_OF_THE_NODE = ("chip", "npus", "seed")
_FOR_PEOPLE = {"log_level": LogLevel.CRITICAL, "log_style": LogStyle.CONSOLE}
_OF_PEOPLE = frozenset({Command.SIM, Command.FAULTS})
_BESIDE_PEOPLE = frozenset({"device_config", "fault_config_dir", "hang_config"})
_SIMULATED_NAME = "simulated"
"""HAMi's scheduler knows a node by name, and a simulated one has nobody to give it one."""
_LONGEST_S = {"an hour": 3600.0, "a week": 7 * 86400.0}
_CHECK_S = 15.0
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """How ``sim``, ``devices``, ``doctor`` and ``faults`` look and present what they see.

    ``for_s`` None: until it is over. ``origins`` tells by which name each setting was given.
    ``words`` are what the command is about, ``device_words`` those of ``deregister``. ``check``:
    does the scenario come to what it expects?
    """

    for_s: float | None
    as_json: bool
    has_scenario: bool
    check_deadline_s: float = _CHECK_S
    origins: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    check: bool = False
    device_words: tuple[str, ...] = ()


def compose(arguments: Arguments) -> tuple[Settings, Show]:
    """Return the settings of one command.

    Raises:
        ConfigError: one line a violation, those found while parsing included.

    """
    problems = list(arguments.problems)
    given = dict(arguments.given)
    show = Show(
        for_s=_take_seconds(given, "for_s", problems, most="a week"),
        as_json=_take_switch(given, "as_json", problems),
        has_scenario="scenario" in given,
        check_deadline_s=_take_seconds(given, "check_deadline_s", problems, most="an hour")
        or _CHECK_S,
        origins={sets: one.name for sets, one in arguments.given.items()},
        words=arguments.words,
        check=_take_switch(given, "check", problems),
        device_words=_take_list(given, "device_words"),
    )
    values: dict[str, object] = {}
    if arguments.command is not Command.RUN:
        values |= _FOR_PEOPLE
    if arguments.command is Command.SIM:
        values["driver"] = DriverKind.SIMULATED
        if "dialect" in given and given["dialect"].value == DialectName.HAMI:
            values["node_name"] = _SIMULATED_NAME
    if node := _take_node(given, problems):
        values["simulated"] = node
    if beside := node.get("fault_config_dir"):
        values["fault_config_dir"] = beside
    if show.check and not problems:
        problems += _check_problems(show, expects=bool(node.get("expect")))
    values |= {sets: _value(sets, one, arguments.command) for sets, one in given.items()}
    if arguments.command is Command.SIM:
        problems += _pod_problems(node, dialect=str(values.get("dialect", "")))
    built = build_settings(values)
    if not isinstance(built, Settings):
        problems += [_text(problem, arguments.given) for problem in built]
    elif not problems:
        return built, show
    raise ConfigError("\n".join(problems))


def without_effect(settings: Settings, arguments: Arguments) -> list[tuple[str, str]]:
    """Return each option that was given and that no part of the agent reads, and why.

    A value that is passed over in silence is one that somebody relies on (CF-1).
    """
    if settings.dialect is DialectName.HAMI:
        idle = {
            "share_policy": settings.share_policy is not SharePolicy.SPREAD,
            "refuse_held": not settings.refuse_held,
        }
        why = "with --dialect=hami the scheduler chooses the NPUs: remove it"
        return [(arguments.given[sets].name, why) for sets, told in idle.items() if told]
    return [
        (one.name, "it belongs to the hami dialect: add --dialect=hami or remove it")
        for sets, one in arguments.given.items()
        if sets in HamiSettings.model_fields
    ]


def _value(sets: str, one: Given, command: Command) -> str:
    """Return what was given; what people try out they name as seen from where they stand.

    A service stands nowhere, so ``run`` and the doctor, which judges its options, want it absolute.
    """
    if command in _OF_PEOPLE and sets in _BESIDE_PEOPLE and one.value:
        return str(Path(one.value).absolute())
    return one.value


def _pod_problems(node: Mapping[str, object], *, dialect: str) -> Iterator[str]:
    if dialect != DialectName.HAMI.value and (node.get("pods") or node.get("soft")):
        yield "--scenario: has pods or soft, which are HAMi's; add --dialect hami"


def _check_problems(show: Show, *, expects: bool) -> Iterator[str]:
    if show.for_s is not None:
        yield "--check: lasts as long as the scenario does; remove --for"
    if show.has_scenario and not expects:
        yield "--check: the scenario expects nothing; write expect: into its file"
    elif not show.has_scenario:
        yield "--check: there is nothing to check; give --scenario a file that has expect:"


def _take_node(given: dict[str, Given], problems: list[str]) -> Mapping[str, object]:
    """Return the simulated node from its options; a scenario file is read, flags win over it."""
    flags = {name: given.pop(name).value for name in _OF_THE_NODE if name in given}
    scenario = given.pop("scenario", None)
    if scenario is None:
        return flags
    from ascend_agent.settings.scenario import load_scenario  # noqa: PLC0415 -- brings YAML

    try:
        return dict(load_scenario(Path(scenario.value), **flags))
    except ConfigError as error:
        problems += str(error).splitlines()
        return flags


def _take_seconds(
    given: dict[str, Given], sets: str, problems: list[str], *, most: str
) -> float | None:
    one = given.pop(sets, None)
    if one is None:
        return None
    try:
        seconds = float(one.value)
    except ValueError:
        seconds = -1.0
    if 0 < seconds <= _LONGEST_S[most]:
        return seconds
    problems.append(
        f"{one.name}: {one.value[:80]!r} is no time; give seconds, more than 0, up to {most}"
    )
    return None


def _take_switch(given: dict[str, Given], sets: str, problems: list[str]) -> bool:
    one = given.pop(sets, None)
    if one is None or one.value.lower() in _NO:
        return False
    if one.value.lower() in _YES:
        return True
    problems.append(f"{one.name}: {one.value[:80]!r} is neither true nor false; give one of them")
    return False


def _take_list(given: dict[str, Given], sets: str) -> tuple[str, ...]:
    one = given.pop(sets, None)
    return tuple(filter(None, one.value.split(","))) if one else ()


def _text(problem: Problem, given: Mapping[str, Given]) -> str:
    return problem.text(_name(problem.where, given))


def _name(where: Sequence[str | int], given: Mapping[str, Given]) -> str:
    """Return the name under which the user gave the setting at *where*, else its option."""
    given_here = [part for part in where if part in given]
    if tuple(where) == ("simulated",):
        given_here = [name for name in (*_OF_THE_NODE, "scenario") if name in given]
    if given_here:
        return ", ".join(given[str(part)].name for part in given_here)
    option = option_of(str(where[-1]))
    return option.flag if option else ".".join(str(part) for part in where)
