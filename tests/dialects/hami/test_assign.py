"""What a container gets of the devices that the scheduler chose, and what is edited for it."""

import dataclasses
from collections.abc import Mapping, Sequence

import pytest

from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    RefusalReason,
)
from ascend_agent.model.cluster import NodeAnnotationRemoval, PodEdit
from ascend_agent.model.hami import HamiChip, HamiRules
from ascend_agent.model.ids import PluginDeviceId
from ascend_agent.model.pods import ContainerKind, Pod, PodPhase
from ascend_agent.model.slices import Slice, SoftSlice, TemplateSlice, WholeSlice
from tests.dialects.hami.decided import REMOVED, assigned, refused
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


def _committed(found: Assignment) -> Mapping[str, str | None]:
    (edit,) = found.commit
    assert isinstance(edit, PodEdit)
    assert not edit.labels
    return edit.annotations


# --- what a container gets -----------------------------------------------------------------


def test_a_template_slice() -> None:
    waits = pod("p1", X, runtime=info((0, {"temp": SLICE})))

    found = assigned(asks((5, 2)), world(waits, annotations=lock("p1")))

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
            expects={
                "hami.io/Ascend910B3-devices-to-allocate": X,
                "hami.io/bind-phase": "allocating",
            },
        ),
    )
    assert found.settle == REMOVED


def test_a_whole_card() -> None:
    """Without memory in the request, and in runtime info neither template nor memory."""
    waits = pod("p2", f"{device(2, 65536)};", runtime=info((2, {})))

    found = assigned(asks((0, 0)), world(waits, annotations=lock("p2")))

    assert (found.npus, found.slice) == ((2,), WholeSlice())


def test_cards_ascend_whatever_the_scheduler_wrote() -> None:
    """AL-13, HAMi E4."""
    slots = "".join(device(each, 65536) for each in (7, 6, 5, 4)) + ";"
    waits = pod("p3", slots, runtime=info(*((each, {}) for each in (7, 6, 5, 4))))

    found = assigned(asks((0, 0), (0, 1), (1, 3), (6, 2)), world(waits, annotations=lock("p3")))

    assert found.npus == (4, 5, 6, 7)


def test_a_template_of_another_chip() -> None:
    chip = CHIP_310P
    waits = pod(
        "p4",
        f"{device(1, 6144, word='Ascend310P')};",
        runtime=info((1, {"temp": "vir02"})),
        chip=chip,
    )

    found = assigned(
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

    found = assigned(asks((0, 1)), world(waits, hami=state(soft=True), annotations=lock("p5")))

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

    found = assigned(
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

    found = assigned(
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

    found = assigned(
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

    told = assigned(asks((0, 0)), world(soft, other, hami=hami, annotations=lock("p1")))
    alone = assigned(asks((0, 0)), world(soft, hami=hami, annotations=lock("p1")))
    hard = assigned(asks((0, 0)), world(pod("p1", X), other, annotations=lock("p1")))

    assert "default/p2" in told.remarks[0]
    assert (alone.remarks, hard.remarks) == ((), ())


# --- several containers --------------------------------------------------------------------


def test_two_containers_are_two_calls_and_the_lock_goes_after_the_last() -> None:
    """AL-5, HAMi A1: the second container took the devices of another pod."""
    slots = f"{device(0, 16384)};{device(1, 32768)};"
    runtime = info((0, {"temp": SLICE}), (1, {"temp": "vir10_3c_32g"}))
    first = pod("p1", slots, runtime=runtime, containers=[container("a"), container("b")])

    one = assigned(asks((0, 0)), world(first, annotations=lock("p1")))
    second = _with(first, _committed(one))
    two = assigned(asks((0, 1)), world(second, annotations=lock("p1")))

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

    one = assigned(asks((0, 0)), world(init, annotations=lock("p9")))
    two = assigned(asks((0, 0)), world(_with(init, _committed(one)), annotations=lock("p9")))

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

    one = assigned(asks((0, 0)), world(first, hami=hami, annotations=lock("p10")))
    rest = _with(first, _committed(one))
    two = assigned(asks((0, 1)), world(rest, hami=hami, annotations=lock("p10")))

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

    found = assigned(asks((0, 0)), world(waits, hami=state(soft=True), annotations=ownerless))

    assert found.container == "train"
    assert isinstance(found.slice, SoftSlice)
    assert found.slice.directory == "uid-12_train"
    assert found.settle == (
        NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z"),
    )


def _with(before: Pod, annotations: Mapping[str, str | None]) -> Pod:
    changed = {key: value for key, value in annotations.items() if value is not None}
    return dataclasses.replace(before, annotations={**before.annotations, **changed})


# --- what is refused -----------------------------------------------------------------------


def test_a_device_of_another_node_is_refused_and_its_pod_failed() -> None:
    waits = pod("p1", f"{device(0xFFFF, 16384)};", runtime=info((0xFFFF, {"temp": SLICE})))

    found = refused(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.reason is RefusalReason.UNKNOWN_DEVICE
    assert found.pod == waits.ref
    phase: dict[str, str | None] = {"hami.io/bind-phase": "failed"}
    assert found.failure == (
        PodEdit(pod=waits.key, uid=waits.uid, labels={}, annotations=phase),
        *REMOVED,
    )


def test_a_sick_device_is_refused_unless_that_is_wanted() -> None:
    """HAMi B6: older schedulers look at no device's health."""
    waits, sick = pod("p1", X), node_view(sick=[0])
    lax = state(rules=HamiRules(refuse_unhealthy=False))

    found = refused(asks((1, 0)), world(waits, view=sick, annotations=lock("p1")))

    assert found.reason is RefusalReason.UNHEALTHY_DEVICE
    assert "--hami-refuse-unhealthy" in found.detail
    passed = assigned(asks((1, 0)), world(waits, view=sick, hami=lax, annotations=lock("p1")))
    assert "it passes by --hami-refuse-unhealthy=false" in passed.remarks[0]
    other = world(waits, view=node_view(sick=[5]), hami=lax, annotations=lock("p1"))
    assert assigned(asks((1, 0)), other).remarks == ()


def test_the_health_of_the_devices_that_the_kubelet_names_says_nothing() -> None:
    """KL-10: they are arbitrary ones."""
    seen = world(pod("p1", X), view=node_view(sick=[5]), annotations=lock("p1"))

    assert assigned(asks((5, 1)), seen).npus == (0,)


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
    found = refused(request_, world(pod("p1", X), annotations=lock("p1")))

    assert found.reason is RefusalReason.UNKNOWN_DEVICE
    assert request_.devices[0] in found.detail
    assert found.failure == ()


def test_an_id_twice_and_none_at_all_are_refused() -> None:
    seen = world(pod("p1", X), annotations=lock("p1"))
    nothing = AllocationRequest(resource=CHIP_910B3.resource, devices=())

    assert refused(asks((0, 0), (0, 0)), seen).reason is RefusalReason.DUPLICATE_DEVICE
    assert refused(nothing, seen).reason is RefusalReason.NO_DEVICE


def test_nothing_is_assigned_while_no_chip_is_configured() -> None:
    seen = dataclasses.replace(world(pod("p1", X)), hami=None)

    assert refused(asks((0, 0)), seen).reason is RefusalReason.NOT_READY


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("huawei.com/Ascend910B3", "{"),
        ("hami.io/Ascend910B3-devices-allocated", "U,w,x,0:;"),
    ],
)
def test_an_annotation_that_can_not_be_read_is_refused_and_named(key: str, text: str) -> None:
    waits = pod("p1", X, annotations={key: text})

    found = refused(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.reason is RefusalReason.BAD_ANNOTATION
    assert key in found.detail
    assert found.failure


def test_a_template_of_several_devices_is_refused_early() -> None:
    """HAMi D2: the container would not have been created."""
    slots = f"{device(0, 16384)}{device(1, 16384)};"
    waits = pod("p1", slots, runtime=info((0, {"temp": SLICE}), (1, {"temp": SLICE})))

    found = refused(asks((0, 0), (1, 0)), world(waits, annotations=lock("p1")))

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

    found = assigned(
        asks((0, 0), chip=chip), world(waits, hami=state(chip), annotations=lock("p1"))
    )

    assert found.slice == wanted


def test_a_template_that_nobody_configured_is_passed_on() -> None:
    """The driver may know more names than the configuration."""
    waits = pod("p1", X, runtime=info((0, {"temp": "vir99"})))

    found = assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.slice == TemplateSlice(template="vir99")


@pytest.mark.parametrize(
    "entries", [[], [(1, {"temp": "vir10_3c_32g"})]], ids=["none", "another's"]
)
def test_an_entry_that_is_not_of_the_device_is_none(
    entries: Sequence[tuple[int, Mapping[str, object]]],
) -> None:
    waits = pod("p1", X, runtime=info(*entries))

    found = assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert found.slice == TemplateSlice(template=SLICE)


def test_a_pod_without_a_grant_on_record_gets_what_its_slot_says() -> None:
    waits = pod("p1", X, annotations={"hami.io/Ascend910B3-devices-allocated": None}, uid="u")

    found = assigned(asks((0, 0)), world(waits, annotations=lock("p1")))

    assert (found.slice, found.container) == (TemplateSlice(template=SLICE), "")


def test_a_soft_slice_of_an_unknown_container_has_a_directory_of_its_slot() -> None:
    """Each container has its own, and a name without a container would be refused."""
    unknown = {"hami.io/Ascend910B3-devices-allocated": None, **SOFT}
    waits = pod("p1", f";{X}", annotations=unknown, uid="u")

    found = assigned(asks((0, 0)), world(waits, hami=state(soft=True), annotations=lock("p1")))

    assert isinstance(found.slice, SoftSlice)
    assert (found.container, found.slice.directory) == ("", "u_slot1")
