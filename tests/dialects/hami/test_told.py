"""What people are told is what is new, in words that name the thing, the value and the remedy."""

import dataclasses

import pytest

from ascend_agent.dialects.hami import told
from ascend_agent.model.hami import HamiState, SoftHost
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.notices import Announcement
from ascend_agent.model.npu import Inventory, UnknownChip
from ascend_agent.model.pods import PodRef
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuId, VnpuSweep
from tests.fakes.hami import npu_view, pod, state
from tests.fakes.npus import CHIP

NOW = Millis(5)
P1 = pod("p1", ";").ref
SERVED = AllocateServed(
    resource=ResourceName("huawei.com/Ascend910B3"),
    npus=(PhyId(0),),
    took_s=0.1,
    refusal="",
    at_ms=NOW,
    pod=P1,
)
STATE = state()
STRANGE = dataclasses.replace(STATE, chip=None, trouble="chip 910X: none of 910A, 910B3")
WANTS = dataclasses.replace(STATE, wants_soft=True)
BROKEN = SoftHost(ready=False, trouble="libvnpu.so is for arm64")


def inventory_of(*chips: str) -> Inventory:
    npus = tuple(npu_view(phy, chip=chip).npu for phy, chip in enumerate(chips))
    return Inventory(generation=1, npus=npus, unread=(), unknown=(), lost_cards=0)


def said(announced: list[Announcement]) -> list[tuple[str, bool, str]]:
    return [(one.reason, one.warning, one.message) for one in announced]


@pytest.mark.parametrize("whose", [P1, None])
def test_a_refused_allocate_is_told_of_the_pod_if_it_is_known(whose: PodRef | None) -> None:
    """AL-8."""
    refused = dataclasses.replace(SERVED, refusal="no pod waits", pod=whose)
    (one,) = told.of_allocate(refused)

    assert said([one]) == [("AscendAllocateFailed", True, "huawei.com/Ascend910B3: no pod waits")]
    assert (one.pod, one.at_ms) == (whose, NOW)


def test_an_allocate_that_ended_with_the_agent_is_not_told() -> None:
    assert not list(told.of_allocate(dataclasses.replace(SERVED, refusal="cancelled")))


def test_each_remark_is_told_of_the_pod_by_itself() -> None:
    """CF-7: a core request on a hard-sliced card has no effect."""
    served = dataclasses.replace(SERVED, remarks=("cores have no effect", "soft on a hard node"))
    announced = list(told.of_allocate(served))

    assert said(announced) == [
        ("AscendAllocateRemark", True, "cores have no effect"),
        ("AscendAllocateRemark", True, "soft on a hard node"),
    ]
    assert {one.pod for one in announced} == {P1}
    assert len({one.about for one in announced}) == 2


@pytest.mark.parametrize(
    "served",
    [
        SERVED,
        dataclasses.replace(SERVED, pod=None, remarks=("nobody to tell",)),
        dataclasses.replace(SERVED, refusal="no", remarks=("was not given",), pod=P1),
    ],
)
def test_nothing_else_of_an_allocate_is_told(served: AllocateServed) -> None:
    reasons = [one.reason for one in told.of_allocate(served)]
    assert reasons == (["AscendAllocateFailed"] if served.refusal else [])


@pytest.mark.parametrize(
    ("hami", "found", "trouble"),
    [
        (STRANGE, inventory_of("910X"), STRANGE.trouble),
        (STRANGE, inventory_of("910Y"), ""),
        (STRANGE, inventory_of(), ""),
        (STRANGE, None, ""),
        (STATE, inventory_of("910B3"), ""),
    ],
)
def test_a_chip_is_in_trouble_once_it_was_read(
    hami: HamiState, found: Inventory | None, trouble: str
) -> None:
    """Before that nothing can be said, and every start would begin with a warning."""
    assert told.chip_trouble(hami, found) == trouble


def test_a_chip_nobody_recognises_is_not_configured_either() -> None:
    chip = dataclasses.replace(CHIP, chip_name="910X")
    found = dataclasses.replace(inventory_of(), unknown=(UnknownChip(phy=PhyId(0), chip=chip),))

    assert told.chip_trouble(STRANGE, found) == STRANGE.trouble


def test_what_a_refused_file_quotes_is_no_chip_that_is_not_configured() -> None:
    """HamiConfigRefused tells of it, and the text may hold the name of a chip by chance."""
    refused = dataclasses.replace(STRANGE, refused=("/910X.yaml: is empty",))

    assert told.chip_trouble(refused, inventory_of("910X")) == ""


def test_a_chip_that_is_not_configured_is_told_once_and_its_end_too() -> None:
    """C4: the plugin ended with an error here."""
    assert said(list(told.of_chip("", "none of 910A", None, NOW))) == [
        ("HamiChipNotConfigured", True, "none of 910A")
    ]
    assert not list(told.of_chip("none of 910A", "none of 910A", None, NOW))
    assert not list(told.of_chip("none of 910A", "", None, NOW))
    assert said(list(told.of_chip("none of 910A", "", STATE.chip, NOW))) == [
        ("HamiChipConfigured", False, "chip 910B3 is configured, as Ascend910B3")
    ]


def test_a_refused_configuration_is_told_once_and_its_end_too() -> None:
    refused = dataclasses.replace(STATE, refused=("device-config.yaml: no list",))
    (one,) = told.of_files(STATE, refused, NOW)

    assert (one.reason, one.warning) == ("HamiConfigRefused", True)
    assert "device-config.yaml: no list" in one.message
    assert "what was in force before stays" in one.message
    assert not list(told.of_files(refused, refused, NOW))
    assert said(list(told.of_files(refused, STATE, NOW))) == [
        ("HamiConfigTaken", False, "HAMi's configuration in order again")
    ]


@pytest.mark.parametrize(
    ("hami", "host", "trouble"),
    [
        (WANTS, BROKEN, "libvnpu.so is for arm64"),
        (WANTS, SoftHost(ready=True), ""),
        (WANTS, SoftHost(ready=False, trouble="being prepared", preparing=True), ""),
        (WANTS, None, ""),
        (STATE, BROKEN, ""),
        (None, BROKEN, ""),
    ],
)
def test_soft_mode_is_in_trouble_where_it_is_wanted_and_was_tried(
    hami: object, host: SoftHost | None, trouble: str
) -> None:
    assert told.soft_trouble(hami, host) == trouble  # type: ignore[arg-type]  # a column


def test_soft_mode_is_told_when_it_goes_changes_its_reason_and_comes_back() -> None:
    """IM-7, CF-6."""
    gone = list(told.of_soft("", "no library", wanted=True, now=NOW))
    other = list(told.of_soft("no library", "no space", wanted=True, now=NOW))
    back = list(told.of_soft("no space", "", wanted=True, now=NOW))

    assert [one.reason for one in (*gone, *other)] == ["HamiSoftModeWithdrawn"] * 2
    assert "no library" in gone[0].message
    assert said(back) == [("HamiSoftModeOffered", False, "soft mode is offered again")]
    assert not list(told.of_soft("no library", "no library", wanted=True, now=NOW))
    assert not list(told.of_soft("no library", "", wanted=False, now=NOW))


def test_an_npu_that_can_not_be_shared_is_told_by_itself() -> None:
    off = ShareStates(enabled={PhyId(0): True, PhyId(1): False, PhyId(2): False})
    on = ShareStates(enabled={PhyId(0): True, PhyId(1): True, PhyId(2): False})
    refused = list(told.of_shares(None, off, NOW))

    assert [(one.reason, one.about) for one in refused] == [
        ("HamiShareRefused", "npu 1"),
        ("HamiShareRefused", "npu 2"),
    ]
    assert said(list(told.of_shares(off, on, NOW))) == [
        ("HamiShareEnabled", False, "NPU 1 is shared")
    ]


def vnpu(number: int) -> Vnpu:
    return Vnpu(vnpu=VnpuId(number), template="vir05_1c_16g", opened=False, container=0)


def test_a_leak_is_told_when_it_is_found_removed_or_can_not_be() -> None:
    """G2: retries piled up until the chip was full."""
    clean = VnpuSweep(mode=SweepMode.REPORT)
    leaky = dataclasses.replace(clean, surplus={PhyId(3): (vnpu(100), vnpu(101))})
    (found,) = told.of_sweep(clean, leaky, NOW)
    removed = VnpuSweep(mode=SweepMode.REMOVE, removed=2)
    failed = VnpuSweep(mode=SweepMode.REMOVE, failed={PhyId(3): "busy"}, removed=2)

    assert (found.reason, found.about) == ("VnpuLeaked", "npu 3")
    assert "100 (vir05_1c_16g), 101 (vir05_1c_16g)" in found.message
    assert not list(told.of_sweep(leaky, leaky, NOW))
    assert said(list(told.of_sweep(leaky, removed, NOW))) == [
        ("VnpuRemoved", False, "2 vNPU(s) that no pod owned were removed")
    ]
    assert [one.reason for one in told.of_sweep(removed, failed, NOW)] == ["VnpuNotRemoved"]
    assert not list(told.of_sweep(failed, failed, NOW))
    assert [one.reason for one in told.of_sweep(None, leaky, NOW)] == ["VnpuLeaked"]


def test_of_many_vnpus_some_are_named() -> None:
    crowd = tuple(vnpu(number) for number in range(100, 110))
    sweep = VnpuSweep(mode=SweepMode.REPORT, surplus={PhyId(0): crowd})
    (one,) = told.of_sweep(None, sweep, NOW)

    assert "107 (vir05_1c_16g) and 2 more" in one.message
