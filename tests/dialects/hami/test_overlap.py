"""Whoever shares an NPU without taking turns there is told."""

import pytest

from ascend_agent.dialects.hami.annotation import BadText, Slot, parse_slots
from ascend_agent.dialects.hami.overlap import uncoordinated
from ascend_agent.model.pods import PodPhase
from tests.fakes.hami import CHIP_910B3, device, pod

A, B, C = (device(each, 8192, 30) for each in range(3))


def _slot(text: str) -> Slot:
    slots = parse_slots(text)
    assert not isinstance(slots, BadText)
    return slots[0]


@pytest.mark.parametrize(
    ("mine", "others", "told"),
    [
        (A + B, B + C, True),
        (A + B, B, True),
        (B, A + B, True),
        (A + B, A + C, False),
        (A + B, A, False),
        (A, B, False),
        (A, A, False),
    ],
    ids=[
        "each has more",
        "the other has one",
        "this has one",
        "first",
        "its first",
        "none",
        "same",
    ],
)
def test_it_is_told_where_first_npus_differ_and_another_is_shared(
    mine: str,
    others: str,
    told: bool,  # noqa: FBT001 -- a column
) -> None:
    other = pod("p2", ";", allocated=f"{others};", phase=PodPhase.RUNNING)

    found = uncoordinated(_slot(f"{mine};"), [other], word=CHIP_910B3.word)

    assert bool(found) is told
    assert not told or "default/p2" in found[0]


def test_pods_that_have_finished_or_can_not_be_read_share_nothing() -> None:
    done = pod("p2", ";", allocated=f"{B}{C};", phase=PodPhase.SUCCEEDED)
    broken = pod("p3", ";", allocated="U,w,x,0:;")

    assert uncoordinated(_slot(f"{A}{B};"), [done, broken], word=CHIP_910B3.word) == ()


def test_pods_on_other_npus_are_not_looked_into() -> None:
    """On a node of 500 pods that took a millisecond of each Allocate, and more beyond 512 texts."""
    others = [pod(f"p{at}", ";", allocated=f"{device(3, 1000 + at)};") for at in range(50)]
    mine = _slot(f"{A}{B};")
    size = parse_slots.size

    assert uncoordinated(mine, others, word=CHIP_910B3.word) == ()
    assert parse_slots.size == size
