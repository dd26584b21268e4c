"""The duration machine: one moment instead of a queue."""

import pytest

from ascend_agent.faults.duration import IDLE, Machine, alarm, cleared, raised, turned
from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.fault_rules import DurationRule
from ascend_agent.model.ids import Millis

RULE = DurationRule(fault_timeout_ms=30, recover_timeout_ms=60, level=FaultLevel.PRE_SEPARATE_NPU)


def tell(machine: Machine, records: str) -> Machine:
    """Return *machine* after *records*, woken before each of them as often as it is due."""
    for word in records.split():
        at = Millis(int(word[1:]))
        while (due := alarm(machine, RULE)) is not None and due < at:
            machine = turned(machine)
        machine = raised(machine, at) if word[0] == "O" else cleared(machine, at)
    return machine


@pytest.mark.parametrize(
    ("start", "records", "end", "since"),
    [
        (False, "O50 R81 O82", True, None),
        (False, "O50 R80", False, None),
        (False, "O50 R80 O82 R112", False, None),
        (True, "R50 O110", True, None),
        (True, "R50 O111 R112", False, None),
        (True, "R50 O111 R142", True, 142),
    ],
)
def test_the_machine_gives_the_known_vectors(
    *, start: bool, records: str, end: bool, since: int | None
) -> None:
    """Faults 3.3: the strict limits, the same ends without a queue.

    In the last one the queue's recovery of 142 is what the machine waits for from then on.
    """
    expected = Machine(timed_out=end, since_ms=None if since is None else Millis(since))

    assert tell(Machine(timed_out=start), records) == expected


def test_a_record_that_repeats_the_last_changes_nothing() -> None:
    """Step 2 of a cycle: of equal neighbours the first stays."""
    stands = raised(IDLE, Millis(50))
    gone = cleared(Machine(timed_out=True), Millis(50))

    assert raised(stands, Millis(70)) is stands
    assert cleared(gone, Millis(70)) is gone


def test_a_record_that_says_what_is_so_anyway_changes_nothing() -> None:
    """Step 3 of a cycle: a recovery while nothing stands, a fault while it has timed out."""
    timed_out = Machine(timed_out=True)

    assert cleared(IDLE, Millis(50)) is IDLE
    assert raised(timed_out, Millis(50)) is timed_out


def test_a_machine_that_waits_for_nothing_has_no_moment() -> None:
    assert alarm(IDLE, RULE) is None
    assert alarm(Machine(timed_out=True), RULE) is None
