from dataclasses import replace

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.ids import NumaNode, PhyId
from ascend_agent.slicing.shared import MODE
from tests.model.samples import Place, make_npu, make_view


def test_an_npu_is_as_many_devices_as_it_has_shares_all_of_one_health() -> None:
    """D14: a group, not an object a device, so that long lists are cheap."""
    views = [
        make_view(make_npu(5, place=Place(numa=1)), UnhealthyReason.SHARE_NOT_ENABLED),
        make_view(make_npu(2, place=Place(numa=None))),
    ]

    groups = MODE.advertise(views, word="Ascend310P", shares=100)

    assert groups == (
        DeviceGroup(word="Ascend310P", npu=PhyId(2), shares=100, healthy=True, numa=None),
        DeviceGroup(word="Ascend310P", npu=PhyId(5), shares=100, healthy=False, numa=NumaNode(1)),
    )


def test_the_driver_needs_the_share_flag() -> None:
    assert MODE.needs_device_share


def test_what_an_npu_keeps_is_all_it_offers() -> None:
    """PreSeparateNPU: what containers hold stays fit, the rest is closed."""
    view = replace(make_view(make_npu(0)), kept=frozenset({1}))

    (group,) = MODE.advertise([view], word="Ascend910", shares=4)

    assert group.kept == view.kept
    assert group.fit_devices == 1
