"""Each container is told with its own NPUs, and each NPU with what the container means by it."""

from dataclasses import replace

import pytest

from ascend_agent.dialects.hami.attribution import attribute, directories
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.ids import DieId, PhyId, PodUid, ResourceName
from ascend_agent.model.metered import ContainerDevice, SoftReadings, SoftUsage
from ascend_agent.model.npu import HiddenNpu, Npu
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer, PodPhase
from tests.fakes.cluster import pod
from tests.fakes.npus import address, inventory, npu

RESOURCE = ResourceName("huawei.com/Ascend910B3")
CHIP = HamiChip(
    chip_name="910B3",
    word="Ascend910B3",
    resource=RESOURCE,
    memory_resource="huawei.com/Ascend910B3-memory",
    allocatable_mib=65536,
    capacity_mib=65536,
)
NODE = inventory(16)
NPUS = NODE.npus
KEY = "hami.io/Ascend910B3-devices-allocated"
USAGE = SoftUsage(limit_bytes=1000, used_bytes=(1, 2, 3, 4, 5, 6, 7, 8))


def device(phy: int, *, memory: int = 28672, core: int = 40) -> str:
    return f"{npu(phy).identity.die},Ascend910B3,{memory},{core}"


def container(
    name: str, *, kind: ContainerKind = ContainerKind.APP, asks: bool = True
) -> PodContainer:
    return PodContainer(name=name, kind=kind, limits={RESOURCE: 1} if asks else {})


def granted(annotation: str, *containers: PodContainer, key: str = KEY) -> Pod:
    return replace(pod("p"), annotations={key: annotation}, containers=containers)


def told(
    *pods: Pod,
    npus: tuple[Npu, ...] = NPUS,
    hidden: tuple[HiddenNpu, ...] = (),
    chip: HamiChip = CHIP,
    **usages: SoftUsage,
) -> list[tuple[str, int, int, int | None]]:
    """Return container, place, NPU and use of each; *usages* are of containers of ``uid-p``."""
    readings = SoftReadings(containers={f"uid-p_{name}": usage for name, usage in usages.items()})
    node = replace(NODE, npus=npus, hidden=hidden)
    return [
        (each.container, each.place, each.npu, each.used_bytes)
        for each in attribute(pods, node, readings, chip=chip)
    ]


def test_all_is_told_of_a_device() -> None:
    readings = SoftReadings(containers={"uid-p_main": USAGE})

    (found,) = attribute([granted(f"{device(3)}:;", container("main"))], NODE, readings, chip=CHIP)

    assert found == ContainerDevice(
        namespace="default",
        pod="p",
        container="main",
        place=0,
        npu=PhyId(3),
        die=DieId("00000003-00000005-DEADBEEF-00000000-00FF00FF"),
        granted_mib=28672,
        granted_core_percent=40,
        used_bytes=1,
        limit_bytes=1000,
    )


def test_each_container_has_the_devices_of_its_own_slot() -> None:
    """HAMi F1: every container was told with the devices of the whole pod."""
    both = granted(f"{device(0)}:;{device(1)}:;", container("a"), container("b"))

    assert told(both, a=USAGE) == [("a", 0, 0, 1), ("b", 0, 1, None)]


@pytest.mark.parametrize("slot", [(2, 5, 9), (9, 5, 2), (5, 9, 2)])
def test_devices_are_numbered_by_physical_id_as_inside_the_container(slot: tuple[int, ...]) -> None:
    """HAMi F2: the order of the annotation gave one NPU the use of another."""
    three = granted("".join(f"{device(phy)}:" for phy in slot) + ";", container("main"))

    assert told(three, main=USAGE) == [("main", 0, 2, 1), ("main", 1, 5, 2), ("main", 2, 9, 3)]


def test_the_word_is_the_configured_one_whatever_the_resource_is_called() -> None:
    """HAMi F3: the key was made of the resource's name."""
    other = replace(CHIP, word="NPU", resource=ResourceName("example.com/npu"))
    main = PodContainer(name="main", kind=ContainerKind.APP, limits={other.resource: 1})
    web = container("web", asks=False)
    renamed = granted(f"{device(1)}:;", web, main, key="hami.io/NPU-devices-allocated")

    assert told(renamed, chip=other, main=USAGE) == [("main", 0, 1, 1)]


def test_init_containers_and_sidecars_are_told_as_well() -> None:
    """HAMi F3: they never were."""
    three = granted(
        f"{device(0)}:;{device(1)}:;{device(2)}:;",
        container("setup", kind=ContainerKind.INIT),
        container("proxy", kind=ContainerKind.SIDECAR),
        container("main"),
    )

    found = told(three, setup=USAGE, proxy=USAGE, main=USAGE)

    assert found == [("setup", 0, 0, 1), ("proxy", 0, 1, 1), ("main", 0, 2, 1)]


@pytest.mark.parametrize("slots", ["{0}:;", ";{0}:;"], ids=["left out", "an empty slot"])
def test_containers_that_ask_for_nothing_do_not_shift_the_others(slots: str) -> None:
    """Volcano leaves them out, HAMi gives them an empty slot."""
    one = granted(slots.format(device(4)), container("web", asks=False), container("main"))

    assert told(one, main=USAGE) == [("main", 0, 4, 1)]


def test_beyond_eight_devices_nothing_is_used() -> None:
    """A container's account has no more places."""
    nine = granted("".join(f"{device(phy)}:" for phy in range(9)) + ";", container("main"))

    found = told(nine, main=USAGE)

    assert [used for *_, used in found] == [1, 2, 3, 4, 5, 6, 7, 8, 0]


def test_a_container_that_keeps_no_account_is_told_without_use_and_limit() -> None:
    hard = granted(f"{device(0)}:;", container("main"))

    (found,) = attribute([hard], NODE, SoftReadings(), chip=CHIP)

    assert (found.used_bytes, found.limit_bytes) == (None, None)


def test_nobody_uses_more_than_the_npu_has() -> None:
    liar = SoftUsage(limit_bytes=0, used_bytes=(1 << 50, *[0] * 7))
    one = granted(f"{device(0)}:;", container("main"))
    unknown = replace(NPUS[0], identity=replace(NPUS[0].identity, memory_mib=None))

    assert told(one, main=liar) == [("main", 0, 0, 65536 << 20)]
    assert told(one, npus=(unknown,), main=liar) == [("main", 0, 0, 1 << 50)]


def test_npus_of_elsewhere_and_npus_named_twice_do_not_shift_the_others() -> None:
    odd = granted(
        f"FFFF,Ascend910B3,1,1:{device(3)}:{device(1)}:{device(3, memory=1)}:;", container("main")
    )

    assert told(odd, main=USAGE) == [("main", 0, 1, 1), ("main", 1, 3, 2)]


def test_an_npu_that_is_hidden_by_now_counts_in_the_container_that_has_it() -> None:
    """HAMi F2: its neighbour would else be told with what the container uses of the hidden one."""
    two = granted(f"{device(1)}:{device(3)}:;", container("main"))
    hidden = HiddenNpu(address=address(1), phy=PhyId(1), die=npu(1).identity.die)
    unread = HiddenNpu(address=address(2))

    found = told(two, npus=NPUS[2:], hidden=(hidden, unread), main=USAGE)

    assert found == [("main", 1, 3, 2)]


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
def test_a_pod_that_has_finished_uses_nothing(phase: PodPhase) -> None:
    ended = replace(granted(f"{device(0)}:;", container("main")), phase=phase)

    assert told(ended, main=USAGE) == []


def test_the_account_of_an_earlier_pod_of_that_name_is_not_this_ones() -> None:
    later = replace(granted(f"{device(0)}:;", container("main")), uid=PodUid("uid-later"))

    assert told(later, main=USAGE) == [("main", 0, 0, None)]


@pytest.mark.parametrize("annotation", ["", ";", "x", f"{device(0, memory=2**40)}:;"])
def test_a_pod_whose_annotation_says_nothing_has_nothing(annotation: str) -> None:
    assert told(granted(annotation, container("main")), main=USAGE) == []


@pytest.mark.parametrize(
    "first",
    [
        replace(granted(f"{device(0)}:;", container("main")), phase=PodPhase.FAILED),
        granted("no, devices;", container("main")),
        pod("p"),
    ],
    ids=["finished", "not to be understood", "without NPUs"],
)
def test_a_pod_of_which_nothing_is_told_keeps_no_other_back(first: Pod) -> None:
    one = replace(granted(f"{device(1)}:;", container("main")), uid=PodUid("uid-q"))

    assert told(first, one) == [("main", 0, 1, None)]


def test_a_slot_of_no_container_is_nobodys() -> None:
    more = granted(f";;{device(0)}:;{device(1)}:;", container("main"))

    assert told(more, main=USAGE) == []


def test_directories_are_those_of_containers_that_have_devices() -> None:
    """Whoever looks for files looks for these and no others."""
    two = granted(f"{device(0)}:;;{device(1)}:;", *map(container, ("a", "b", "c")))
    bad = replace(granted("x,y,z;", container("main")), uid=PodUid("uid-q"))
    done = replace(granted(f"{device(3)}:;", container("main")), phase=PodPhase.SUCCEEDED)

    assert directories([two, bad], chip=CHIP) == {"uid-p_a", "uid-p_c"}
    assert directories([done], chip=CHIP) == frozenset()
