"""``faults``: what fault codes mean under the rules of a directory, as text or as JSON.

The rules of a running agent's ConfigMap are not asked for: ``/status`` shows what is in force.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from ascend_agent.errors import ConfigError
from ascend_agent.faults.catalog import TABLE
from ascend_agent.faults.codes import parse_code, parse_switch_text
from ascend_agent.faults.fault_config import FILES, FaultConfig, Sources, judge
from ascend_agent.faults.meanings import Meaning, describe_rules, explain, explain_switch
from ascend_agent.host.fault_files import read_fault_files
from ascend_agent.model.fault import FaultCode, Plane, Severity
from ascend_agent.model.fault_rules import FaultRules

_MARGIN = "  "
_SWITCH = "switch"
_LEVEL = 19  # as long as the longest word for one


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFault:
    """One code, or one switch fault; ``level`` None: no table gives it one.

    ``by_severity`` has the level for each severity where that decides over an NPU; ``plane`` is
    ``switch`` for a switch. ``special``: the code has a meaning of its own.
    """

    code: str
    level: str | None
    plane: str
    meaning: Meaning
    rules: tuple[str, ...] = ()
    special: bool = False
    by_severity: Mapping[str, str] | None = None

    @property
    def standing(self) -> str:
        """Return its level, or what stands in the place of one."""
        return self.level or ("no level" if self.special else "by severity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What was asked for, and the rules it was looked up in; ``asked`` False: all there is."""

    faults: tuple[ExplainedFault, ...]
    source: str
    refused: tuple[str, ...]
    asked: bool


def look_up(words: Sequence[str], *, directory: Path | None) -> Explained:
    """Explain *words*, or without any all known codes; raises ConfigError for what is no code."""
    config = FaultConfig()
    if directory is not None:
        files = read_fault_files(directory, FILES)
        config = judge(config, Sources(directory=f"directory {directory}", files=files))
    rules = config.rules()
    found = _asked(words, rules) if words else tuple(_all(rules))
    return Explained(faults=found, source=rules.source, refused=config.refused, asked=bool(words))


def _asked(words: Sequence[str], rules: FaultRules) -> tuple[ExplainedFault, ...]:
    found, problems = [], []
    for word in words:
        hex_digits = word[2:] if word[:2] in {"0x", "0X"} else word
        if (code := parse_code(hex_digits)) is not None:
            found.append(_code(code, rules))
        elif (fault := parse_switch_text(word)) is not None:
            found.append(_switch(fault, rules))
        else:
            problems.append(
                f"{word[:80]!r} is no fault code; give hex digits such as 80E18005, or a switch "
                "fault such as '[0x08520003,na,L2,na]'"
            )
    if problems:
        raise ConfigError("\n".join(problems))
    return tuple(found)


def _all(rules: FaultRules) -> Iterator[ExplainedFault]:
    catalog = rules.catalog
    for code in sorted({*catalog.levels, *catalog.network_levels, *TABLE.roles}):
        yield _code(code, rules)
    for fault in sorted(rules.switches):
        yield _switch(fault, rules)


def _code(code: FaultCode, rules: FaultRules) -> ExplainedFault:
    catalog = rules.catalog
    known, special = catalog.knows(code), code in TABLE.roles
    levels = {each.name.lower(): catalog.level_of(code, each).value for each in Severity}
    return ExplainedFault(
        code=catalog.text_of(code),
        level=catalog.level_of(code, None).value if known else None,
        plane=catalog.plane_of(code).value,
        meaning=explain(code, catalog),
        rules=describe_rules(code, rules),
        special=special,
        by_severity=None if known or special else levels,
    )


def _switch(fault: str, rules: FaultRules) -> ExplainedFault:
    level = rules.switches.get(fault)
    return ExplainedFault(
        code=fault,
        level=None if level is None else level.value,
        plane=_SWITCH,
        meaning=explain_switch(fault, level),
    )


def show(explained: Explained, *, stream: TextIO, as_json: bool) -> None:
    """Write *explained* to *stream*."""
    if as_json:
        stream.write(f"{json.dumps(as_object(explained), indent=2)}\n")
    else:
        lines = _paragraphs(explained) if explained.asked else _lines(explained)
        stream.writelines(f"{line}\n" for line in lines)
    stream.flush()


def as_object(explained: Explained) -> Mapping[str, object]:
    """Return the JSON object of ``faults --json``; an unknown code's level is null."""
    return {
        "source": explained.source,
        "refused": explained.refused,
        "faults": [
            {
                "code": each.code,
                "level": each.level,
                "by_severity": each.by_severity,
                "plane": each.plane,
                **asdict(each.meaning),
                "rules": each.rules,
            }
            for each in explained.faults
        ],
    }


def _lines(explained: Explained) -> Iterator[str]:
    """Yield one line a code, for grep; special ones with their title."""
    yield f"fault rules: {explained.source}"
    widths = {
        switches: max(len(each.code) for each in explained.faults if _is_switch(each) is switches)
        for switches in {_is_switch(each) for each in explained.faults}
    }
    for each in explained.faults:
        words = [each.code.ljust(widths[_is_switch(each)]), each.standing.ljust(_LEVEL)]
        words += [each.plane] if each.plane != Plane.CHIP.value else []
        words += [each.meaning.title] if each.special else []
        words += [f"(rules: {len(each.rules)})"] if each.rules else []
        yield _MARGIN.join(words).rstrip()


def _is_switch(fault: ExplainedFault) -> bool:
    return fault.plane == _SWITCH


def _paragraphs(explained: Explained) -> Iterable[str]:
    for place, each in enumerate(explained.faults):
        if place:
            yield ""
        yield f"{each.code}  {each.standing}: {each.meaning.title}"
        yield f"{_MARGIN}{each.meaning.meaning}"
        yield f"{_MARGIN}To do: {each.meaning.action}"
        yield from (f"{_MARGIN}Rule: {rule}." for rule in each.rules)
        if each.by_severity:
            levels = ", ".join(f"{name} {level}" for name, level in each.by_severity.items())
            yield f"{_MARGIN}By severity: {levels}."
    yield ""
    yield f"fault rules: {explained.source}"
