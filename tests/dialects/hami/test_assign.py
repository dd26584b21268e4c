"""What a container gets of the devices that the scheduler chose, and what is edited for it."""

import dataclasses
from collections.abc import Mapping, Sequence

import pytest

from ascend_agent.dialects.hami.assign import assign
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    NeedFresh,
    RefusalReason,
    Refused,
)
from ascend_agent.model.cluster import NodeAnnotationRemoval, PodEdit
from ascend_agent.model.hami import HamiChip, HamiRules
from ascend_agent.model.ids import PluginDeviceId
from ascend_agent.model.pods import ContainerKind, Pod, PodKey, PodPhase
from ascend_agent.model.slices import Slice, SoftSlice, TemplateSlice, WholeSlice
from ascend_agent.model.world import World
from tests.fakes.hami import (
    CHIP_310P,
    CHIP_910B3,
    CHIP_910C,
    asks,
    container,
    device,
    info,
    lock,
    node_view,
    pod,
    state,
    world,
)

SLICE = "vir05_1c_16g"
X = f"{device(0, 16384)};"
SOFT = {"huawei.com/vnpu-mode": "hami-core"}


def _assigned(request: AllocationRequest, seen: World) -> Assignment:
    found = assign(request, seen)
    assert isinstance(found, Assignment), found
    return found


def _refused(request: AllocationRequest, seen: World) -> Refused:
    found = assign(request, seen)
    assert isinstance(found, Refused), found
    return found


def _unknown(request: AllocationRequest, seen: World) -> NeedFresh:
    found = assign(request, seen)
    assert isinstance(found, NeedFresh), found
    return found


def _committed(found: Assignment) -> Mapping[str, str | None]:
    (edit,) = found.commit
    assert isinstance(edit, PodEdit)
    assert not edit.labels
    return edit.annotations


REMOVED = (
    NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z,default,p1"),
)


# --- what a container gets -----------------------------------------------------------------


def test_a_template_slice() -> None:
    waits = pod("p1", X, runtime=info((0, {"temp": SLICE})))

    found = _assigned(asks((5, 2)), world(waits, annotations=lock("p1")))

    assert (found.npus, found.slice) == ((0,), TemplateSlice(template=SLICE))
    assert (found.pod, found.container) == (waits.ref, "main")
    assert found.commit == (
        PodEdit(
            pod=waits.key,
            uid=waits.uid,
            labels={},
            annotations={
                "hami.io/Ascend910B3-devices-to-allocate": ";",
                "hami.io/bind-phase": "success",
            },
        ),
    )
    assert found.settle == REMOVED


def test_a_whole_card() -> None:
    """Without memory in the request, and in runtime info neither template nor memory."""
    waits = pod("p2", f"{device(2, 65536)};", runtime=info((2, {})))

    found = _assigned(asks((0, 0)), world(waits, annotations=lock("p2")))

    assert (found.npus, found.slice) == ((2,), WholeSlice())


def test_cards_ascend_whatever_the_scheduler_wrote() -> None:
    """AL-13, HAMi E4."""
    slots = "".join(device(each, 65536) for each in (7, 6, 5, 4)) + ";"
    waits = pod("p3", slots, runtime=info(*((each, {}) for each in (7, 6, 5, 4))))

    found = _assigned(asks((0, 0), (0, 1), (1, 3), (6, 2)), world(waits, annotations=lock("p3")))

    assert found.npus == (4, 5, 6, 7)


def test_a_template_of_another_chip() -> None:
    chip = CHIP_310P
    waits = pod(
        "p4",
        f"{device(1, 6144, word='Ascend310P')};",
        runtime=info((1, {"temp": "vir02"})),
        chip=chip,
    )

    found = _assigned(
        asks((1, 6), chip=chip), world(waits, hami=state(chip), annotations=lock("p4"))
    )

    assert (found.npus, found.slice) == ((1,), TemplateSlice(template="vir02"))


@pytest.mark.parametrize(
    ("memory", "core", "entry"),
    [(28672, 40, {"memory": 28672, "core": 40}), (8192, 0, {"memory": 8192})],
    ids=["memory and cores", "memory alone"],
)
def test_a_soft_slice(memory: int, core: int, entry: Mapping[str, object]) -> None:
    waits = pod(
        "p5",
        f"{device(3, memory, core)};",
        runtime=info((3, entry)),
        annotations=SOFT,
        containers=[container("npu-ctr")],
        uid="6f1e0a52-0d4b-4b0c-9a57-3c6f2d1b7e90",
    )

    found = _assigned(asks((0, 1)), world(waits, hami=state(soft=True), annotations=lock("p5")))

    assert found.npus == (3,)
    assert found.slice == SoftSlice(
        memory_mib=memory,
        core_percent=core,
        registry=found.npus[0],
        directory="6f1e0a52-0d4b-4b0c-9a57-3c6f2d1b7e90_npu-ctr",
    )


def test_a_soft_slice_of_two_devices_has_the_quota_of_one_and_the_registry_of_the_first() -> None:
    """HAMi E3: the same memory is granted on each device, and never their sum."""
    slots = f"{device(1, 32768, 50)}{device(0, 32768, 50)};"
    entry = {"memory": 32768, "core": 50}
    waits = pod(
        "p7",
        slots,
        runtime=info((1, entry), (0, entry)),
        annotations=SOFT,
        containers=[container("vllm", asks=2)],
    )

    found = _assigned(
        asks((0, 0), (1, 0)), world(waits, hami=state(soft=True), annotations=lock("p7"))
    )

    assert found.npus == (0, 1)
    assert found.slice == SoftSlice(
        memory_mib=32768, core_percent=50, registry=found.npus[1], directory="uid-7_vllm"
    )


@pytest.mark.parametrize("quotas", [((4096, 10), (8192, 5)), ((8192, 5), (4096, 10))])
def test_quotas_that_differ_come_to_the_largest(quotas: Sequence[tuple[int, int]]) -> None:
    first, second = quotas
    slots = f"{device(1, *first)}{device(0, *second)};"
    waits = pod("p7", slots, annotations=SOFT, containers=[container("a", asks=2)])

    found = _assigned(
        asks((0, 0), (1, 0)), world(waits, hami=state(soft=True), annotations=lock("p7"))
    )

    assert isinstance(found.slice, SoftSlice)
    assert (found.slice.memory_mib, found.slice.core_percent) == (8192, 10)


def test_a_module_pair_of_a_910c() -> None:
    chip = CHIP_910C
    word = chip.word
    slots = f"{device(5, 65536, word=word)}{device(4, 65536, word=word)};"
    entry = {"memory": 65536}
    waits = pod("p16", slots, runtime=info((5, entry), (4, entry)), chip=chip)

    found = _assigned(
        asks((0, 0), (1, 0), chip=chip), world(waits, hami=state(chip), annotations=lock("p16"))
    )

    assert (found.npus, found.slice) == ((4, 5), WholeSlice())


def test_a_soft_slice_that_meets_another_without_taking_turns_is_told_of() -> None:
    other = pod(
        "p2",
        ";",
        allocated=f"{device(1, 4096)}{device(0, 4096)};",
        phase=PodPhase.RUNNING,
        annotations=SOFT,
    )
    soft = pod("p1", f"{device(0, 4096)};", annotations=SOFT)
    hami = state(soft=True)

    told = _assigned(asks((0, 0)), world(soft, other, hami=hami, annotations=lock("p1")))
    alone = _assigned(asks((0, 0)), world(soft, hami=hami, annotations=lock("p1")))
    hard = _assigned(asks((0, 0)), world(pod("p1", X), other, annotations=lock("p1")))

    assert "default/p2" in told.remarks[0]
    assert (alone.remarks, hard.remarks) == ((), ())


# --- several containers --------------------------------------------------------------------


def test_two_containers_are_two_calls_and_the_lock_goes_after_the_last() -> None:
    """AL-5, HAMi A1: the second container took the devices of another pod."""
    slots = f"{device(0, 16384)};{device(1, 32768)};"
    runtime = info((0, {"temp": SLICE}), (1, {"temp": "vir10_3c_32g"}))
    first = pod("p1", slots, runtime=runtime, containers=[container("a"), container("b")])

    one = _assigned(asks((0, 0)), world(first, annotations=lock("p1")))
    second = _with(first, _committed(one))
    two = _assigned(asks((0, 1)), world(second, annotations=lock("p1")))

    assert (one.container, one.npus, one.slice) == ("a", (0,), TemplateSlice(template=SLICE))
    assert _committed(one) == {"hami.io/Ascend910B3-devices-to-allocate": f";{device(1, 32768)};"}
    assert one.settle == ()
    assert (two.container, two.npus) == ("b", (1,))
    assert two.slice == TemplateSlice(template="vir10_3c_32g")
    assert _committed(two) == {
        "hami.io/Ascend910B3-devices-to-allocate": ";;",
        "hami.io/bind-phase": "success",
    }
    assert two.settle == REMOVED


def test_an_init_container_and_a_container_take_their_slots_in_turn() -> None:
    """AL-6: an empty slot between them keeps their places."""
    slots = f"{device(0, 16384)};;{device(0, 16384)};"
    init = pod(
        "p9",
        slots,
        runtime=info((0, {"temp": SLICE}), (0, {"temp": SLICE})),
        containers=[
            container("init-a", kind=ContainerKind.INIT),
            container("web", asks=0),
            container("main"),
        ],
    )

    one = _assigned(asks((0, 0)), world(init, annotations=lock("p9")))
    two = _assigned(asks((0, 0)), world(_with(init, _committed(one)), annotations=lock("p9")))

    assert (one.container, two.container) == ("init-a", "main")
    assert _committed(one) == {"hami.io/Ascend910B3-devices-to-allocate": f";;{device(0, 16384)};"}
    assert _committed(two) == {
        "hami.io/Ascend910B3-devices-to-allocate": ";;;",
        "hami.io/bind-phase": "success",
    }


def test_two_containers_on_one_device_have_their_own_quotas() -> None:
    """HAMi A3."""
    slots = f"{device(0, 4096, 20)};{device(0, 8192, 30)};"
    runtime = info((0, {"memory": 4096, "core": 20}), (0, {"memory": 8192, "core": 30}))
    first = pod(
        "p10",
        slots,
        runtime=runtime,
        annotations=SOFT,
        containers=[container("a"), container("b")],
    )
    hami = state(soft=True)

    one = _assigned(asks((0, 0)), world(first, hami=hami, annotations=lock("p10")))
    rest = _with(first, _committed(one))
    two = _assigned(asks((0, 1)), world(rest, hami=hami, annotations=lock("p10")))

    quotas = [
        (each.slice.memory_mib, each.slice.core_percent, each.slice.directory)
        for each in (one, two)
        if isinstance(each.slice, SoftSlice)
    ]
    assert quotas == [(4096, 20, "uid-10_a"), (8192, 30, "uid-10_b")]


def test_a_dense_slot_is_of_the_container_that_asks_and_an_ownerless_lock_goes() -> None:
    """As Volcano writes them; HAMi A9."""
    waits = pod(
        "p12",
        f"{device(6, 8192, 25)};",
        runtime=info((6, {"memory": 8192, "core": 25})),
        annotations=SOFT,
        containers=[container("proxy", asks=0), container("train")],
        namespace="ml",
    )
    ownerless = {"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}

    found = _assigned(asks((0, 0)), world(waits, hami=state(soft=True), annotations=ownerless))

    assert found.container == "train"
    assert isinstance(found.slice, SoftSlice)
    assert found.slice.directory == "uid-12_train"
    assert found.settle == (
        NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z"),
    )


def _with(before: Pod, annotations: Mapping[str, str | None]) -> Pod:
    changed = {key: value for key, value in annotations.items() if value is not None}
    return dataclasses.replace(before, annotations={**before.annotations, **changed})


# --- whose request it is -------------------------------------------------------------------


def test_the_owner_of_the_lock_is_served_though_another_waits_for_as_many() -> None:
    other = pod("p2", f"{device(1, 16384)};", bound_at=1)
    owner = pod("p1", X, bound_at=2)

    found = _assigned(asks((3, 0)), world(other, owner, annotations=lock("p1")))

    assert found.pod == owner.ref


def test_a_pod_that_waits_for_another_number_is_not_served() -> None:
    """HAMi A6; AL-1: two pods of different sizes got the slice of one of them."""
    two = pod("p2", f"{device(1, 65536)}{device(2, 65536)};", bound_at=1)
    one = pod("p1", X, bound_at=2)
    ownerless = {"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}

    found = _assigned(asks((3, 0)), world(two, one, annotations=ownerless))

    assert found.pod == one.ref


def test_a_pod_that_has_all_its_devices_is_left_alone() -> None:
    """HAMi A5: a pod that pulled its image was failed."""
    pulling = pod("p2", ";", allocated=X, annotations={"hami.io/bind-phase": "success"})
    waits = pod("p1", X)

    found = _assigned(asks((3, 0)), world(pulling, waits, annotations=lock("p1")))

    assert found.pod == waits.ref


def test_the_next_container_of_the_pod_served_last_needs_no_lock() -> None:
    """Though the lock was handed to another pod by then, after five minutes."""
    rest = pod(
        "p1",
        f";{device(1, 16384)};",
        allocated=f"{device(0, 16384)};{device(1, 16384)};",
        containers=[container("a"), container("b")],
    )
    seen = world(rest, pod("p2", X), annotations=lock("p2"), facts={"served": rest.uid})

    found = _assigned(asks((3, 0)), seen)

    assert (found.pod, found.container) == (rest.ref, "b")
    assert found.settle == (), "the lock is another pod's"


def test_the_pod_served_last_needs_nobody_to_be_asked_about_the_lock() -> None:
    """Its containers follow at once, and the lock's new owner may not have been seen yet."""
    rest = pod(
        "p1",
        f";{device(1, 16384)};",
        allocated=f"{device(0, 16384)};{device(1, 16384)};",
        containers=[container("a"), container("b")],
    )
    seen = world(rest, annotations=lock("new"), facts={"served": rest.uid})

    assert _assigned(asks((3, 0)), seen).container == "b"


def test_nothing_is_decided_while_nobody_waits() -> None:
    """The watch lags behind the kubelet: what is missing is read."""
    found = _unknown(asks((0, 0)), world(annotations=lock("p1")))

    assert found.pods == (PodKey(namespace="default", name="p1"),)
    assert found.otherwise.reason is RefusalReason.NO_POD
    assert found.otherwise.failure == ()
    assert "schedulerName" in found.otherwise.detail
    live = _unknown(asks((0, 0)), world(facts={"fresh": True}))
    assert "no pod of this node has devices" in live.otherwise.detail
    other = _unknown(asks((0, 0), (1, 0)), world(pod("p1", X)))
    assert "pods that wait want another number: default/p1 (1)" in other.otherwise.detail


def test_nothing_is_decided_while_the_lock_names_a_pod_nobody_has_seen() -> None:
    """HAMi A4: it may be the very pod that the kubelet asks for."""
    found = _unknown(asks((0, 0)), world(pod("p1", X), annotations=lock("new")))

    assert found.pods == (PodKey(namespace="default", name="new"),)
    assert "it may be for default/p1 (1), which could not be made sure of" in found.otherwise.detail
    assert "the node lock names 'default/new'" in found.otherwise.detail


def test_nothing_is_decided_while_nobody_knows_the_lock() -> None:
    found = _unknown(asks((0, 0)), world(pod("p1", X), facts={"node": None}))

    assert found.pods == ()


def test_of_two_that_might_be_meant_the_choice_waits_for_a_live_look() -> None:
    """Without a lock, as Volcano by default: sizes are equal, so the order of binding decides."""
    first, second = pod("p1", X, bound_at=1), pod("p2", f"{device(1, 16384)};", bound_at=2)

    assert isinstance(assign(asks((5, 0)), world(first, second)), NeedFresh)
    found = _assigned(asks((5, 0)), world(first, second, facts={"fresh": True}))
    assert found.pod == first.ref


@pytest.mark.parametrize(
    "others",
    [
        {PodKey(namespace="default", name="gone"): None},
        {PodKey(namespace="default", name="gone"): pod("gone", X, phase=PodPhase.FAILED)},
        {PodKey(namespace="default", name="gone"): pod("gone", ";", terminating=True)},
    ],
    ids=["deleted", "failed", "being deleted"],
)
def test_a_lock_of_a_pod_that_is_gone_goes_with_the_pod_that_is_served(
    others: Mapping[PodKey, Pod | None],
) -> None:
    """HAMi A4: 404 was fatal, and the lock was kept."""
    seen = world(pod("p1", X), annotations=lock("gone"), facts={"fresh": True, "others": others})

    found = _assigned(asks((0, 0)), seen)

    assert found.settle == (
        NodeAnnotationRemoval(
            key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z,default,gone"
        ),
    )


def test_a_lock_of_a_pod_that_is_still_being_bound_stays() -> None:
    """It was handed over after five minutes; the first pod's Allocate is still to come."""
    heir = PodKey(namespace="default", name="heir")
    unbound = pod("heir", f"{device(1, 16384)};", on=None)
    seen = world(
        pod("p1", X), annotations=lock("heir"), facts={"fresh": True, "others": {heir: unbound}}
    )

    found = _assigned(asks((0, 0)), seen)

    assert (found.pod, found.settle) == (pod("p1", X).ref, ())
    assert found.kept_lock == "2026-01-01T00:00:01Z,default,heir"


def test_strictly_nobody_but_the_owner_of_a_lock_is_served() -> None:
    strict = state(rules=HamiRules(strict_lock=True))
    other = pod("p2", X, bound_at=1)
    owner = pod("p1", f"{device(1, 16384)};", bound_at=2)

    both = world(other, owner, hami=strict, annotations=lock("p1"))
    alone = world(other, hami=strict, annotations=lock("p1"), facts={"fresh": True})
    unlocked = world(other, hami=strict, facts={"fresh": True})

    assert _assigned(asks((0, 0)), both).pod == owner.ref
    assert _assigned(asks((0, 0)), unlocked).pod == other.ref
    refused = _unknown(asks((0, 0)), alone).otherwise
    assert "--hami-strict-lock" in refused.detail
    assert "default/p2" in refused.detail


def test_strictly_an_owner_that_is_still_being_bound_is_waited_for() -> None:
    """Its own Allocate is still to come, so this one is of somebody else."""
    strict = state(rules=HamiRules(strict_lock=True))
    heir = PodKey(namespace="default", name="heir")
    unbound = pod("heir", f"{device(1, 16384)};", on=None)
    facts = {"fresh": True, "others": {heir: unbound}}

    seen = world(pod("p1", X), hami=strict, annotations=lock("heir"), facts=facts)

    assert "--hami-strict-lock" in _unknown(asks((0, 0)), seen).otherwise.detail


def test_strictly_an_owner_that_is_gone_is_none() -> None:
    strict = state(rules=HamiRules(strict_lock=True))
    other = pod("p2", X)
    gone = {PodKey(namespace="default", name="p1"): None}
    facts = {"fresh": True, "others": gone}

    found = _assigned(asks((0, 0)), world(other, hami=strict, annotations=lock("p1"), facts=facts))

    assert (found.pod, found.settle) == (other.ref, REMOVED)


def test_the_owner_of_the_lock_is_failed_where_it_waits_for_another_number() -> None:
    """And nobody else: whose request it is can't be told (HAMi A5)."""
    owner = pod("p1", f"{device(0, 65536)}{device(1, 65536)};")
    found = _unknown(asks((0, 0)), world(owner, annotations=lock("p1"))).otherwise

    phase: dict[str, str | None] = {"hami.io/bind-phase": "failed"}
    assert found.pod == owner.ref
    assert found.failure == (
        PodEdit(pod=owner.key, uid=owner.uid, labels={}, annotations=phase),
        *REMOVED,
    )
    assert "1 device(s)" in found.detail
    assert "chose 2" in found.detail


def test_nobody_is_failed_where_the_lock_names_no_pod_that_waits() -> None:
    other = pod("p1", f"{device(0, 65536)}{device(1, 65536)};")
    for annotations in ({}, lock("gone"), {"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}):
        found = _unknown(asks((0, 0)), world(other, annotations=annotations)).otherwise

        assert (found.pod, found.failure) == (None, ())
        assert "default/p1 (2)" in found.detail


# --- what is refused -----------------------------------------------------------------------


def test_a_device_of_another_node_is_refused_and_its_pod_failed() -> None:
    waits = pod("p1", f"{device(0xFFFF, 16384)};", runtime=info((0xFFFF, {"temp": SLICE})))

    found = _refused(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.reason is RefusalReason.UNKNOWN_DEVICE
    assert found.pod == waits.ref
    phase: dict[str, str | None] = {"hami.io/bind-phase": "failed"}
    assert found.failure == (
        PodEdit(pod=waits.key, uid=waits.uid, labels={}, annotations=phase),
        *REMOVED,
    )


def test_a_failure_leaves_the_lock_of_another_pod_alone() -> None:
    """AL-3."""
    rest = pod("p1", f"{device(0xFFFF, 16384)};")
    seen = world(rest, pod("p2", X), annotations=lock("p2"), facts={"served": rest.uid})

    found = _refused(asks((0, 0)), seen)

    assert [type(edit) for edit in found.failure] == [PodEdit]


def test_a_sick_device_is_refused_unless_that_is_wanted() -> None:
    """HAMi B6: older schedulers look at no device's health."""
    waits, sick = pod("p1", X), node_view(sick=[0])
    lax = state(rules=HamiRules(refuse_unhealthy=False))

    found = _refused(asks((1, 0)), world(waits, view=sick, annotations=lock("p1")))

    assert found.reason is RefusalReason.UNHEALTHY_DEVICE
    assert "--hami-refuse-unhealthy" in found.detail
    passed = _assigned(asks((1, 0)), world(waits, view=sick, hami=lax, annotations=lock("p1")))
    assert "it passes by --hami-refuse-unhealthy=false" in passed.remarks[0]
    other = world(waits, view=node_view(sick=[5]), hami=lax, annotations=lock("p1"))
    assert _assigned(asks((1, 0)), other).remarks == ()


def test_the_health_of_the_devices_that_the_kubelet_names_says_nothing() -> None:
    """KL-10: they are arbitrary ones."""
    seen = world(pod("p1", X), view=node_view(sick=[5]), annotations=lock("p1"))

    assert _assigned(asks((5, 1)), seen).npus == (0,)


@pytest.mark.parametrize(
    "request_",
    [
        asks((0, 4)),
        asks((9, 0)),
        AllocationRequest(resource=CHIP_910B3.resource, devices=(PluginDeviceId("Ascend910-0"),)),
        AllocationRequest(resource=CHIP_910B3.resource, devices=(PluginDeviceId("x" * 63),)),
    ],
    ids=["no such share", "no such NPU", "another plugin's", "no name at all"],
)
def test_an_id_that_is_not_offered_is_refused_and_named(request_: AllocationRequest) -> None:
    found = _refused(request_, world(pod("p1", X), annotations=lock("p1")))

    assert found.reason is RefusalReason.UNKNOWN_DEVICE
    assert request_.devices[0] in found.detail
    assert found.failure == ()


def test_an_id_twice_and_none_at_all_are_refused() -> None:
    seen = world(pod("p1", X), annotations=lock("p1"))
    nothing = AllocationRequest(resource=CHIP_910B3.resource, devices=())

    assert _refused(asks((0, 0), (0, 0)), seen).reason is RefusalReason.DUPLICATE_DEVICE
    assert _refused(nothing, seen).reason is RefusalReason.NO_DEVICE


def test_nothing_is_assigned_while_no_chip_is_configured() -> None:
    seen = dataclasses.replace(world(pod("p1", X)), hami=None)

    assert _refused(asks((0, 0)), seen).reason is RefusalReason.NOT_READY


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("huawei.com/Ascend910B3", "{"),
        ("hami.io/Ascend910B3-devices-allocated", "U,w,x,0:;"),
    ],
)
def test_an_annotation_that_can_not_be_read_is_refused_and_named(key: str, text: str) -> None:
    waits = pod("p1", X, annotations={key: text})

    found = _refused(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.reason is RefusalReason.BAD_ANNOTATION
    assert key in found.detail
    assert found.failure


def test_a_template_of_several_devices_is_refused_early() -> None:
    """HAMi D2: the container would not have been created."""
    slots = f"{device(0, 16384)}{device(1, 16384)};"
    waits = pod("p1", slots, runtime=info((0, {"temp": SLICE}), (1, {"temp": SLICE})))

    found = _refused(asks((0, 0), (1, 0)), world(waits, annotations=lock("p1")))

    assert found.reason is RefusalReason.BAD_MODE
    assert SLICE in found.detail


# --- what stands in for runtime info -------------------------------------------------------


@pytest.mark.parametrize(
    ("chip", "memory", "template"),
    [
        (CHIP_910B3, 16384, "vir05_1c_16g"),
        (CHIP_910B3, 20000, "vir10_3c_32g"),
        (CHIP_910B3, 65536, None),
        (CHIP_310P, 4096, "vir02"),
        (CHIP_310P, 21527, None),
    ],
)
def test_without_runtime_info_the_slot_says_the_template(
    chip: HamiChip, memory: int, template: str | None
) -> None:
    waits = pod("p1", f"{device(0, memory, word=chip.word)};", chip=chip)
    wanted: Slice = TemplateSlice(template=template) if template else WholeSlice()

    found = _assigned(
        asks((0, 0), chip=chip), world(waits, hami=state(chip), annotations=lock("p1"))
    )

    assert found.slice == wanted


def test_a_template_that_nobody_configured_is_passed_on() -> None:
    """The driver may know more names than the configuration."""
    waits = pod("p1", X, runtime=info((0, {"temp": "vir99"})))

    found = _assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.slice == TemplateSlice(template="vir99")


@pytest.mark.parametrize(
    "entries", [[], [(1, {"temp": "vir10_3c_32g"})]], ids=["none", "another's"]
)
def test_an_entry_that_is_not_of_the_device_is_none(
    entries: Sequence[tuple[int, Mapping[str, object]]],
) -> None:
    waits = pod("p1", X, runtime=info(*entries))

    found = _assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.slice == TemplateSlice(template=SLICE)


def test_a_pod_without_a_grant_on_record_gets_what_its_slot_says() -> None:
    waits = pod("p1", X, annotations={"hami.io/Ascend910B3-devices-allocated": None}, uid="u")

    found = _assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert (found.slice, found.container) == (TemplateSlice(template=SLICE), "")


def test_a_soft_slice_of_an_unknown_container_has_a_directory_of_its_slot() -> None:
    """Each container has its own, and a name without a container would be refused."""
    unknown = {"hami.io/Ascend910B3-devices-allocated": None, **SOFT}
    waits = pod("p1", f";{X}", annotations=unknown, uid="u")

    found = _assigned(asks((0, 0)), world(waits, hami=state(soft=True), annotations=lock("p1")))

    assert isinstance(found.slice, SoftSlice)
    assert (found.container, found.slice.directory) == ("", "u_slot1")
