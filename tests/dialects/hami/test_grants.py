"""Who owns vNPUs: whoever may, since a vNPU destroyed under its pod is the worse mistake."""

import dataclasses
from typing import Any

import pytest

from ascend_agent.dialects.hami.grants import claims, used
from ascend_agent.model.hami import HamiChip, HamiConfig
from ascend_agent.model.pods import Pod, PodKey, PodPhase
from tests.fakes.hami import CHIP_310P, CHIP_910B3, container, device, die, info, node_view, pod

_SMALL, _LARGE = "vir05_1c_16g", "vir10_3c_32g"
_CONFIG = HamiConfig(chips=(CHIP_910B3, CHIP_310P))


def _owned(*pods: Pod, config: HamiConfig = _CONFIG) -> dict[int, list[tuple[str, str]]]:
    """Return pod and template of each claim, by NPU."""
    found = claims(pods, config, node_view(4)).by_npu
    return {phy: [(each.pod, each.template) for each in found[phy]] for phy in found}


def _granted(name: str = "p1", **options: Any) -> Pod:
    made: dict[str, Any] = {
        "allocated": f"{device(0, 16384)};",
        "runtime": info((0, {"temp": _SMALL})),
        "phase": PodPhase.RUNNING,
    }
    return pod(name, ";", **{**made, **options})


def test_a_pod_owns_one_vnpu_a_container_of_the_template_that_was_granted() -> None:
    twice = _granted(
        "p2",
        allocated=f"{device(0, 16384)};;{device(3, 32768)};{device(0, 16384)};",
        runtime=info((0, {"temp": _SMALL}), (3, {"temp": _LARGE}), (0, {"temp": _SMALL})),
        containers=[container(name) for name in "abcd"],
    )

    assert _owned(_granted(), twice) == {
        0: [("uid-1", _SMALL), ("uid-2", _SMALL), ("uid-2", _SMALL)],
        3: [("uid-2", _LARGE)],
    }


def test_without_runtime_info_it_is_the_template_that_fits() -> None:
    """As an Allocate decides; more memory than any template has means the whole card."""
    small = _granted(runtime=None)
    whole = _granted("p2", runtime=None, allocated=f"{device(1, 65536)};")

    assert _owned(small, whole) == {0: [("uid-1", _SMALL)]}


def test_a_whole_card_and_a_soft_slice_own_none() -> None:
    whole = _granted(runtime=info((0, {})))
    soft = _granted("p2", annotations={"huawei.com/vnpu-mode": "hami-core"})

    assert _owned(whole, soft) == {}
    assert _owned(whole, soft, _granted("p3")) == {0: [("uid-3", _SMALL)]}


@pytest.mark.parametrize("phase", [PodPhase.PENDING, PodPhase.RUNNING, PodPhase.UNKNOWN])
@pytest.mark.parametrize("terminating", [False, True])
def test_a_pod_owns_its_vnpu_until_it_has_finished(
    phase: PodPhase,
    terminating: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    assert _owned(_granted(phase=phase, terminating=terminating)) == {0: [("uid-1", _SMALL)]}
    assert _owned(_granted(phase=PodPhase.FAILED, terminating=terminating)) == {}


def test_devices_granted_under_another_name_are_owned_all_the_same() -> None:
    """The word of a chip is configured, and may have changed while the pod runs."""
    renamed = HamiConfig(chips=(dataclasses.replace(CHIP_910B3, word="NPU"),))

    assert _owned(_granted(), config=renamed) == {0: [("uid-1", _SMALL)]}


def test_devices_of_other_nodes_and_vendors_are_not_ours() -> None:
    elsewhere = _granted(allocated=f"{device(77, 16384)};", runtime=info((77, {"temp": _SMALL})))
    gpu = _granted(
        "p2",
        allocated="",
        annotations={"hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA:;", "huawei.com/vgpu": "?"},
    )

    found = claims([elsewhere, gpu], _CONFIG, node_view(4))

    assert (dict(found.by_npu), found.unclear) == ({}, ())


def test_of_a_slot_over_two_nodes_only_our_part_counts() -> None:
    """A scheduler writes no such slot; people and old caches do."""
    both = _granted(
        allocated=f"{device(77, 16384)}{device(0, 16384)};",
        runtime=info((77, {"temp": _LARGE}), (0, {"temp": _SMALL})),
    )

    assert _owned(both) == {0: [("uid-1", _SMALL)]}


@pytest.mark.parametrize(
    ("options", "chip"),
    [
        ({"allocated": f"{device(0, 16384)[:-3]}:;"}, CHIP_910B3),
        ({"runtime": "no JSON"}, CHIP_910B3),
        ({"runtime": None}, dataclasses.replace(CHIP_910B3, word="NPU")),
    ],
    ids=["devices", "runtime info", "no entry, and no chip of that name"],
)
def test_a_pod_that_can_not_be_understood_is_named(options: dict[str, Any], chip: HamiChip) -> None:
    """What it owns is not known, which is not nothing."""
    found = claims([_granted(**options)], HamiConfig(chips=(chip,)), node_view(4))

    assert (dict(found.by_npu), found.unclear) == (
        {},
        (PodKey(namespace="default", name="p1"),),
    )


def test_each_step_of_a_pod_changes_its_claim() -> None:
    slots = f"{device(0, 16384)};"
    bound = _granted(phase=PodPhase.PENDING)
    steps = [
        _granted(phase=PodPhase.PENDING, annotations={_TO_ALLOCATE: slots}),
        bound,
        _granted(phase=PodPhase.PENDING, annotations={"hami.io/bind-phase": "success"}),
        _granted(annotations={"hami.io/bind-phase": "success"}),
        _granted(annotations={"hami.io/bind-phase": "success"}, terminating=True),
    ]

    stages = [claims([each], _CONFIG, node_view(1)).by_npu for each in steps]
    labelled = dataclasses.replace(bound, labels={"app": "web"})

    assert len({str(stage) for stage in stages}) == len(steps)
    assert claims([labelled], _CONFIG, node_view(1)).by_npu == stages[1]


_TO_ALLOCATE = "hami.io/Ascend910B3-devices-to-allocate"


def test_an_npu_is_used_by_whoever_was_granted_it_under_whatever_name() -> None:
    soft = _granted(annotations={"huawei.com/vnpu-mode": "hami-core"})
    renamed = _granted(
        "p2",
        allocated="",
        annotations={"hami.io/Ascend910B-devices-allocated": f"{device(1, 16384)};"},
    )
    unreadable = _granted("p3", allocated=f"{device(2, 16384).replace('16384', 'x')};")
    ended = _granted("p4", allocated=f"{device(3, 16384)};", phase=PodPhase.SUCCEEDED)

    found = used([soft, renamed, unreadable, ended], [die(phy) for phy in range(4)])

    assert found == {die(0), die(1), die(2)}
