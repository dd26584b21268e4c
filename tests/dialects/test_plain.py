from dataclasses import replace

import pytest

from ascend_agent import chips
from ascend_agent.dialects.plain import DIALECT
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    Holder,
    PreferenceRequest,
    RefusalReason,
    Refused,
)
from ascend_agent.model.cluster import NodeEdit, NodeObject
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.health import ActiveFault, HealthState, NodeView, UnhealthyReason
from ascend_agent.model.ids import (
    Millis,
    NodeName,
    ObjectVersion,
    PhyId,
    PluginDeviceId,
    ResourceName,
)
from ascend_agent.model.npu import ChipIdentity, DriverPhase, DriverState
from ascend_agent.model.world import NodeWorld, SharePolicy, World
from tests.model.samples import Place, make_chip, make_npu, make_view, make_world, placed

NODE = {n: Place(card=n // 2, slot=n % 2) for n in range(4)}
WORLD = make_world(placed(NODE))
SHARED = make_world(placed(NODE), shares=4)
RESOURCE = WORLD.resource


def ask(*devices: str) -> AllocationRequest:
    return AllocationRequest(resource=RESOURCE, devices=tuple(map(PluginDeviceId, devices)))


def assigned(world: World, *devices: str) -> tuple[PhyId, ...]:
    answer = DIALECT.assign(ask(*devices), world)
    assert isinstance(answer, Assignment), answer
    assert answer.resource == RESOURCE
    return answer.npus


def refused(world: World, *devices: str) -> Refused:
    answer = DIALECT.assign(ask(*devices), world)
    assert isinstance(answer, Refused), answer
    return answer


def prefer(
    world: World, available: list[str], size: int, *, must: tuple[str, ...] = ()
) -> list[str]:
    request = PreferenceRequest(
        resource=RESOURCE,
        available=tuple(map(PluginDeviceId, available)),
        must_include=tuple(map(PluginDeviceId, must)),
        size=size,
    )
    return list(DIALECT.prefer(request, world))


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chip", "resource"),
    [
        (make_chip("310"), "huawei.com/Ascend310"),
        (make_chip("310B4"), "huawei.com/Ascend310"),
        (make_chip("310P3"), "huawei.com/Ascend310P"),
        (make_chip("910ProB"), "huawei.com/Ascend910"),
        (make_chip("910B3"), "huawei.com/Ascend910"),
        (make_chip("Ascend910", board=0xB0), "huawei.com/Ascend910"),
        (make_chip("Ascend950PR"), "huawei.com/npu"),
    ],
)
def test_a_chip_is_offered_under_its_mindcluster_name(chip: ChipIdentity, resource: str) -> None:
    spec = chips.identify(chip)
    assert spec is not None

    word = DIALECT.word_of(make_npu(0, chip=chip), spec)

    assert word in DIALECT.words
    assert DIALECT.resource_of(word) == resource


# --- assign ---------------------------------------------------------------------------------


def test_npus_are_given_in_ascending_order() -> None:
    """AL-13: the kubelet's order is arbitrary, the container's numbering is not."""
    assert assigned(WORLD, "Ascend910-3", "Ascend910-0", "Ascend910-2") == (0, 2, 3)


def test_two_shares_of_one_npu_are_one_npu() -> None:
    devices = ("Ascend910-1-3", "Ascend910-1-0", "Ascend910-0-2")

    assert assigned(SHARED, *devices) == (0, 1)


def test_as_many_ids_as_can_be_asked_for_are_given() -> None:
    world = make_world(placed({n: Place() for n in range(8)}), shares=100)
    devices = [f"Ascend910-{npu}-{share}" for npu in range(8) for share in range(100)]

    assert assigned(world, *devices) == tuple(range(8))


@pytest.mark.parametrize(
    ("world", "devices", "reason", "texts"),
    [
        pytest.param(WORLD, [], RefusalReason.NO_DEVICE, ["0 devices", RESOURCE], id="none"),
        pytest.param(
            WORLD,
            ["Ascend910-0"] * 801,
            RefusalReason.TOO_MANY_DEVICES,
            ["801", "800", RESOURCE],
            id="too many",
        ),
        pytest.param(
            WORLD,
            ["Ascend910-0", "Ascend910-9"],
            RefusalReason.UNKNOWN_DEVICE,
            ["'Ascend910-9'", "0, 1, 2, 3", "recreate the pod"],
            id="an NPU that is not here",
        ),
        pytest.param(
            WORLD,
            ["Ascend910-0-1"],
            RefusalReason.UNKNOWN_DEVICE,
            ["'Ascend910-0-1'", "1 share"],
            id="a share where NPUs are whole",
        ),
        pytest.param(
            SHARED,
            ["Ascend910-0-4"],
            RefusalReason.UNKNOWN_DEVICE,
            ["'Ascend910-0-4'", "4 share"],
            id="a share too far",
        ),
        pytest.param(
            make_world([]),
            ["Ascend910-0"],
            RefusalReason.UNKNOWN_DEVICE,
            ["'Ascend910-0'", "no NPU"],
            id="nothing on offer",
        ),
        pytest.param(
            WORLD,
            ["Ascend910-0\n" + "x" * 200],
            RefusalReason.UNKNOWN_DEVICE,
            ["'Ascend910-0\\n" + "x" * 68 + "...'"],
            id="a foreign text is cut at 80 characters",
        ),
        pytest.param(
            WORLD,
            ["Ascend910-0", "Ascend910-0"],
            RefusalReason.DUPLICATE_DEVICE,
            ["'Ascend910-0'", "twice"],
            id="the same id twice",
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    world: World, devices: list[str], reason: RefusalReason, texts: list[str]
) -> None:
    """The detail reaches the pod's event, so it names id, value and remedy."""
    answer = refused(world, *devices)

    assert answer.reason is reason
    assert not [text for text in texts if text not in answer.detail]
    assert ": " in answer.detail


@pytest.mark.parametrize(
    ("reasons", "faults", "text"),
    [
        ((UnhealthyReason.DRIVER_UNRESPONSIVE,), (), "(driver-unresponsive)"),
        (
            (UnhealthyReason.FAULT, UnhealthyReason.DCMI_HEALTH),
            (
                (0x80E01801, FaultLevel.RESTART_BUSINESS, True),
                (0x81078603, FaultLevel.NOT_HANDLE, False),
            ),
            "(fault 80E01801 RestartBusiness, dcmi-health)",
        ),
    ],
)
def test_an_npu_out_of_service_is_refused_with_every_reason(
    reasons: tuple[UnhealthyReason, ...],
    faults: tuple[tuple[int, FaultLevel, bool], ...],
    text: str,
) -> None:
    view = replace(
        make_view(make_npu(1), *reasons),
        faults=tuple(
            ActiveFault(code=FaultCode(code), level=level, isolates=isolates, since_ms=Millis(0))
            for code, level, isolates in faults
        ),
    )
    world = make_world([make_view(make_npu(0)), view])

    answer = refused(world, "Ascend910-0", "Ascend910-1")

    assert answer.reason is RefusalReason.UNHEALTHY_DEVICE
    assert "'Ascend910-1'" in answer.detail
    assert text in answer.detail
    assert "recreate the pod" in answer.detail


def test_an_npu_that_only_the_offer_calls_unhealthy_is_refused_too() -> None:
    """The kubelet's list is what counts, even where the view gives no reason."""
    groups = tuple(replace(group, healthy=False) for group in WORLD.groups)

    answer = refused(replace(WORLD, groups=groups), "Ascend910-0")

    assert answer.reason is RefusalReason.UNHEALTHY_DEVICE
    assert "no reason known" in answer.detail


CLOSING = replace(
    SHARED,
    view=replace(
        SHARED.view,
        npus=(
            replace(
                SHARED.view.npus[0],
                kept=frozenset({2}),
                faults=(
                    ActiveFault(
                        code=FaultCode(0x80E3A203),
                        level=FaultLevel.PRE_SEPARATE_NPU,
                        isolates=False,
                        since_ms=Millis(0),
                    ),
                ),
            ),
            *SHARED.view.npus[1:],
        ),
    ),
    groups=(replace(SHARED.groups[0], kept=frozenset({2})), *SHARED.groups[1:]),
)


def test_a_share_that_is_closed_is_refused_and_one_that_is_kept_is_not() -> None:
    """PreSeparateNPU: no new containers. The kubelet may be a list behind."""
    assert assigned(CLOSING, "Ascend910-0-2") == (0,)

    answer = refused(CLOSING, "Ascend910-0-3")

    assert answer.reason is RefusalReason.UNHEALTHY_DEVICE
    assert "fault 80E3A203 PreSeparateNPU" in answer.detail
    assert "takes no others" in answer.detail


def test_a_closed_share_is_not_recommended() -> None:
    every = [f"Ascend910-{npu}-{share}" for npu in (0, 1) for share in range(4)]

    picked = prefer(replace(CLOSING, share_policy=SharePolicy.PACK), every, 6)

    assert sorted(picked) == ["Ascend910-0-2", *(f"Ascend910-1-{share}" for share in range(4))]


# --- prefer ---------------------------------------------------------------------------------

WHOLE = [f"Ascend910-{npu}" for npu in range(4)]
SHARES = [f"Ascend910-{npu}-{share}" for npu in range(4) for share in range(4)]
PACKED = replace(SHARED, share_policy=SharePolicy.PACK)
SICK = make_world(
    [
        make_view(make_npu(0, place=NODE[0]), UnhealthyReason.FAULT),
        *placed(NODE)[1:],
    ]
)


@pytest.mark.parametrize(
    ("world", "available", "size", "must", "chosen"),
    [
        pytest.param(WORLD, WHOLE, 1, (), ["Ascend910-0"], id="one"),
        pytest.param(WORLD, WHOLE[1:], 2, (), ["Ascend910-2", "Ascend910-3"], id="two on one card"),
        pytest.param(
            WORLD,
            WHOLE,
            2,
            ("Ascend910-3",),
            ["Ascend910-3", "Ascend910-2"],
            id="near what must be included",
        ),
        pytest.param(
            WORLD,
            WHOLE[:2],
            2,
            ("Ascend910-3",),
            ["Ascend910-3", "Ascend910-0"],
            id="not available",
        ),
        pytest.param(WORLD, WHOLE, 1, ("Ascend910-3",), ["Ascend910-3"], id="no more than must"),
        pytest.param(
            WORLD,
            WHOLE,
            1,
            ("Ascend910-3", "Ascend910-1"),
            ["Ascend910-3"],
            id="must be more than can be",
        ),
        pytest.param(WORLD, WHOLE, 0, (), [], id="none"),
        pytest.param(WORLD, WHOLE, -3, ("Ascend910-3",), [], id="less than none"),
        pytest.param(WORLD, WHOLE, 800, (), WHOLE, id="more than there are"),
        pytest.param(WORLD, WHOLE, 801, (), [], id="more than can be given"),
        pytest.param(
            WORLD,
            ["Ascend910-7", "nonsense", "Ascend910-1", "Ascend910-1"],
            2,
            ("nonsense",),
            ["Ascend910-1"],
            id="ids that mean nothing",
        ),
        pytest.param(WORLD, [], 1, (), [], id="nothing available"),
        pytest.param(make_world([]), WHOLE, 1, (), [], id="nothing on offer"),
        pytest.param(SICK, WHOLE, 1, (), ["Ascend910-1"], id="none that is unhealthy by now"),
        pytest.param(
            SICK,
            WHOLE,
            2,
            ("Ascend910-0",),
            ["Ascend910-0", "Ascend910-1"],
            id="unless it must be included",
        ),
        pytest.param(
            SHARED,
            SHARES,
            3,
            (),
            ["Ascend910-0-0", "Ascend910-1-0", "Ascend910-2-0"],
            id="shares spread",
        ),
        pytest.param(
            PACKED,
            SHARES,
            3,
            (),
            ["Ascend910-0-0", "Ascend910-0-1", "Ascend910-0-2"],
            id="shares packed",
        ),
        pytest.param(
            PACKED, SHARES[1:], 1, (), ["Ascend910-0-1"], id="shares packed onto what is in use"
        ),
        pytest.param(SHARED, SHARES[1:], 1, (), ["Ascend910-1-0"], id="shares spread onto idle"),
    ],
)
def test_the_kubelet_is_advised(
    world: World, available: list[str], size: int, must: tuple[str, ...], chosen: list[str]
) -> None:
    """Whatever it asks, it gets the best answer there is, never an error."""
    assert prefer(world, available, size, must=must) == chosen


def test_an_npu_without_a_view_is_passed_over() -> None:
    """Its place is unknown then, and it is about to leave the list."""
    world = replace(WORLD, view=make_world(placed({1: NODE[1]})).view)

    assert prefer(world, WHOLE, 2, must=("Ascend910-0",)) == ["Ascend910-1"]


def test_whole_npus_do_not_heed_the_share_policy() -> None:
    packed = replace(WORLD, share_policy=SharePolicy.PACK)

    assert prefer(packed, WHOLE[1:], 2) == prefer(WORLD, WHOLE[1:], 2)


# --- holders --------------------------------------------------------------------------------


def holder(pod: str, container: str = "main") -> Holder:
    return Holder(namespace="jobs", pod=pod, container=container)


def test_holders_are_found_by_their_ids() -> None:
    held = {
        RESOURCE: {
            PluginDeviceId("Ascend910-3-0"): holder("b"),
            PluginDeviceId("Ascend910-3-1"): holder("b"),
            PluginDeviceId("Ascend910-3-2"): holder("a", "side"),
            PluginDeviceId("Ascend910-1-0"): holder("a"),
            PluginDeviceId("Ascend910-0"): holder("old"),  # from before the NPU was shared
            PluginDeviceId("nonsense"): holder("c"),
        },
        ResourceName("example.com/gpu"): {PluginDeviceId("Ascend910-2-0"): holder("d")},
    }

    answer = DIALECT.holders(held, [SHARED, make_world([], word="npu")])

    assert answer.known
    assert dict(answer.holders) == {
        0: (holder("old"),),
        1: (holder("a"),),
        3: (holder("a", "side"), holder("b")),
    }
    assert list(answer.holders) == [0, 1, 3]
    assert dict(answer.shares) == {0: set(), 1: {0}, 3: {0, 1, 2}}


@pytest.mark.parametrize(
    ("device", "world", "shares"),
    [
        ("Ascend910-0", WORLD, {0}),
        ("Ascend910-0-0", WORLD, set()),  # the whole NPU is nobody's: it was shared before
        ("Ascend910-0-3", SHARED, {3}),
        ("Ascend910-0-4", SHARED, set()),
        ("Ascend910-0", SHARED, set()),
        ("Ascend910-0-9", make_world([]), {9}),
        ("Ascend910-0", make_world([]), {0}),
    ],
)
def test_a_share_is_held_under_its_name_of_today_alone(
    device: str, world: World, shares: set[int]
) -> None:
    """A pod from before the number of shares changed holds its NPU, but no id of today."""
    answer = DIALECT.holders({RESOURCE: {PluginDeviceId(device): holder("a")}}, [world])

    assert dict(answer.holders) == {0: (holder("a"),)}
    assert dict(answer.shares) == {0: shares}


def test_no_pods_is_known_to_be_nobody() -> None:
    answer = DIALECT.holders({}, [WORLD])

    assert answer.known
    assert not answer.holders


def test_a_sub_healthy_npu_is_given() -> None:
    view = replace(make_view(make_npu(0)), state=HealthState.SUB_HEALTHY)

    assert assigned(make_world([view]), "Ascend910-0") == (0,)


# --- the report -----------------------------------------------------------------------------


def test_the_report_is_the_labels_about_the_npus_and_nothing_else() -> None:
    node = NodeObject(
        name=NodeName("n1"),
        uid="u",
        version=ObjectVersion("1"),
        labels={},
        annotations={},
        live=True,
    )
    world = NodeWorld(
        view=WORLD.view,
        specs={spec.generation: spec for spec in chips.SPECS},
        driver=DriverState(phase=DriverPhase.READY, dcmi_version="no label"),
        node=node,
        now=Millis(0),
    )

    report = DIALECT.report(world)

    (edit,) = report.edits
    assert isinstance(edit, NodeEdit)
    assert edit.annotations == {}
    assert edit.labels["node.kubernetes.io/npu.chip.name"] == "910B3"
    assert len(report.left_out) == 1
    assert DIALECT.report(replace(world, view=NodeView(generation=2, npus=()))).edits == ()
