"""A node whose driver does what a test says, in front of the fold, in time that costs nothing.

A test writes what happens to the driver (``Story``), plays it, and reads what people would have
seen, and when (``Trace``). Readings are answered at once and by what the driver lists at that
moment: when the fold asks for one, and by the clock. A restart anywhere takes along only what a
restart of the agent takes along: the text of the host's file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ascend_agent import chips
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.fold import fold
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.faults.persisted import Saved, format_document, parse_document
from ascend_agent.model.fault import (
    Assertion,
    FaultCode,
    FaultEvent,
    FaultLevel,
    Origin,
    Severity,
)
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import (
    HealthAnswer,
    HealthReading,
    NodeView,
    NpuView,
    UnhealthyReason,
)
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, Restored
from ascend_agent.model.notices import HealthNotice
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory, Npu

T = TypeVar("T")

START_MS = 1_700_000_000_000
"""Agent time when a story begins: T+0."""

_RESTORING = HealthRules(shares_required=False, restore_awaited=True)
_READY = DriverState(phase=DriverPhase.READY, callbacks=True)
SPECS = {spec.generation: spec for spec in chips.SPECS}


@dataclass
class Driver:
    """The truth about the chips: the codes that stand, whether one is lost, its alarm."""

    codes: dict[int, set[FaultCode]] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    health: dict[int, int] = field(default_factory=dict)

    def answer(self, npu: int) -> HealthAnswer:
        """Return what a reading of *npu* says now."""
        if npu in self.lost:
            return HealthAnswer(health=None, lost=True, codes=None, rc=-8012)
        return HealthAnswer(
            health=self.health.get(npu, 0), lost=False, codes=frozenset(self.codes.get(npu, ()))
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens; it acts on the bench, at its time."""

    at_s: float
    act: Callable[["Bench"], None]


class Story:
    """What happens to the driver and around it, told in order of time."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def occur(
        self, at_s: float, code: int, *, npu: int = 0, severity: int = 2, told: bool = True
    ) -> "Story":
        """Let *code* stand from now on; not *told*: the driver's event is lost."""

        def act(bench: Bench) -> None:
            bench.driver.codes.setdefault(npu, set()).add(FaultCode(code))
            if told:
                bench.tell(npu, FaultCode(code), Assertion.OCCURRED, Severity(severity))

        return self._do(at_s, act)

    def recover(
        self, at_s: float, code: int, *, npu: int = 0, told: bool = True, listed: bool = False
    ) -> "Story":
        """Let *code* be gone from now on; *listed*: the driver still lists it for a while."""

        def act(bench: Bench) -> None:
            if not listed:
                bench.driver.codes.setdefault(npu, set()).discard(FaultCode(code))
            if told:
                bench.tell(npu, FaultCode(code), Assertion.RECOVERED, Severity.WARNING)

        return self._do(at_s, act)

    def once(self, at_s: float, code: int, *, npu: int = 0, severity: int = 2) -> "Story":
        """Notice *code* once."""

        def act(bench: Bench) -> None:
            bench.tell(npu, FaultCode(code), Assertion.ONE_OFF, Severity(severity))

        return self._do(at_s, act)

    def unlist(self, at_s: float, code: int, *, npu: int = 0) -> "Story":
        """Let the driver no longer list *code*, without telling."""
        return self.recover(at_s, code, npu=npu, told=False)

    def lose(self, at_s: float, *, npu: int = 0) -> "Story":
        """Let the card drop: its health call answers -8012 from now on."""
        return self._do(at_s, lambda bench: bench.driver.lost.add(npu))

    def find(self, at_s: float, *, npu: int = 0) -> "Story":
        """Let the card be back."""
        return self._do(at_s, lambda bench: bench.driver.lost.discard(npu))

    def alarm(self, at_s: float, health: int, *, npu: int = 0) -> "Story":
        """Let the chip's health value be *health* from now on."""
        return self._do(at_s, lambda bench: bench.driver.health.update({npu: health}))

    def put(self, at_s: float, *inputs: FoldInput) -> "Story":
        """Let something else reach the fold: usage, an operator's edit, rules, links."""
        return self._do(at_s, lambda bench: bench.fold(inputs))

    def restart(self, at_s: float, *, down_s: float = 0) -> "Story":
        """Let the agent end now and start *down_s* later."""
        self._do(at_s, lambda bench: bench.stop())
        return self._do(at_s + down_s, lambda bench: bench.start())

    def _do(self, at_s: float, act: Callable[["Bench"], None]) -> "Story":
        self.steps.append(Step(at_s, act))
        return self


@dataclass(frozen=True, slots=True)
class Seen:
    """One view, and the second from which on it could be seen."""

    at_s: float
    view: NodeView


@dataclass
class Trace:
    """What could be seen in the course of a story."""

    views: list[Seen] = field(default_factory=list)
    notices: list[HealthNotice] = field(default_factory=list)
    isolations: list[Isolation] = field(default_factory=list)

    def kubelet(self, npu: int = 0) -> list[tuple[float, str]]:
        """Return each change of what the kubelet is told of *npu*, with its second."""
        return self._changes(npu, lambda view: "Healthy" if view.healthy else "Unhealthy")

    def level(self, npu: int = 0) -> list[tuple[float, str]]:
        """Return each change of the chip's level, ``Normal`` where there is none."""
        return self._changes(npu, lambda view: _word(view.level))

    def network(self, npu: int = 0) -> list[tuple[float, str, bool]]:
        """Return each change of the network plane: level, and whether it is healthy."""
        told = self._changes(npu, lambda view: (_word(view.network.level), view.network.healthy))
        return [(at, level, healthy) for at, (level, healthy) in told]

    def codes(self, npu: int = 0) -> list[tuple[float, tuple[str, ...]]]:
        """Return each change of the codes shown."""
        return self._changes(
            npu, lambda view: tuple(CATALOG.text_of(fault.code) for fault in view.faults)
        )

    def upgrades(self, npu: int = 0) -> list[tuple[float, tuple[str, ...]]]:
        """Return each change of the upgrades: ``80E18005 FaultFrequency ManuallySeparateNPU``."""
        return self._changes(
            npu,
            lambda view: tuple(
                " ".join(
                    (
                        CATALOG.text_of(one.code) if one.code is not None else "-",
                        one.kind.value,
                        one.level.value,
                    )
                )
                for one in view.upgrades
            ),
        )

    def upgrade_times(self, npu: int = 0) -> set[float]:
        """Return every time that an upgrade of *npu* ever carried, in seconds of the story."""
        return {
            seconds(one.at_ms)
            for seen in self.views
            for view in seen.view.npus
            if view.npu.phy == npu
            for one in view.upgrades
        }

    def told(self, npu: int = 0) -> list[tuple[float, str]]:
        """Return what people are told of *npu*: second and kind of each notice."""
        return [(seconds(one.at_ms), one.kind.value) for one in self.notices if one.npu.phy == npu]

    def last(self, npu: int = 0) -> NpuView:
        """Return how *npu* is seen in the end."""
        return next(view for view in self.views[-1].view.npus if view.npu.phy == npu)

    def _changes(self, npu: int, look: Callable[[NpuView], T]) -> list[tuple[float, T]]:
        told: list[tuple[float, T]] = []
        for seen in self.views:
            for view in seen.view.npus:
                if view.npu.phy != npu:
                    continue
                if told and told[-1][0] == seen.at_s:
                    told.pop()  # nobody sees what is replaced within the same millisecond
                if not told or told[-1][1] != look(view):
                    told.append((seen.at_s, look(view)))
        return told


def _word(level: FaultLevel | None) -> str:
    return "Normal" if level is None else level.value


def seconds(at: Millis) -> float:
    """Return *at* in seconds of the story."""
    return (at - START_MS) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The node of a story, and how often its chips are read though nobody asked.

    ``settled`` is what the fold is told at each start besides the inventory (usage, links).
    """

    npus: tuple[Npu, ...]
    rules: FaultRules
    health: HealthRules = _RESTORING
    driver: DriverState = _READY
    reading_s: float = 60
    drop_s: float = 5
    first_reading_s: float = 0
    settled: tuple[FoldInput, ...] = ()


class Bench:
    """One node: its driver, and the agent's fold from one start of the agent to the next."""

    def __init__(self, node: Node) -> None:
        self.driver = Driver()
        self.trace = Trace()
        self._node = node
        self._now = Millis(START_MS)
        self._sequence = 0
        self._file: str | None = None
        self._ledger: Ledger | None = None
        self._due: dict[tuple[int, str], Millis] = {}

    def play(self, story: "Story", *, until_s: float) -> Trace:
        """Play *story* from T+0 until a second, and return what could be seen."""
        self.start()
        for step in sorted(story.steps, key=lambda each: each.at_s):
            self._pass_until(to_ms(step.at_s))
            step.act(self)
        self._pass_until(to_ms(until_s))
        return self.trace

    # --- the agent ------------------------------------------------------------------------

    def start(self) -> None:
        """Start an agent on what the last one left; every chip is read before the first list."""
        node = self._node
        self._ledger = Ledger.empty(fault_rules=node.rules, rules=node.health, specs=SPECS)
        inventory = Inventory(
            generation=1, npus=node.npus, unread=(), unknown=(), lost_cards=0, unreadable=()
        )
        self.fold([node.driver, inventory, *node.settled, self._restored()])
        for npu in node.npus:
            self._read(npu.phy)
            first = node.first_reading_s or node.reading_s
            self._due[npu.phy, "codes"] = Millis(self._now + round(first * 1000))
            self._due[npu.phy, "drop"] = Millis(self._now + round(node.drop_s * 1000))

    def stop(self) -> None:
        """End the agent; what it wrote to the host's file stays."""
        assert self._ledger is not None
        self._ledger = None
        self._due.clear()

    def fold(self, inputs: Sequence[FoldInput]) -> None:
        """Let *inputs* reach the fold now, and answer what it asks the driver."""
        if self._ledger is None:
            return
        folded = fold(self._ledger, inputs, self._now)
        before, self._ledger = self._ledger, folded.ledger
        self.trace.notices += folded.notices
        if folded.ledger.view is not None and folded.ledger.view is not before.view:
            self.trace.views.append(Seen(seconds(self._now), folded.ledger.view))
        if folded.ledger.isolation is not None and folded.ledger.isolation is not before.isolation:
            saved = Saved(
                isolation=folded.ledger.isolation, published=None, written_at_ms=self._now
            )
            self._file = format_document(saved)
        assert folded.wake_at is None or folded.wake_at > self._now
        for phy in sorted(folded.requeries):
            self._read(phy)

    def tell(
        self, npu: int, code: FaultCode, assertion: Assertion, severity: Severity | None
    ) -> None:
        """Let the driver's callback tell something of *code*."""
        self._sequence += 1
        event = FaultEvent(
            npu=PhyId(npu),
            code=code,
            assertion=assertion,
            severity=severity,
            received_at_ms=self._now,
            seen_ns=self._sequence,
            driver_time=None,
            origin=Origin.CALLBACK,
            sequence=self._sequence,
        )
        self.fold([event])

    # --- time -----------------------------------------------------------------------------

    def _pass_until(self, end: Millis) -> None:
        while (at := self._next()) is not None and at <= end:
            self._now = at
            due = [key for key, when in self._due.items() if when == at]
            if not due:
                self.fold([])
            for npu, what in due:
                period_s = self._node.reading_s if what == "codes" else self._node.drop_s
                self._due[npu, what] = Millis(at + round(period_s * 1000))
                self._read(npu, only_health=what == "drop")
        self._now = end

    def _next(self) -> Millis | None:
        if self._ledger is None:
            return None
        wakes = [*self._due.values()]
        if self._ledger.wake_at_ms is not None:
            wakes.append(self._ledger.wake_at_ms)
        return min(wakes, default=None)

    def _read(self, npu: int, *, only_health: bool = False) -> None:
        answer = self.driver.answer(npu)
        if only_health and npu not in self.driver.lost and not self._is_lost(npu):
            return  # a health call alone tells of cards that drop and return, of nothing else
        reading = HealthReading(
            npu=PhyId(npu),
            asked_after=self._sequence,
            answered_at_ms=self._now,
            outcome=answer,
        )
        self.fold([reading])

    def _is_lost(self, npu: int) -> bool:
        assert self._ledger is not None
        view = self._ledger.shown.get(PhyId(npu))
        return view is not None and UnhealthyReason.CARD_DROP in view.reasons

    def _restored(self) -> Restored:
        if self._file is None:
            return Restored(isolation=Isolation(), source="nothing")
        saved = parse_document(self._file)
        assert isinstance(saved, Saved)
        return Restored(isolation=saved.isolation, source="file")


def to_ms(at_s: float) -> Millis:
    """Return agent time at a second of the story."""
    return Millis(START_MS + round(at_s * 1000))
