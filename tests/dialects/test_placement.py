from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.dialects.placement import find_spots, keep_together, spread_out
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId
from tests.model.samples import Place, make_npu, make_view, placed, unlisted

A3 = {n: Place(card=n // 2, slot=n % 2, numa=n // 8) for n in range(16)}
"""Two dies a card, one HCCS group, two NUMA nodes."""

RINGS = {n: Place(card=n, link=n // 4, numa=n // 4) for n in range(8)}
"""910A: a card an NPU, two HCCS rings, each on a NUMA node."""

MESH = {n: Place(card=n, numa=n // 2) for n in range(8)}
"""910B: a card an NPU, one HCCS group across four NUMA nodes."""

FLAT = {n: Place(numa=None) for n in range(8)}
"""950: addressed without cards, NUMA nodes unknown."""


def together(
    places: Mapping[int, Place],
    free: Mapping[int, int],
    need: int,
    *,
    used: tuple[int, ...] = (),
    stacked: bool = False,
) -> list[int]:
    spots = find_spots(NodeView(generation=1, npus=placed(places)), stacked=stacked)
    counts = {PhyId(phy): count for phy, count in free.items()}
    chosen = keep_together(counts, need, used=[PhyId(n) for n in used], spots=spots)
    return [int(phy) for phy in chosen]


def one_each(*npus: int) -> dict[int, int]:
    return dict.fromkeys(npus, 1)


@pytest.mark.parametrize(
    ("places", "free", "need", "used", "chosen"),
    [
        pytest.param(A3, one_each(*range(16)), 1, (), [0], id="lowest id among equals"),
        pytest.param(A3, one_each(0, 1, 3, 4, 5), 1, (), [3], id="a broken card first"),
        pytest.param(A3, one_each(0, 3, 4, 5, 6, 7), 2, (), [4, 5], id="a whole card for two"),
        pytest.param(
            A3, one_each(0, 1, 2, 3, 8, 9, 10), 3, (), [8, 9, 10], id="the fuller NUMA node"
        ),
        pytest.param(A3, one_each(0, 3, 6, 8, 12, 13), 3, (), [0, 3, 6], id="one NUMA node"),
        pytest.param(
            A3, one_each(0, 1, 2, 8, 9, 10, 11), 3, (), [0, 1, 2], id="the NUMA node that just fits"
        ),
        pytest.param(
            A3, one_each(1, 2, 3, 9, 10, 11, 12), 6, (), [9, 10, 11, 12, 2, 3], id="fullest first"
        ),
        pytest.param(A3, one_each(0, 1, 2), 9, (), [0, 1, 2], id="fewer than needed"),
        pytest.param(A3, {}, 1, (), [], id="nothing free"),
        pytest.param(A3, one_each(0, 1), 0, (), [], id="nothing needed"),
        pytest.param(A3, one_each(0, 1), -2, (), [], id="less than nothing needed"),
        pytest.param(A3, one_each(0, 3, 5), 1, (4,), [5], id="the other die of the card used"),
        pytest.param(A3, one_each(0, 1, 10, 12), 1, (9,), [10], id="the NUMA node used"),
        pytest.param(
            A3, one_each(0, 1, 12, 13), 1, (2,), [0], id="the NUMA node used, not the rest"
        ),
        pytest.param(A3, one_each(0, 1), 1, (9,), [0], id="anywhere, where nothing near is left"),
        pytest.param(
            A3,
            one_each(0, 1, 2, 5, 6, 7),
            3,
            (4,),
            [0, 1, 5],
            id="a whole card, then the die that is left over",
        ),
        pytest.param(RINGS, one_each(0, 1, 4, 5, 6), 2, (), [0, 1], id="the ring that just fits"),
        pytest.param(RINGS, one_each(0, 4, 5, 6), 2, (), [4, 5], id="the ring that holds it"),
        pytest.param(RINGS, one_each(0, 1, 2, 3, 4), 1, (), [0], id="a card is as good as any"),
        pytest.param(RINGS, one_each(0, 1, 2, 4, 5), 4, (), [0, 1, 2, 4], id="the fuller ring"),
        pytest.param(RINGS, one_each(0, 1, 2, 7), 1, (5,), [7], id="the ring used"),
        pytest.param(MESH, one_each(*range(8)), 2, (), [0, 1], id="a NUMA node within the mesh"),
        pytest.param(MESH, one_each(1, 2, 3, 4), 2, (), [2, 3], id="whole NUMA nodes first"),
        pytest.param(MESH, one_each(1, 2, 3, 7), 1, (6,), [7], id="the NUMA node used, in a mesh"),
        pytest.param(MESH, one_each(0, 2, 4, 5), 3, (), [4, 5, 0], id="a NUMA node and one more"),
        pytest.param(FLAT, one_each(1, 3, 5), 2, (), [1, 3], id="nothing known of places"),
    ],
)
def test_a_container_is_kept_together(
    places: Mapping[int, Place],
    free: Mapping[int, int],
    need: int,
    used: tuple[int, ...],
    chosen: list[int],
) -> None:
    assert together(places, free, need, used=used) == chosen


@pytest.mark.parametrize(
    ("free", "need", "used", "chosen"),
    [
        pytest.param({0: 4, 1: 4}, 1, (), [0], id="lowest id among equals"),
        pytest.param({0: 4, 1: 2}, 1, (), [1], id="the NPU with least left"),
        pytest.param({0: 4, 1: 2}, 3, (), [0, 0, 0], id="the NPU that holds all"),
        pytest.param({0: 2, 1: 2, 4: 3, 5: 2}, 4, (), [0, 0, 1, 1], id="a card that just fits"),
        pytest.param({0: 4, 1: 3}, 2, (0,), [0, 0], id="the NPU used"),
        pytest.param({0: 1, 1: 4}, 6, (), [0, 1, 1, 1, 1], id="fewer than needed"),
    ],
)
def test_packed_shares_take_as_few_npus_as_possible(
    free: Mapping[int, int], need: int, used: tuple[int, ...], chosen: list[int]
) -> None:
    assert together(A3, free, need, used=used, stacked=True) == chosen


@pytest.mark.parametrize(
    ("free", "need", "used", "chosen"),
    [
        pytest.param({0: 4, 1: 4}, 1, (), [0], id="lowest id among equals"),
        pytest.param({0: 3, 1: 4}, 1, (), [1], id="the NPU with most left"),
        pytest.param({0: 4, 2: 4, 3: 4}, 2, (2,), [3, 0], id="near what is used"),
        pytest.param({0: 4, 2: 4}, 1, (2,), [0], id="not on what is used"),
        pytest.param({0: 2, 1: 2}, 4, (), [0, 1, 0, 1], id="in turn"),
        pytest.param({0: 4, 8: 4, 9: 1}, 2, (8,), [0, 9], id="most left before near"),
        pytest.param({0: 1, 1: 4}, 4, (), [1, 0, 1, 1], id="until nothing else is left"),
        pytest.param({0: 1}, 9, (), [0], id="fewer than needed"),
        pytest.param({}, 1, (), [], id="nothing free"),
        pytest.param({0: 1}, -1, (), [], id="less than nothing needed"),
    ],
)
def test_spread_shares_take_as_many_npus_as_possible(
    free: Mapping[int, int], need: int, used: tuple[int, ...], chosen: list[int]
) -> None:
    spots = find_spots(NodeView(generation=1, npus=placed(A3)), stacked=False)
    counts = {PhyId(phy): count for phy, count in free.items()}

    found = spread_out(counts, need, used=[PhyId(n) for n in used], spots=spots)

    assert list(found) == chosen


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from([A3, RINGS, MESH, FLAT]),
    st.dictionaries(st.integers(0, 7), st.integers(1, 4)),
    st.integers(0, 40),
    st.sets(st.integers(0, 7)),
    st.booleans(),
)
def test_what_is_chosen_is_free_and_as_much_as_can_be(
    places: Mapping[int, Place],
    free: dict[int, int],
    need: int,
    used: set[int],
    stacked: bool,  # noqa: FBT001 -- drawn by hypothesis
) -> None:
    chosen = together(places, free, need, used=tuple(sorted(used)), stacked=stacked)

    assert len(chosen) == min(need, sum(free.values()))
    assert all(chosen.count(npu) <= free[npu] for npu in set(chosen))


def test_a_lost_npu_keeps_its_place() -> None:
    """Its last address says where it sits; without one it would look like a card of its own."""
    npus = (make_npu(0, place=A3[0]), unlisted(make_npu(1, place=A3[1])))
    view = NodeView(generation=1, npus=tuple(make_view(npu) for npu in npus))

    spots = find_spots(view, stacked=False)

    assert spots[PhyId(0)] == spots[PhyId(1)]
