from dataclasses import replace

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import NpuView, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.slicing.by_die import MODE
from tests.model.samples import Place, make_npu, make_view


def without_die(view: NpuView) -> NpuView:
    identity = replace(view.npu.identity, die=None)
    return replace(view, npu=replace(view.npu, identity=identity))


def test_an_npu_is_as_many_devices_as_wanted_called_by_its_die() -> None:
    """HAMi's scheduler knows NPUs by serial, and no NUMA nodes."""
    sick = make_view(make_npu(5, place=Place(numa=1)), UnhealthyReason.FAULT)
    well = make_view(make_npu(2))

    assert MODE.advertise([sick, well], word="Ascend910B3", shares=4) == tuple(
        DeviceGroup(
            word="Ascend910B3",
            npu=view.npu.phy,
            shares=4,
            healthy=view is well,
            numa=None,
            die=view.npu.identity.die,
        )
        for view in (well, sick)
    )


def test_one_that_takes_no_more_containers_is_unhealthy_as_a_whole() -> None:
    """The kubelet's ids say nothing of which devices the containers hold."""
    view = replace(make_view(make_npu(0)), kept=frozenset({1}))

    (group,) = MODE.advertise([view], word="Ascend910B3", shares=4)

    assert not group.healthy
    assert group.kept is None


def test_a_chip_without_a_serial_can_not_be_offered() -> None:
    views = [without_die(make_view(make_npu(0))), make_view(make_npu(1))]

    groups = MODE.advertise(views, word="Ascend910B3", shares=1)

    assert [group.npu for group in groups] == [PhyId(1)]


def test_whether_sharing_must_be_on_depends_on_the_soft_mode() -> None:
    assert not MODE.needs_device_share
