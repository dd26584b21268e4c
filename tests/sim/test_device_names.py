"""Which NPUs are behind devices, in either way of naming them."""

from dataclasses import replace

from ascend_agent.model.ids import DieId, PluginDeviceId, ResourceName
from ascend_agent.sim.device_names import by_die, by_number
from tests.fakes.npus import view
from tests.sim.views import node

RESOURCE = ResourceName("huawei.com/Ascend910")


def ids(*names: str) -> list[PluginDeviceId]:
    return [PluginDeviceId(name) for name in names]


def test_shares_of_one_npu_are_that_npu_once() -> None:
    devices = ids("Ascend910-3-0", "Ascend910-3-1", "Ascend910-1-0", "foreign")

    assert by_number(2)(devices, RESOURCE) == [1, 3]


def test_a_die_is_that_of_an_npu_of_the_node() -> None:
    npus = []
    for phy in (3, 1):
        one = view(phy)
        identity = replace(one.npu.identity, die=DieId(f"AA-0{phy}"))
        npus.append(replace(one, npu=replace(one.npu, identity=identity)))
    devices = ids("AA-03-0", "AA-03-1", "AA-01-0", "AA-09-0", "foreign")

    assert by_die(lambda: node(*npus))(devices, RESOURCE) == [1, 3]
    assert by_die(lambda: None)(devices, RESOURCE) == []
