"""The faults of the node's Lingqu switches, folded into what they mean for the node (A3).

Decides which faults stand, how each is spelled and how severe it is, and the node's level. Nothing
here touches the health of an NPU. Who asks the switches, and how often, is not decided here; the
levels of codes are the operator's. Source: MindCluster's switch faults.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, assert_never

from ascend_agent.faults.standing import PULSE_MS
from ascend_agent.model.fault import Assertion, Severity
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.ids import Millis
from ascend_agent.model.surroundings import (
    ActiveSwitchFault,
    SwitchEvent,
    SwitchFault,
    SwitchHealth,
    SwitchListed,
    SwitchNotice,
    SwitchView,
)

WHOLE_CHIP: Final = 0xFFFF
"""The port of a fault that concerns a switch chip as a whole; the field has 16 bits (D53)."""

MOST_FAULTS: Final = 512
"""More than every port of a node's seven switch chips being down at once."""

LISTED_AT_MOST: Final = 128
"""A list of so many faults may have been cut short."""

_NO_FAULT_ID = 0xFFFFFFFF
_L2 = 2
_PEERS: Final = MappingProxyType({0: "cpu", 1: "npu", _L2: "L2"})
_PLANE_PORTS = 16  # the ports of a switch chip that lead to the second layer

# What leaves a port without its link: it is down, or it has failed. Lanes lost, bad packets and an
# unstable port are trouble of a link that is there.
_LINK_DOWN_EVENT = 0x08520003
_PORT_FAILED = 155912

_LEVELS: Final = tuple(SwitchLevel)
_RANK: Final = MappingProxyType({level: rank for rank, level in enumerate(_LEVELS)})
_HEALTH: Final = MappingProxyType(
    {
        SwitchLevel.NOT_HANDLE: SwitchHealth.HEALTHY,
        SwitchLevel.SUB_HEALTH: SwitchHealth.SUB_HEALTHY,
        SwitchLevel.RESTART_REQUEST: SwitchHealth.UNHEALTHY,
        SwitchLevel.PRE_SEPARATE: SwitchHealth.PRE_SEPARATE,
        SwitchLevel.SEPARATE: SwitchHealth.UNHEALTHY,
    }
)

FaultKey = tuple[int, int, int, int, int, int]
"""Chip, port, event type, fault id, peer, peer port: two records with equal ones are one fault."""


def key_of(fault: SwitchFault) -> FaultKey:
    """Return what tells *fault* from another one."""
    return (
        fault.chip,
        fault.port,
        fault.event_type,
        fault.sub_type,
        fault.peer,
        fault.peer_port,
    )


def format_switch_fault(fault: SwitchFault) -> str:
    """Return the text under which the fault table and other components know *fault*.

    ``[0x08520003,na,L2,na]``: event type, fault id in decimal, and what the port leads to.
    """
    fault_id = "na" if fault.sub_type == _NO_FAULT_ID else str(fault.sub_type)
    peer = "na" if fault.port == WHOLE_CHIP else _PEERS.get(fault.peer, "na")
    return f"[0x{fault.event_type:08x},{fault_id},{peer},na]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """One fault that counts; ``until_ms`` None: until it is told or read to be gone.

    ``rank`` is that of its level, from 0. ``cuts_off``: its port has no link to the second layer.
    """

    active: ActiveSwitchFault
    rank: int
    cuts_off: bool
    until_ms: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchLedger:
    """What is known of the switches, and the view that follows from it.

    ``view`` is None until anything was heard. ``heard`` has the newest event of each fault since
    the last list was asked for, also of those that are gone: a list says nothing about them.
    ``complete`` False: something was lost, only a list tells. ``wake_at`` is when the next pulse
    ends, None while none runs.
    """

    levels: Mapping[str, SwitchLevel]
    standing: Mapping[FaultKey, _Standing]
    heard: Mapping[FaultKey, int]
    complete: bool
    view: SwitchView | None
    wake_at: Millis | None

    @classmethod
    def empty(cls, levels: Mapping[str, SwitchLevel]) -> "SwitchLedger":
        """Return the ledger of switches that were not heard of yet; *levels* by fault text."""
        nothing: Mapping[FaultKey, _Standing] = MappingProxyType({})
        return cls(
            levels=levels,
            standing=nothing,
            heard=MappingProxyType({}),
            complete=True,
            view=None,
            wake_at=None,
        )

    def under(self, levels: Mapping[str, SwitchLevel]) -> "SwitchLedger":
        """Return the ledger with these *levels* in force; itself where they are so already."""
        if levels is self.levels or levels == self.levels:
            return self
        if self.view is None:
            return replace(self, levels=levels)
        standing = {
            key: replace(
                _judge(held.active.fault, held.active.since_ms, levels), until_ms=held.until_ms
            )
            for key, held in self.standing.items()
        }
        return _settle(replace(self, levels=levels), standing)

    def apply(self, notice: SwitchNotice, now: Millis) -> "SwitchLedger":
        """Return the ledger after *notice*; one that says nothing new leaves the view as it is."""
        match notice:
            case SwitchEvent():
                return self._hear(notice, now)
            case SwitchListed():
                return self._read(notice, now)
            case _:
                assert_never(notice)

    def missed(self) -> "SwitchLedger":
        """Return the ledger after events were lost: what it has is kept until the next list."""
        return _settle(replace(self, complete=False), self.standing)

    def advance(self, now: Millis) -> "SwitchLedger":
        """Return the ledger at *now*: pulses that are over no longer count."""
        if self.wake_at is None or now < self.wake_at:
            return self
        standing = {
            key: held
            for key, held in self.standing.items()
            if held.until_ms is None or held.until_ms > now
        }
        return _settle(self, standing)

    def _hear(self, event: SwitchEvent, now: Millis) -> "SwitchLedger":
        key = key_of(event.fault)
        known = self.standing.get(key)
        match event.fault.assertion:
            case Assertion.RECOVERED:
                held = None
            case Assertion.OCCURRED:
                held = self._stand(event.fault, known, now)
            case Assertion.ONE_OFF if known is None or known.until_ms is not None:
                until = Millis(now + PULSE_MS)
                held = replace(self._stand(event.fault, known, now), until_ms=until)
            case _:
                held = known  # it stands, so a further notice about it changes nothing
        ledger = _note(self, key, event.sequence)
        if held is known and ledger.complete == self.complete and ledger.view is not None:
            return ledger
        standing = {other: each for other, each in self.standing.items() if other != key}
        if held is not None:
            standing[key] = held
        return _settle(ledger, standing)

    def _read(self, listed: SwitchListed, now: Millis) -> "SwitchLedger":
        later = {key: number for key, number in self.heard.items() if number > listed.asked_after}
        cut_short = len(listed.faults) >= LISTED_AT_MOST
        standing = {
            key: held
            for key, held in self.standing.items()
            # Of what a list that was cut short does not show, nobody can say that it is gone.
            if key in later or held.until_ms is not None or cut_short
        }
        for fault in listed.faults:
            key = key_of(fault)
            if key not in later and fault.assertion is not Assertion.RECOVERED:
                standing[key] = self._stand(fault, self.standing.get(key), now)
        return _settle(replace(self, heard=later, complete=not cut_short), standing)

    def _stand(self, fault: SwitchFault, known: _Standing | None, now: Millis) -> _Standing:
        """Return *fault* as one that stands; a duplicate keeps its time and its object."""
        if known is not None:
            return replace(known, until_ms=None) if known.until_ms is not None else known
        since = Millis(min(fault.raised_ms, now))
        return _judge(fault, since, self.levels)


def _judge(fault: SwitchFault, since: Millis, levels: Mapping[str, SwitchLevel]) -> _Standing:
    text = format_switch_fault(fault)
    level = _level(text, fault.severity, levels)
    active = ActiveSwitchFault(fault=fault, text=text, level=level, since_ms=since)
    return _Standing(active=active, rank=_RANK[level], cuts_off=_cuts_off_l2(fault))


def _level(text: str, severity: int, levels: Mapping[str, SwitchLevel]) -> SwitchLevel:
    """Return the level of a fault: as the table has its text, else by its severity (D55)."""
    known = levels.get(text)
    if known is not None:
        return known
    return SwitchLevel.NOT_HANDLE if severity <= Severity.MINOR else SwitchLevel.SEPARATE


def _note(ledger: SwitchLedger, key: FaultKey, sequence: int) -> SwitchLedger:
    """Return *ledger* with its newest event; the oldest is forgotten where there are too many.

    A list that is under way could then bring a fault back that is gone: only the next one tells.
    """
    heard = dict(ledger.heard)
    heard.pop(key, None)  # so that it comes last: what is forgotten was told longest ago
    heard[key] = sequence
    if len(heard) <= MOST_FAULTS:
        return replace(ledger, heard=heard)
    del heard[next(iter(heard))]
    return replace(ledger, heard=heard, complete=False)


def _settle(ledger: SwitchLedger, standing: Mapping[FaultKey, _Standing]) -> SwitchLedger:
    """Return *ledger* with *standing*, bounded, and its view; the same view where it is equal."""
    complete = ledger.complete
    if len(standing) > MOST_FAULTS:
        worst_first = sorted(standing.items(), key=lambda item: item[1].rank, reverse=True)
        standing = dict(worst_first[:MOST_FAULTS])
        complete = False
    view = _look(standing, complete=complete)
    if view == ledger.view:
        view = ledger.view
    ends = [held.until_ms for held in standing.values() if held.until_ms is not None]
    wake_at = min(ends, default=None)
    return replace(ledger, standing=standing, complete=complete, view=view, wake_at=wake_at)


def _look(standing: Mapping[FaultKey, _Standing], *, complete: bool) -> SwitchView:
    """Return the view; its faults ascend by chip and port."""
    faults = tuple([standing[key].active for key in sorted(standing)])
    level = _LEVELS[max([held.rank for held in standing.values()])] if standing else None
    if len(standing) >= _PLANE_PORTS and _lost_a_plane(standing):
        level = SwitchLevel.SEPARATE
    health = SwitchHealth.HEALTHY if level is None else _HEALTH[level]
    return SwitchView(faults=faults, level=level, health=health, complete=complete)


def _lost_a_plane(standing: Mapping[FaultKey, _Standing]) -> bool:
    """Return whether a switch chip has none of its links to the second layer left (D55)."""
    down = {
        (key[0], key[1])
        for key, held in standing.items()
        if held.cuts_off and held.until_ms is None
    }
    return any(count >= _PLANE_PORTS for count in Counter([chip for chip, _ in down]).values())


def _cuts_off_l2(fault: SwitchFault) -> bool:
    down = fault.event_type == _LINK_DOWN_EVENT or fault.sub_type == _PORT_FAILED
    return down and fault.peer == _L2 and fault.port != WHOLE_CHIP
