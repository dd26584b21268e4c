"""Ports and processes of a simulated node are as its scenario says."""

import asyncio

from ascend_agent.host.stated_ports import PortChange, StatedPorts, StillProcesses
from ascend_agent.model.chip import Ports
from ascend_agent.model.surroundings import LinkState, ProcessTimes
from tests.fakes.npus import npu


async def test_a_link_is_up_until_the_scenario_says_otherwise() -> None:
    ports = StatedPorts(
        [
            PortChange(at_s=9, npu=1, state=LinkState(link_down=False)),
            PortChange(at_s=5, npu=1, state=LinkState(link_down=True)),
        ],
        started=0,
    )

    states = []
    for _ in range(3):
        states.append([await ports.read_link(npu(phy), Ports.ROCE) for phy in range(2)])
        await asyncio.sleep(5)

    up, down = LinkState(link_down=False), LinkState(link_down=True)
    assert states == [[up, up], [up, down], [up, up]]


async def test_ports_change_when_the_driver_of_the_node_tells_of_it() -> None:
    """Both count from one moment: asked at its word, they must not show what was before."""
    await asyncio.sleep(3)
    ports = StatedPorts([PortChange(at_s=3, npu=0, state=LinkState(link_down=True))], started=0)

    assert await ports.read_link(npu(0), Ports.ROCE) == LinkState(link_down=True)


async def test_what_a_step_does_not_say_stays() -> None:
    """Bonded ports and UB ports of one chip go down one by one."""
    ports = StatedPorts(
        [
            PortChange(at_s=0, npu=0, state=LinkState(bonding_down=1)),
            PortChange(at_s=0, npu=0, state=LinkState(ub_down=2)),
        ],
        started=0,
    )

    assert await ports.read_link(npu(0), Ports.UB) == LinkState(bonding_down=1, ub_down=2)
    assert await ports.read_link(npu(1), Ports.UB) == LinkState(bonding_down=0, ub_down=0)
    assert await StatedPorts([], started=0).read_link(npu(0), Ports.NONE) == LinkState()


async def test_nothing_moves() -> None:
    """So that a scenario can show a hang by letting a process take an NPU."""
    assert await StatedPorts([], started=0).read_traffic(npu(0), Ports.ROCE) == 0
    assert await StillProcesses().times_of([7, 9]) == dict.fromkeys(
        (7, 9), ProcessTimes(started=0, cpu_s=0.0)
    )
