"""How much of its devices a container gets, by pod, node and runtime info."""

import dataclasses
from collections.abc import Mapping

import pytest

from ascend_agent.dialects.hami.assign import assign
from ascend_agent.model.allocation import Assignment, NeedFresh, RefusalReason, Refused
from ascend_agent.model.hami import HamiRules, HamiState, PodMode
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer
from ascend_agent.model.slices import SoftSlice, TemplateSlice, WholeSlice
from tests.fakes.hami import (
    CHIP_310P,
    CHIP_910B3,
    asks,
    container,
    device,
    info,
    lock,
    pod,
    state,
    world,
)

SLICE = "vir05_1c_16g"
SOFT = {"huawei.com/vnpu-mode": "hami-core"}
BEFORE_210 = info((0, {"temp": SLICE}))
SINCE_210 = info((0, {"temp": SLICE, "memory": 16384}))


def _outcome(waits: Pod, hami: HamiState) -> Assignment | Refused:
    found = assign(asks((0, 0)), world(waits, hami=hami, annotations=lock("p1")))
    assert isinstance(found, Assignment | Refused), found
    return found


def _slice(waits: Pod, hami: HamiState) -> object:
    found = _outcome(waits, hami)
    assert isinstance(found, Assignment), found
    return type(found.slice)


def _pod(runtime: str | None, annotations: Mapping[str, str] | None = None) -> Pod:
    return pod("p1", f"{device(0, 16384)};", runtime=runtime, annotations=annotations)


def _rules(mode: PodMode) -> HamiRules:
    return HamiRules(pod_mode=mode)


@pytest.mark.parametrize(
    ("soft_node", "annotations", "runtime", "mode", "slice_"),
    [
        (True, SOFT, SINCE_210, PodMode.AUTO, SoftSlice),
        (False, SOFT, SINCE_210, PodMode.AUTO, SoftSlice),
        (False, {}, SINCE_210, PodMode.AUTO, TemplateSlice),
        (True, {}, SINCE_210, PodMode.AUTO, SoftSlice),
        (True, {}, BEFORE_210, PodMode.AUTO, TemplateSlice),
        (True, {}, None, PodMode.AUTO, TemplateSlice),
        (True, {}, BEFORE_210, PodMode.ALWAYS, SoftSlice),
        (False, {}, BEFORE_210, PodMode.ALWAYS, TemplateSlice),
        (True, {}, SINCE_210, PodMode.NEVER, TemplateSlice),
        (True, SOFT, SINCE_210, PodMode.NEVER, SoftSlice),
        (True, {"huawei.com/vnpu-mode": ""}, SINCE_210, PodMode.AUTO, SoftSlice),
        (True, {"huawei.com/vnpu-mode": "other"}, BEFORE_210, PodMode.AUTO, TemplateSlice),
        (False, {}, info((0, {})), PodMode.AUTO, WholeSlice),
    ],
)
def test_the_mode_is_that_of_the_pod_or_else_of_the_node(
    soft_node: bool,  # noqa: FBT001 -- a column
    annotations: Mapping[str, str],
    runtime: str | None,
    mode: PodMode,
    slice_: type,
) -> None:
    """HAMi D1: a chip in share mode was cut."""
    hami = state(soft=soft_node, rules=_rules(mode))

    assert _slice(_pod(runtime, annotations), hami) is slice_


def test_another_word_for_the_mode_is_a_hard_slice_whatever_the_node_is() -> None:
    waits = _pod(SINCE_210, {"huawei.com/vnpu-mode": "enpu"})

    assert _slice(waits, state(soft=True)) is TemplateSlice


def test_a_soft_pod_on_a_hard_node_is_served_and_its_owner_told() -> None:
    found = _outcome(_pod(SINCE_210, SOFT), state())

    assert isinstance(found, Assignment)
    assert "not in soft mode" in found.remarks[0]


def test_no_soft_pod_is_served_where_the_host_can_not_limit_it() -> None:
    """IM-7: a pod ran without limits."""
    withdrawn = HamiState(
        config=state().config,
        chip=CHIP_910B3,
        shares=4,
        wants_soft=True,
        soft=False,
        soft_trouble="libvnpu.so is for aarch64",
    )

    found = _outcome(_pod(SINCE_210, SOFT), withdrawn)

    assert isinstance(found, Refused)
    assert found.reason is RefusalReason.BAD_MODE
    assert "libvnpu.so is for aarch64" in found.detail
    assert found.failure


@pytest.mark.parametrize("runtime", [BEFORE_210, SINCE_210])
@pytest.mark.parametrize("mode", [PodMode.AUTO, PodMode.ALWAYS])
def test_a_pod_that_does_not_say_is_served_hard_where_soft_mode_is_withdrawn(
    runtime: str, mode: PodMode
) -> None:
    """HAMi E7: HAMi 2.10 tells a memory of hard pods too, so none was served any more."""
    withdrawn = dataclasses.replace(state(soft=True, rules=_rules(mode)), soft=False)

    assert _slice(_pod(runtime), withdrawn) is TemplateSlice


@pytest.mark.parametrize("annotations", [SOFT, {}])
def test_a_pod_waits_while_it_is_not_known_whether_soft_slices_can_be_had(
    annotations: Mapping[str, str],
) -> None:
    """A pod that is refused is never tried again, and the host is prepared in a moment."""
    beginning = dataclasses.replace(state(soft=True), soft=False, soft_pending=True)

    found = assign(
        asks((0, 0)),
        world(_pod(SINCE_210, annotations), hami=beginning, annotations=lock("p1")),
    )

    assert isinstance(found, NeedFresh)
    assert found.otherwise.pod is not None
    assert found.otherwise.failure
    assert _slice(_pod(BEFORE_210), beginning) is TemplateSlice


@pytest.mark.parametrize(
    ("memory", "core", "value"),
    [(65537, 0, "65537"), (-1, 0, "-1"), (1024, 101, "101"), (1024, -5, "-5")],
)
@pytest.mark.parametrize("soft", [True, False])
def test_a_quota_beyond_the_card_is_refused_with_value_and_limit(
    memory: int,
    core: int,
    value: str,
    soft: bool,  # noqa: FBT001 -- both ways
) -> None:
    """AL-12: such values went straight into the container's environment."""
    waits = pod("p1", f"{device(0, memory, core)};", annotations=SOFT if soft else {})

    found = _outcome(waits, state(soft=soft))

    assert isinstance(found, Refused)
    assert found.reason is RefusalReason.BAD_QUOTA
    assert value in found.detail
    assert "65536" in found.detail or "100" in found.detail
    assert "--hami-check-quotas" in found.detail


@pytest.mark.parametrize(("memory", "passes"), [(24576, True), (24577, False)])
def test_a_quota_may_be_all_that_a_card_has_though_less_is_granted_of_it(
    memory: int,
    passes: bool,  # noqa: FBT001 -- a table
) -> None:
    """A 310P has more memory than HAMi's table lets be granted."""
    slots = f"{device(0, memory, word='Ascend310P')};"
    waits = pod("p1", slots, annotations=SOFT, chip=CHIP_310P)
    scene = world(waits, hami=state(CHIP_310P, soft=True), annotations=lock("p1"))

    found = assign(asks((0, 0), chip=CHIP_310P), scene)

    assert isinstance(found, Assignment if passes else Refused)


def test_a_quota_of_the_runtime_info_is_checked_as_well() -> None:
    waits = _pod(info((0, {"memory": 99999})), SOFT)

    assert isinstance(_outcome(waits, state(soft=True)), Refused)


def test_a_quota_beyond_the_card_passes_where_that_is_wanted() -> None:
    lax = state(soft=True, rules=HamiRules(check_quotas=False))
    waits = pod("p1", f"{device(0, 99999, 200)};", annotations=SOFT)

    found = _outcome(waits, lax)

    assert isinstance(found, Assignment)
    assert isinstance(found.slice, SoftSlice)
    assert (found.slice.memory_mib, found.slice.core_percent) == (99999, 200)
    (remark,) = found.remarks
    assert "memory 99999 MiB is not 0 to 65536" in remark
    assert "it passes by --hami-check-quotas=false" in remark


@pytest.mark.parametrize(("memory", "runtime"), [(99999, None), (-5, BEFORE_210)])
def test_a_hard_quota_that_passes_is_told_as_well(memory: int, runtime: str | None) -> None:
    lax = state(rules=HamiRules(check_quotas=False))

    found = _outcome(pod("p1", f"{device(0, memory)};", runtime=runtime), lax)

    assert isinstance(found, Assignment)
    assert f"memory {memory} MiB" in found.remarks[0]
    assert "--hami-check-quotas=false" in found.remarks[0]


def test_a_core_request_that_has_no_effect_is_told() -> None:
    """CF-7: it was booked, and did nothing."""
    core = ResourceName(CHIP_910B3.core_resource)
    asking = PodContainer(
        name="main", kind=ContainerKind.APP, limits={CHIP_910B3.resource: 1, core: 30}
    )
    runtime = info((0, {"temp": SLICE, "memory": 16384, "core": 30}))
    told = pod("p1", f"{device(0, 16384, 30)};", runtime=runtime, containers=[asking])
    silent = pod("p1", f"{device(0, 16384, 30)};", runtime=runtime, containers=[container("main")])

    found, other = _outcome(told, state()), _outcome(silent, state())

    assert isinstance(found, Assignment)
    assert isinstance(other, Assignment)
    assert "no effect" in found.remarks[0]
    assert other.remarks == ()
