"""Isolation as MindCluster publishes it: who is separated, and the reasons (faults 3.5).

Decides how both texts are spelled and what of one that others may have edited is believed: entry by
entry, and every bad one is told. Where they stand, and who may edit them, is the flow's business.

    ManuallySeparateNPU: Ascend910-4,Ascend910-6
    UpgradeFaultReason:  {"Ascend910-4":[{"upgrade_time":1700007200000,"fault_code":"80e18005",
                          "fault_level":"ManuallySeparateNPU","upgrade_type":"FaultFrequency"}]}
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ascend_agent.faults.config_text import shown
from ascend_agent.faults.upgrades import MANUAL, lifted_by_people, ordered
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, PhyId, parse_device_number
from ascend_agent.model.isolation import Isolation, NpuIsolation, Upgrade, UpgradeKind

_AUTOFILL_CODE: Final = "AutofillFaultCode"
_CODE: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")
_LONGEST_TEXT: Final = 1024 * 1024  # a ConfigMap can't hold more
_MOST_NPUS: Final = 1024
"""More than any node has: what names more was not written by an agent."""
_MOST_REASONS: Final = 256
"""Of one NPU: twice as many as it can have codes."""
_MOST_PROBLEMS: Final = 20
_LATEST_MS: Final = 2**53
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatedList:
    """The NPUs that a published list names, and what in it names none."""

    npus: frozenset[PhyId]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedReasons:
    """The upgrades that a published text gives for each NPU, and what in it is of no use."""

    npus: Mapping[PhyId, tuple[Upgrade, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def separated(isolation: Isolation) -> frozenset[PhyId]:
    """Return the NPUs that are manually separated, those without a known reason among them."""
    return frozenset(
        phy
        for phy, kept in isolation.npus.items()
        if any(lifted_by_people(upgrade) for upgrade in kept.upgrades)
    )


def format_separated(npus: Iterable[PhyId], names: Mapping[PhyId, str]) -> str:
    """Return the list of *npus* by their *names*, ascending by id; empty if there are none.

    One without a name is not on this node and is left out.
    """
    return ",".join(names[phy] for phy in sorted(npus) if phy in names)


def parse_separated(text: str) -> SeparatedList:
    """Return which NPUs *text* names, whatever their prefix and the blanks around them."""
    problems = _Problems()
    if len(text) > _LONGEST_TEXT:
        problems.add("the list", "is too long")
        return SeparatedList(npus=frozenset(), problems=problems.told())
    npus: set[PhyId] = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        phy = parse_device_number(name)
        if phy is None:
            problems.add(name, "is no device name")
        elif len(npus) < _MOST_NPUS or phy in npus:
            npus.add(phy)
        else:
            problems.add(name, f"is beyond the {_MOST_NPUS} NPUs that a node may have")
    return SeparatedList(npus=frozenset(npus), problems=problems.told())


def format_reasons(
    npus: Mapping[PhyId, tuple[Upgrade, ...]], *, names: Mapping[PhyId, str], catalog: Catalog
) -> str:
    """Return why each of *npus* stands under a higher level, ascending by id; ``{}`` if none does.

    Codes are spelled as *catalog* spells them, but in lower case.
    """
    reasons = {
        names[phy]: [_format_reason(upgrade, catalog) for upgrade in npus[phy]]
        for phy in sorted(npus)
        if phy in names and npus[phy]
    }
    return json.dumps(reasons, separators=(",", ":"))


def parse_reasons(text: str) -> PublishedReasons:
    """Return the upgrades in *text*; an entry that is of no use is told and left out."""
    problems = _Problems()
    npus: dict[PhyId, tuple[Upgrade, ...]] = {}
    for name, entries in _devices(text, problems).items():
        phy = parse_device_number(name.strip())
        if phy is None or not isinstance(entries, list):
            problems.add(name, "is no device name, or has no list")
            continue
        if len(npus) >= _MOST_NPUS or len(entries) > _MOST_REASONS:
            problems.add(name, "is one NPU, or has reasons, beyond what a node may have")
            continue
        found = [_parse_reason(entry, name, problems) for entry in entries]
        upgrades = {(up.code, up.kind): up for up in found if up is not None}
        if upgrades:
            npus[phy] = ordered(upgrades.values())
    return PublishedReasons(npus=npus, problems=problems.told())


def rebuild(*, listed: SeparatedList, reasons: PublishedReasons, now: Millis) -> Isolation:
    """Return the isolation that was published, where nothing better is known.

    An NPU that is listed without a reason was separated by somebody who gave none; a reason to
    separate one that is not listed was lifted while nobody looked.
    """
    npus = {}
    for phy in sorted(listed.npus | reasons.npus.keys()):
        upgrades = reasons.npus.get(phy, ())
        if phy not in listed.npus:
            upgrades = tuple(up for up in upgrades if not lifted_by_people(up))
        elif not any(lifted_by_people(up) for up in upgrades):
            upgrades = ordered([*upgrades, _autofilled(now)])
        if upgrades:
            npus[phy] = NpuIsolation(upgrades=upgrades)
    return Isolation(npus=npus)


def _autofilled(now: Millis) -> Upgrade:
    return Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=now)


def _format_reason(upgrade: Upgrade, catalog: Catalog) -> Mapping[str, int | str]:
    code = _AUTOFILL_CODE if upgrade.code is None else catalog.text_of(upgrade.code).lower()
    return {
        "upgrade_time": upgrade.at_ms,
        "fault_code": code,
        "fault_level": upgrade.level.value,
        "upgrade_type": upgrade.kind.value,
    }


def _devices(text: str, problems: "_Problems") -> Mapping[str, object]:
    if not text.strip():
        return {}
    try:
        raw = json.loads(text) if len(text) <= _LONGEST_TEXT else None
    except (ValueError, RecursionError):
        raw = None
    if isinstance(raw, dict):
        return raw
    problems.add(text, "is no JSON object of device names, or too long")
    return {}


def _parse_reason(raw: object, name: str, problems: "_Problems") -> Upgrade | None:
    fields = raw if isinstance(raw, dict) else {}
    at = fields.get("upgrade_time")
    kinds = [kind for kind in UpgradeKind if kind.value == fields.get("upgrade_type")]
    levels = [level for level in FaultLevel if level.value == fields.get("fault_level")]
    if not (type(at) is int and 0 <= at <= _LATEST_MS and kinds and levels):
        problems.add(name, f"has {shown(raw)}, which is no reason")
        return None
    (kind,), (level,) = kinds, levels
    if kind is UpgradeKind.AUTOFILL:
        return Upgrade(code=None, level=level, kind=kind, at_ms=Millis(at))
    text = fields.get("fault_code")
    found = _CODE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        problems.add(name, f"has {shown(raw)}, whose code is none")
        return None
    return Upgrade(code=FaultCode(int(found[1], 16)), level=level, kind=kind, at_ms=Millis(at))


class _Problems:
    """What was found wrong, as many as people read."""

    def __init__(self) -> None:
        self._told: list[str] = []

    def add(self, what: str, why: str) -> None:
        if len(self._told) < _MOST_PROBLEMS:
            self._told.append(f"{what[:_SHOWN]!r} {why[: 2 * _SHOWN]}")

    def told(self) -> tuple[str, ...]:
        return tuple(self._told)
