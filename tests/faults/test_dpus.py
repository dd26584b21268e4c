"""DPU NICs mean what topology 5.6 says, with the right rules of 5.9 in place of the peer's."""

import pytest

from ascend_agent.chips.ascend950 import SPEC
from ascend_agent.faults.dpu_mapping import discover
from ascend_agent.faults.dpus import is_up, judge, observe, turned
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.nics import DpuBus, DpuMapping, Nic
from ascend_agent.model.surroundings import DpuHealth, DpuStates
from tests.fakes.dpus import a5_npu, a5_npus, config, nic, nics

HEALTHY, SUB, UNHEALTHY = DpuHealth.HEALTHY, DpuHealth.SUB_HEALTHY, DpuHealth.UNHEALTHY
START = Millis(1_000)


def mapping(*phys: int) -> DpuMapping:
    found = discover(config(), nics(), a5_npus(*phys), pci_paths={})
    assert isinstance(found, DpuMapping)
    return found


def seen(
    *cards: Nic, before: DpuStates | None = None, now: int = START, phys: tuple[int, ...] = (0, 5)
) -> DpuStates:
    return observe(mapping(*phys), cards, config=config(), before=before, now=Millis(now))


@pytest.mark.parametrize(
    ("dpus", "down", "health"),
    [
        (0, 0, HEALTHY),
        (1, 0, HEALTHY),
        (1, 1, UNHEALTHY),
        (2, 0, HEALTHY),
        (2, 1, SUB),
        (2, 2, UNHEALTHY),
        (3, 2, SUB),
        (4, 3, SUB),
    ],
)
def test_all_down_is_unhealthy_and_some_down_is_sub_healthy(
    dpus: int, down: int, health: DpuHealth
) -> None:
    """D18: the peer calls no NIC at all unhealthy, and two of three down healthy."""
    assert judge(dpus=dpus, down=down) is health


@pytest.mark.parametrize(
    ("states", "npu_0", "npu_8", "npu_5"),
    [
        (("up", "up", "up", "up"), HEALTHY, HEALTHY, HEALTHY),
        (("up", "down", "up", "up"), SUB, SUB, HEALTHY),
        (("down", "down", "up", "up"), UNHEALTHY, UNHEALTHY, HEALTHY),
        (("up", "", "down", "dormant"), SUB, SUB, UNHEALTHY),
    ],
)
def test_the_golden_rows(
    states: tuple[str, str, str, str], npu_0: DpuHealth, npu_8: DpuHealth, npu_5: DpuHealth
) -> None:
    """Topology G16; an empty state can't be read."""
    found = seen(*nics(*states), phys=(0, 5, 8))

    assert found.health == {0: npu_0, 5: npu_5, 8: npu_8}


@pytest.mark.parametrize(
    ("state", "health"),
    [("up", HEALTHY), ("down", UNHEALTHY), ("dormant", UNHEALTHY), ("", UNHEALTHY)],
)
def test_with_one_nic_an_npu_is_never_sub_healthy(state: str, health: DpuHealth) -> None:
    """Topology G16, ``pcie``: one DPU each."""
    card = nic("enps0", state, path="devices/pci0000:00/0000:00:01.0/net/enps0")
    user = a5_npu(3, bus="0000:00:02.0")
    found = discover(
        config(DpuBus.PCIE),
        [card],
        [(user, SPEC)],
        pci_paths={"0000:00:02.0": "devices/pci0000:00/0000:00:02.0"},
    )
    assert isinstance(found, DpuMapping)

    states = observe(found, [card], config=config(DpuBus.PCIE), before=None, now=START)

    assert states.health == {3: health}
    assert states.bus_type == "pcie"


@pytest.mark.parametrize(
    "operstate",
    ["down", "lowerlayerdown", "dormant", "notpresent", "testing", "", "UP", "up "],
)
def test_only_up_is_up(operstate: str) -> None:
    assert is_up(nic("x", "up"), unknown_is_up=True)
    assert not is_up(nic("x", operstate, carrier=True), unknown_is_up=True)


@pytest.mark.parametrize(
    ("carrier", "counts", "up"),
    [(True, True, True), (False, True, False), (None, True, False), (True, False, False)],
)
def test_a_driver_that_reports_no_state_is_asked_for_its_carrier(
    *, carrier: bool | None, counts: bool, up: bool
) -> None:
    """Topology 5.9.5, D20: many drivers leave the state at ``unknown`` for ever."""
    assert is_up(nic("x", "unknown", carrier=carrier), unknown_is_up=counts) is up


def test_the_state_shown_is_the_kernels_own() -> None:
    cards = (nic("enps0", "unknown", carrier=True), nic("enps2", "lowerlayerdown"))

    shown = {dpu.name: (dpu.operstate, dpu.up) for dpu in seen(*cards, phys=(0,)).dpus}

    assert shown == {"enps0": ("unknown", True), "enps2": ("lowerlayerdown", False)}


def test_a_card_that_is_gone_is_down_with_what_was_known_of_it() -> None:
    found = seen(nic("enps0"), phys=(0,))

    lost = found.dpus[1]
    assert (lost.name, lost.operstate, lost.up) == ("enps2", "down", False)
    assert (lost.vendor_id, lost.device_id) == ("0x10b5", "0x1825")
    assert found.health == {0: SUB}


def test_the_cards_are_those_in_use_ordered_by_name() -> None:
    found = seen(*reversed(nics()), nic("enps9"), phys=(0, 5))

    assert [dpu.name for dpu in found.dpus] == ["enps0", "enps1", "enps2", "enps3"]


def test_an_npu_that_stays_as_it_is_keeps_the_time_since_when() -> None:
    """Topology 5.9.9: the time told is that of the transition."""
    first = seen(*nics(), now=1_000)
    second = seen(*nics(enps2="down"), before=first, now=2_000)
    third = seen(*nics(enps2="dormant"), before=second, now=3_000)
    fourth = seen(*nics(enps2="down", enps0="down"), before=third, now=4_000)
    fifth = seen(*nics(), before=fourth, now=5_000)

    times = [each.since_ms[PhyId(0)] for each in (first, second, third, fourth, fifth)]
    assert times == [1_000, 2_000, 2_000, 4_000, 5_000]
    assert [each.since_ms[PhyId(5)] for each in (first, second, third, fourth, fifth)] == (
        [1_000] * 5
    )


def test_nothing_new_makes_an_equal_value() -> None:
    """What is equal is not published again."""
    first = seen(*nics(enps2="down"), now=1_000)

    assert seen(*nics(enps2="down"), before=first, now=9_000) == first


def test_what_turned_is_told_once_each_way() -> None:
    start = seen(*nics(enps1="down"))
    down = seen(*nics(enps1="down", enps2="down"), before=start)
    other = seen(*nics(enps1="dormant", enps2="down"), before=down)
    up = seen(*nics(), before=other)

    def told(before: DpuStates | None, after: DpuStates) -> list[tuple[str, bool]]:
        return [(dpu.name, dpu.up) for dpu in turned(before, after)]

    assert told(None, start) == [("enps1", False)]
    assert told(start, down) == [("enps2", False)]
    assert told(down, other) == []
    assert told(other, up) == [("enps1", True), ("enps2", True)]
