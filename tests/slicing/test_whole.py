from dataclasses import replace

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.ids import NumaNode, PhyId
from ascend_agent.slicing.whole import MODE
from tests.model.samples import Place, make_npu, make_view


def test_an_npu_is_one_device_healthy_or_not_and_in_order() -> None:
    """HL-3: an unhealthy NPU stays listed. Topology manager: an unknown NUMA node is left out."""
    views = [
        make_view(make_npu(5, place=Place(numa=1)), UnhealthyReason.FAULT),
        make_view(make_npu(2, place=Place(numa=None))),
    ]

    groups = MODE.advertise(views, word="Ascend910", shares=4)

    assert groups == (
        DeviceGroup(word="Ascend910", npu=PhyId(2), shares=1, healthy=True, numa=None),
        DeviceGroup(word="Ascend910", npu=PhyId(5), shares=1, healthy=False, numa=NumaNode(1)),
    )


def test_no_npu_is_no_device() -> None:
    assert MODE.advertise([], word="npu", shares=1) == ()


def test_the_driver_needs_no_share_flag() -> None:
    assert not MODE.needs_device_share


def test_what_an_npu_keeps_is_all_it_offers() -> None:
    """PreSeparateNPU: what containers hold stays fit, the rest is closed."""
    view = replace(make_view(make_npu(0)), kept=frozenset())

    (group,) = MODE.advertise([view], word="Ascend910", shares=1)

    assert group.kept == view.kept
    assert group.fit_devices == 0
