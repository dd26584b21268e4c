"""Rules that raise a level, as an operator gives them: ``faultCustomization.json``.

MindCluster's format, whose times are seconds. A list that is there replaces the built-in rules of
its kind, be it empty; one that is absent leaves them. An entry out of its limits is left out and
told, and the others stand; where none of a list can be used, or a type is wrong, the file is
refused as a whole. The first valid entry for a code counts. ``GraceTolerance`` is checked for its
type alone: what it was for exists no more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from ascend_agent.faults.catalog import spell
from ascend_agent.faults.codes import parse_code
from ascend_agent.faults.config_text import (
    Parsed,
    Problems,
    name_unknown,
    read_object,
    shown,
    take_list,
    take_texts,
)
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FrequencyRule

R = TypeVar("R", FrequencyRule, DurationRule)
_GRACE: Final = ("WaitProcessReadCMTime", "WaitDeviceResetTime", "WaitFaultSelfHealingTime")
_FREQUENCY: Final = ("EventId", "TimeWindow", "Times", "FaultHandling", "ReleaseTimeWindow")
_DURATION: Final = ("EventId", "FaultTimeout", "RecoverTimeout", "FaultHandling")
_LISTS: Final = ("FaultFrequency", "FaultDuration")
_KEYS: Final = ("GraceTolerance", *_LISTS)
_WINDOW_S: Final = (60, 864_000)
_TIMES: Final = (1, 100)
_NEVER_S: Final = 1 << 32
"""A release window that is none: people alone lift such an isolation."""
_RELEASE_S: Final = (60, _NEVER_S)
_FAULT_TIMEOUT_S: Final = (0, 600)
_RECOVER_TIMEOUT_S: Final = (0, 86_400)
_BY_FREQUENCY: Final = {level.value: level for level in FaultLevel}
_BY_DURATION: Final = {
    text: level
    for text, level in _BY_FREQUENCY.items()
    if level is not FaultLevel.MANUALLY_SEPARATE_NPU
}
_MS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Customization:
    """The rules of a file; ``spellings`` of their codes, where they are unusual."""

    frequency: Mapping[FaultCode, FrequencyRule]
    duration: Mapping[FaultCode, DurationRule]
    spellings: Mapping[FaultCode, str]


class _BadEntryError(ValueError):
    """One entry can't be used; the others stand."""


def parse_customization(text: str, *, built_in: Customization) -> Parsed[Customization]:
    """Return the rules that ``faultCustomization.json`` makes of the built-in ones."""
    problems = Problems()
    spelled: list[str] = []
    try:
        table = read_object(text)
        _check(table)
        frequency = _rules(table, "FaultFrequency", _frequency_rule, problems, spelled)
        duration = _rules(table, "FaultDuration", _duration_rule, problems, spelled)
    except ValueError as error:
        return Parsed(value=None, problems=(*problems.told(), str(error)))
    name_unknown(table, _KEYS, problems)
    rules = Customization(
        frequency=built_in.frequency if frequency is None else MappingProxyType(frequency),
        duration=built_in.duration if duration is None else MappingProxyType(duration),
        spellings=MappingProxyType(dict(spell(spelled))),
    )
    return Parsed(value=rules, problems=problems.told())


def _check(table: Mapping[str, object]) -> None:
    """Raise ValueError where the file says nothing, or is wrong where nothing follows from it."""
    if all(table.get(key) is None for key in _KEYS):
        raise ValueError(f"has none of the keys {', '.join(_KEYS)}; add one, or remove the file")
    grace = table.get("GraceTolerance")
    if grace is None:
        return
    if not isinstance(grace, dict):
        raise ValueError("GraceTolerance is no object; write it between { and }")  # noqa: TRY004 -- one error for all that is wrong with a file
    for key in _GRACE:
        _number(grace, key)


def _rules(
    table: Mapping[str, object],
    key: str,
    parse: Callable[[Mapping[str, object], str, Problems], R],
    problems: Problems,
    spelled: list[str],
) -> dict[FaultCode, R] | None:
    """Return the rules under *key* by code, None where the key is absent."""
    entries = take_list(table, key)
    if entries is None:
        return None
    rules: dict[FaultCode, R] = {}
    for place, entry in enumerate(entries):
        where = f"{key}[{place}]"
        if not isinstance(entry, dict):
            raise ValueError(f"{where} is no object; write it between {{ and }}")  # noqa: TRY004 -- as above
        texts = take_texts(entry, "EventId") or ()
        try:
            rule = parse(entry, where, problems)
            for code, text in _codes(texts, where, problems):
                if code in rules:
                    problems.add(f"{where}: {shown(text)} has a rule already; the first one counts")
                else:
                    rules[code] = rule
                    spelled.append(text)
        except _BadEntryError as error:
            problems.add(f"{where}: {error}")
    if entries and not rules:
        raise ValueError(f"{key} has no entry that can be used; correct it, or write [] for none")
    return rules


def _codes(texts: Sequence[str], where: str, problems: Problems) -> Iterator[tuple[FaultCode, str]]:
    if not texts:
        raise _BadEntryError("EventId names no code; list the codes it is about")
    for text in texts:
        code = parse_code(text)
        if code is None:
            problems.add(f"{where}: {shown(text)} is no code; write hex digits without 0x")
        else:
            yield code, text


def _frequency_rule(entry: Mapping[str, object], where: str, problems: Problems) -> FrequencyRule:
    name_unknown(entry, _FREQUENCY, problems, where=f"{where}: ")
    window = _number(entry, "TimeWindow")
    release = _number(entry, "ReleaseTimeWindow") or _NEVER_S
    times = _number(entry, "Times")
    level = _text(entry, "FaultHandling")
    _within(window, "TimeWindow", _WINDOW_S)
    _within(release, "ReleaseTimeWindow", _RELEASE_S)
    _within(times, "Times", _TIMES)
    if release == _NEVER_S and level != FaultLevel.MANUALLY_SEPARATE_NPU.value:
        raise _BadEntryError(
            f"FaultHandling {shown(level)} would never end; give a ReleaseTimeWindow, "
            "or ManuallySeparateNPU, which people end"
        )
    return FrequencyRule(
        times=times,
        window_ms=window * _MS,
        release_ms=None if release == _NEVER_S else release * _MS,
        level=_level(level, _BY_FREQUENCY),
    )


def _duration_rule(entry: Mapping[str, object], where: str, problems: Problems) -> DurationRule:
    name_unknown(entry, _DURATION, problems, where=f"{where}: ")
    fault, recover = _number(entry, "FaultTimeout"), _number(entry, "RecoverTimeout")
    level = _text(entry, "FaultHandling")
    _within(fault, "FaultTimeout", _FAULT_TIMEOUT_S)
    _within(recover, "RecoverTimeout", _RECOVER_TIMEOUT_S)
    return DurationRule(
        fault_timeout_ms=fault * _MS,
        recover_timeout_ms=recover * _MS,
        level=_level(level, _BY_DURATION),
    )


def _number(entry: Mapping[str, object], key: str) -> int:
    """Return the whole number under *key*, 0 where it is absent, as the peer reads it."""
    value = entry.get(key)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} {shown(value)} is no whole number; write it without quotes")  # noqa: TRY004 -- as above
    return value


def _text(entry: Mapping[str, object], key: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{key} {shown(value)} is no text; write it between quotes")  # noqa: TRY004 -- as above
    return value


def _within(seconds: int, key: str, limits: tuple[int, int]) -> None:
    low, high = limits
    if not low <= seconds <= high:
        raise _BadEntryError(f"{key} {shown(seconds)} is out of range; give {low} to {high}")


def _level(text: str, allowed: Mapping[str, FaultLevel]) -> FaultLevel:
    if (level := allowed.get(text)) is None:
        raise _BadEntryError(
            f"FaultHandling {shown(text)} is no level for it; give one of {', '.join(allowed)}"
        )
    return level
