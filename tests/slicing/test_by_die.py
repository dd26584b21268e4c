from dataclasses import replace

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import HealthState, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.slicing.by_die import MODE
from tests.fakes.npus import view


def without_die(shown: NpuView) -> NpuView:
    identity = replace(shown.npu.identity, die=None)
    return replace(shown, npu=replace(shown.npu, identity=identity))


def test_an_npu_is_as_many_devices_as_wanted_called_by_its_die() -> None:
    """HAMi's scheduler knows NPUs by serial, and no NUMA nodes."""
    sick, well = view(5, state=HealthState.SEPARATED), view(2)

    assert MODE.advertise([sick, well], word="Ascend910B3", shares=4) == tuple(
        DeviceGroup(
            word="Ascend910B3",
            npu=shown.npu.phy,
            shares=4,
            healthy=shown is well,
            numa=None,
            die=shown.npu.identity.die,
        )
        for shown in (well, sick)
    )


def test_one_that_takes_no_more_containers_is_unhealthy_as_a_whole() -> None:
    """The kubelet's ids say nothing of which devices the containers hold."""
    serving_out = replace(view(0), kept=frozenset({1}))

    (group,) = MODE.advertise([serving_out], word="Ascend910B3", shares=4)

    assert not group.healthy
    assert group.kept is None


def test_a_chip_without_a_serial_can_not_be_offered() -> None:
    views = [without_die(view(0)), view(1)]

    groups = MODE.advertise(views, word="Ascend910B3", shares=1)

    assert [group.npu for group in groups] == [PhyId(1)]


def test_whether_sharing_must_be_on_depends_on_the_soft_mode() -> None:
    assert not MODE.needs_device_share
