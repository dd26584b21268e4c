"""What holds of the ledger whatever happened before, in whatever order."""

from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import CARD_DROP, FaultCode
from ascend_agent.model.health import HealthState
from ascend_agent.model.npu import Inventory
from tests.faults.steps import (
    DEGRADED,
    DRIVER_DOWN,
    FAILED,
    MINOR,
    READY,
    RESET,
    RESTART,
    UNAVAILABLE,
    UNKNOWN,
    UNRESPONSIVE,
    answer,
    empty,
    fold,
    inventory,
    lost,
    occur,
    once,
    partial,
    phys,
    reading,
    recover,
    shown,
)
from tests.model.samples import make_npu, unlisted

CODES = (RESTART, RESET, DEGRADED, MINOR, UNKNOWN)
NPUS = (0, 1, 2)


@dataclass
class Chip:
    """A driver's own truth about one NPU, and the readings of it that are under way."""

    codes: set[FaultCode] = field(default_factory=set)
    under_way: list[tuple[int, frozenset[FaultCode]]] = field(default_factory=list)


@dataclass
class Node:
    """Three chips whose events and readings reach the ledger in any order a real one allows."""

    chips: dict[int, Chip] = field(default_factory=lambda: {npu: Chip() for npu in NPUS})
    sequence: int = 0

    def do(self, step: tuple[str, int, FaultCode]) -> list[FoldInput]:
        """Return what *step* makes reach the ledger."""
        what, npu, code = step
        chip = self.chips[npu]
        match what:
            case "occur" | "lost occur":
                chip.codes.add(code)
            case "recover" | "lost recover":
                chip.codes.discard(code)
            case "ask":
                chip.under_way.append((self.sequence, frozenset(chip.codes)))
        match what:
            case "occur":
                self.sequence += 1
                return [occur(code, seq=self.sequence, npu=npu)]
            case "recover":
                self.sequence += 1
                return [recover(code, seq=self.sequence, npu=npu)]
            case "once":
                self.sequence += 1
                return [once(code, seq=self.sequence, npu=npu)]
            case "answer" if chip.under_way:
                asked, codes = chip.under_way.pop(0)
                return [answer(*codes, asked=asked, npu=npu)]
        return outage(what, npu)

    def read_all(self) -> list[FoldInput]:
        """Return a reading of every chip, asked now."""
        return [
            answer(*chip.codes, asked=self.sequence, npu=npu) for npu, chip in self.chips.items()
        ]


OUTAGES = (
    *("unresponsive", "failed", "driver down", "lost", "alarm"),
    *("unlist", "list", "no driver"),
)


def outage(what: str, npu: int) -> list[FoldInput]:
    told: dict[str, list[FoldInput]] = {
        "unresponsive": [reading(UNRESPONSIVE, npu=npu)],
        "failed": [reading(FAILED, npu=npu)] * 3,
        "driver down": [reading(DRIVER_DOWN, npu=npu)],
        "lost": [lost(npu=npu)],
        "alarm": [partial(health=3)],
        "unlist": [without(npu)],
        "list": [inventory(*NPUS)],
        "no driver": [UNAVAILABLE],
    }
    return told.get(what, [])


def without(npu: int) -> Inventory:
    return inventory(*(unlisted(make_npu(n)) if n == npu else make_npu(n) for n in NPUS))


EVENTS = ("occur", "recover", "lost occur", "lost recover", "once", "ask", "answer")
steps = st.lists(
    st.tuples(st.sampled_from((*EVENTS, *OUTAGES)), st.sampled_from(NPUS), st.sampled_from(CODES)),
    max_size=60,
)


def start() -> Ledger:
    return fold(empty(), [READY, inventory(*NPUS)])


@settings(deadline=None, max_examples=50)
@given(steps)
def test_once_quiet_and_read_the_codes_are_the_drivers(
    story: list[tuple[str, int, FaultCode]],
) -> None:
    """Lost events, late readings, outages: one round of readings makes all good."""
    node = Node()
    ledger = start()
    for step in story:
        ledger = fold(fold(ledger, node.do(step)), [], now=999_999)

    ledger = fold(ledger, [READY, inventory(*NPUS), *node.read_all()])

    for npu, chip in node.chips.items():
        assert {fault.code for fault in shown(ledger, npu).faults} == chip.codes


@settings(deadline=None, max_examples=50)
@given(steps)
def test_nothing_stays_unhealthy_once_its_cause_is_gone(
    story: list[tuple[str, int, FaultCode]],
) -> None:
    """HL-1: the way back needs no other help than a good reading."""
    node = Node()
    ledger = start()
    for step in story:
        ledger = fold(fold(ledger, node.do(step)), [], now=999_999)
    for chip in node.chips.values():
        chip.codes.clear()

    ledger = fold(ledger, [READY, inventory(*NPUS), *node.read_all()])

    assert [shown(ledger, npu).state for npu in NPUS] == [HealthState.HEALTHY] * 3
    assert ledger.wake_at_ms is None


@settings(deadline=None, max_examples=50)
@given(steps, st.randoms(use_true_random=False))
def test_the_order_of_different_npus_does_not_matter(
    story: list[tuple[str, int, FaultCode]], random: Random
) -> None:
    node = Node()
    queues: dict[int, list[FoldInput]] = {npu: [] for npu in NPUS}
    for step in story:
        if step[0] in EVENTS:
            queues[step[1]] += node.do(step)
    for queue, reads in zip(queues.values(), node.read_all(), strict=True):
        queue.append(reads)
    one_by_one = fold(start(), [item for queue in queues.values() for item in queue])

    mixed = start()
    while waiting := [queue for queue in queues.values() if queue]:
        mixed = fold(mixed, [random.choice(waiting).pop(0)])

    for npu in NPUS:
        assert shown(mixed, npu) == shown(one_by_one, npu)


@settings(deadline=None, max_examples=50)
@given(steps)
def test_the_generation_grows_exactly_with_what_is_visible(
    story: list[tuple[str, int, FaultCode]],
) -> None:
    """D6: a sink that compares generations misses nothing and writes nothing twice."""
    node = Node()
    ledger = fold(start(), node.read_all())
    for step in story:
        for item in node.do(step):
            before, ledger = ledger, fold(ledger, [item], now=20_000)
            assert before.view is not None
            assert ledger.view is not None
            grown = ledger.view.generation - before.view.generation
            assert grown == (ledger.view.npus != before.view.npus)
            assert phys(ledger) == list(NPUS)


@settings(deadline=None, max_examples=50)
@given(steps)
def test_an_npu_out_of_service_has_a_reason_and_only_then(
    story: list[tuple[str, int, FaultCode]],
) -> None:
    node = Node()
    ledger = fold(start(), node.read_all())
    for step in story:
        ledger = fold(ledger, node.do(step))
        for npu in NPUS:
            told = shown(ledger, npu)
            isolated = any(fault.isolates for fault in told.faults)
            assert told.healthy is not bool(told.reasons)
            assert told.healthy or told.reasons
            assert not (isolated and told.healthy)
            assert [f.code for f in told.faults] == sorted(f.code for f in told.faults)
            assert CARD_DROP not in {f.code for f in told.faults} or not told.healthy
