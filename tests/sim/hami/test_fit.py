"""Which devices a pod gets, what keeps others out, and in which order."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.fit import Policy, Unfit, fit, node_score
from ascend_agent.sim.hami.usage import Device, Usage
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.words import Json
from tests.sim.hami.pods import B3, chip, container, device, pod, usages

ONE = pod(container(count=1, memory=16384))


def chosen(
    item: Json,
    given: Mapping[str, Usage],
    *,
    of: HamiChip = B3,
    version: str = "2.10",
    node_soft: bool = False,
    policy: Policy = Policy.SPREAD,
) -> list[list[str]] | str:
    """Return the dies of each slot, or the reason there are none."""
    slots = fit(item, given, chip=of, version=VERSIONS[version], node_soft=node_soft, policy=policy)
    if isinstance(slots, Unfit):
        return slots.reason
    return [[one.die for one in slot] for slot in slots]


def busy(one: Device, *, used: int = 1, memory: int = 16384, core: int = 0) -> Usage:
    return Usage(device=one, used=used, memory_mib=memory, core=core)


def test_the_least_used_comes_first_and_of_equals_the_highest_index() -> None:
    given = usages(device(0), device(1), device(2)) | {"U2": busy(device(2))}

    assert chosen(ONE, given) == [["U1"]]
    assert chosen(ONE, given, policy=Policy.BINPACK) == [["U2"]]


def test_a_slice_is_granted_as_asked_for_and_no_memory_as_all_of_it() -> None:
    whole = fit(
        pod(container(count=1)),
        usages(device(0)),
        chip=B3,
        version=VERSIONS["2.10"],
        node_soft=False,
    )

    assert not isinstance(whole, Unfit)
    assert [(one.memory_mib, one.core_percent) for one in whole[0]] == [(65536, 0)]


def test_containers_of_a_pod_add_up() -> None:
    three = pod(*(container(f"c{number}", 1, memory=32768) for number in range(3)))

    assert chosen(three, usages(device(0), device(1))) == [["U1"], ["U0"], ["U1"]]
    assert chosen(three, usages(device(0))) == "1/1 CardInsufficientMemory"


def test_an_init_container_is_over_before_the_others_start_since_2_10() -> None:
    both = pod(container("main", 1), inits=(container("init", 1),))

    assert chosen(both, usages(device(0))) == [["U0"], ["U0"]]
    assert chosen(both, usages(device(0)), version="2.9") == "1/1 CardInsufficientMemory"


def test_containers_never_share_a_device_with_volcano() -> None:
    two = pod(container("a", 1, memory=16384), container("b", 1, memory=16384))

    assert chosen(two, usages(device(0), device(1)), version="volcano") == [["U1"], ["U0"]]
    assert chosen(two, usages(device(0)), version="volcano") == "0/0 NodeInsufficientDevice"


SOFT = pod(container(count=1, memory=16384), soft=True)


@pytest.mark.parametrize(
    ("item", "given", "reason"),
    [
        (ONE, usages(device(0, healthy=False)), "1/1 CardNotHealth"),
        (ONE, usages(device(0, count=0)), "1/1 CardTimeSlicingExhausted"),
        (ONE, {"U0": busy(device(0), memory=60000)}, "1/1 CardInsufficientMemory"),
        (pod(container(count=2)), usages(device(0)), "1/1 NodeInsufficientDevice"),
        (SOFT, usages(device(0)), "1/1 ModeNotFit"),
    ],
)
def test_what_keeps_a_device_out(item: Json, given: Mapping[str, Usage], reason: str) -> None:
    assert chosen(item, given) == reason


@pytest.mark.parametrize(
    ("core", "usage", "reason"),
    [
        (60, busy(device(0), core=50), "1/1 CardInsufficientCore"),
        (100, busy(device(0)), "1/1 ExclusiveDeviceAllocateConflict"),
        (None, busy(device(0), core=100), "1/1 CardComputeUnitsExhausted"),
    ],
)
def test_cores_of_soft_pods_are_percent(core: int | None, usage: Usage, reason: str) -> None:
    item = pod(container(count=1, memory=1024, core=core), soft=True)

    assert chosen(item, {"U0": usage}, node_soft=True) == reason


def test_health_is_nothing_to_older_ones_but_no_devices_are() -> None:
    """Why sick NPUs are published with no devices."""
    assert chosen(ONE, usages(device(0, healthy=False)), version="2.9") == [["U0"]]
    fenced = usages(device(0, healthy=False, count=0))
    assert chosen(ONE, fenced, version="2.9") == "1/1 CardTimeSlicingExhausted"


def test_2_9_keeps_slices_from_nodes_of_the_other_mode() -> None:
    given = usages(device(0))

    assert chosen(ONE, given, version="2.9", node_soft=True) == "1/1 ModeNotFit"
    assert chosen(pod(container(count=1)), given, version="2.9", node_soft=True) == [["U0"]]
    assert chosen(ONE, given, version="2.10", node_soft=True) == [["U0"]]
    assert chosen(SOFT, given, version="2.8") == [["U0"]]


def test_a_pod_may_name_devices_it_wants_and_does_not_want() -> None:
    given = usages(device(0), device(1), device(2))
    want, shun = (f"hami.io/{key}-Ascend910B3-uuid" for key in ("use", "no-use"))

    def asked(notes: Mapping[str, str], version: str = "2.10") -> list[list[str]] | str:
        return chosen(pod(container(count=1), notes=notes), given, version=version)

    assert asked({want: "U0"}) == [["U0"]]
    assert asked({shun: "U2 , U1"}) == [["U0"]]
    assert asked({want: "U1,U2", shun: "U2"}) == [["U1"]]
    assert asked({want: ""}) == [["U2"]]
    assert asked({want: "U1,U2", shun: "U2"}, version="2.9") == [["U2"]]
    assert asked({want: ""}, version="2.9") == "3/3 CardUuidMismatch"
    assert asked({want: "U0"}, version="volcano") == [["U2"]]


def test_several_come_from_one_network() -> None:
    """The largest group first, though a device of the other one is used less."""
    given = usages(*(device(number) for number in (0, 1, 2, 4, 5)))
    given["U0"] = busy(device(0))
    two = pod(container(count=2))
    spread = {key: replace(one, memory_mib=0) for key, one in given.items()}

    assert chosen(two, spread) == [["U2", "U1"]]
    assert chosen(pod(container(count=4)), spread) == [["U2", "U1", "U0", "U5"]]
    assert chosen(two, spread, version="2.6") == [["U5", "U4"]]
    assert chosen(pod(container(count=5)), spread) == [["U5", "U4", "U2", "U1", "U0"]]


def test_910c_gives_whole_modules() -> None:
    super_pod = chip(super_pod=True)
    given = usages(*(device(number, group=0) for number in range(4)))
    given["U2"] = busy(device(2), memory=65536)

    assert chosen(pod(container(count=2)), given, of=super_pod) == [["U1", "U0"]]
    assert chosen(pod(container(count=4)), given, of=super_pod) == "1/4 CardInsufficientMemory"
    odd = usages(device(0, group=0), device(3, group=0))
    reason = chosen(pod(container(count=2)), odd, of=super_pod)
    assert reason == "2/2 AllocatedCardsInsufficientRequest"


def test_a_word_that_begins_another_takes_its_devices_too() -> None:
    """The scheduler's own mistake: 910B4-1 counts as 910B4."""
    other = usages(device(0, type="Ascend910B4-1"))

    assert chosen(pod(container(count=1, of=chip("Ascend910B4"))), other, of=chip("Ascend910B4"))


def test_a_node_is_the_better_the_fuller_and_the_nearer_its_devices() -> None:
    given = usages(device(3), device(4))
    slots = fit(pod(container(count=2)), given, chip=B3, version=VERSIONS["2.10"], node_soft=False)
    assert not isinstance(slots, Unfit)

    assert node_score(slots, given, word="Ascend910B3") == 5
    assert node_score(slots, given | {"U3": busy(device(3))}, word="Ascend310P") == 1.25
