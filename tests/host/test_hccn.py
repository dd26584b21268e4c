"""Network ports through a stand-in for hccn_tool: what is asked, and what is made of answers."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.hccn import HccnPorts
from ascend_agent.host.tool import Tool
from ascend_agent.model.chip import Ports
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState
from tests.fakes.hccn import MORE_TABLES, PORTS, FakeHccnTool, row
from tests.fakes.npus import address, npu

pytestmark = pytest.mark.peer


@pytest.fixture
def tool(tmp_path: Path) -> FakeHccnTool:
    return FakeHccnTool(tmp_path)


@pytest.fixture
def ports(tool: FakeHccnTool) -> HccnPorts:
    return _ports(tool)


def _ports(tool: FakeHccnTool, *, now: Callable[[], float] | None = None) -> HccnPorts:
    runs = Tool(path=tool.path, check=lambda path: path, environment={"PATH": "/usr/bin:/bin"})
    return HccnPorts(runs, now=now)


def _npu(phy: int, *, logic: int) -> Npu:
    return dataclasses.replace(npu(phy), address=address(phy, logic=logic))


async def test_the_roce_link_is_asked_for_by_physical_id(
    tool: FakeHccnTool, ports: HccnPorts
) -> None:
    tool.answers("-i 5 -link -g", "link status: DOWN\n")
    tool.answers("-i 6 -link -g", "link status: UP\n")

    assert await ports.read_link(_npu(5, logic=2), Ports.ROCE) == LinkState(link_down=True)
    assert await ports.read_link(_npu(6, logic=3), Ports.ROCE) == LinkState(link_down=False)


async def test_roce_traffic_is_the_sum_of_both_ways(tool: FakeHccnTool, ports: HccnPorts) -> None:
    tool.answers("-i 5 -stat -g", "roce_tx_all_pkt_num:30\nroce_rx_all_pkt_num:12\n")

    assert await ports.read_traffic(_npu(5, logic=2), Ports.ROCE) == 42


async def test_an_npu_without_ports_is_not_asked_about(
    tool: FakeHccnTool, ports: HccnPorts
) -> None:
    """A missing tool must not make faults, or blind the hang detection, where there is no port."""
    assert await ports.read_link(npu(0), Ports.NONE) == LinkState()
    assert await ports.read_traffic(npu(0), Ports.NONE) == 0
    assert tool.calls == []


async def test_ub_ports_are_asked_for_by_logic_id_and_counted_where_wired(
    tool: FakeHccnTool, ports: HccnPorts
) -> None:
    """The physical id names another chip to the tool (topology D27)."""
    rows = [
        row(0, 4, "UB", "DOWN"),
        row(0, 5, "UB", "DOWN"),
        row(0, 6, "UB", "UP"),
        row(1, 8, "ETH", "DOWN"),
        row(1, 9, "ETH", "NA"),
    ]
    tool.answers("-g -dev_info -i 2", PORTS.format(rows="".join(rows)) + MORE_TABLES)
    tool.answers("-g -port_info -i 2 -u 0 -p 4", "port_enable: on\n")
    tool.answers("-g -port_info -i 2 -u 0 -p 5", "port_enable: off\n")

    assert await ports.read_link(_npu(5, logic=2), Ports.UB) == LinkState(bonding_down=1, ub_down=1)


async def test_a_ub_port_of_which_nobody_knows_is_taken_for_wired_and_asked_about_once(
    tool: FakeHccnTool, ports: HccnPorts
) -> None:
    """Each question that is not answered may take ten seconds, and a chip has many ports."""
    rows = "".join(row(0, port, "UB", "DOWN") for port in range(6))
    tool.answers("-g -dev_info -i 2", PORTS.format(rows=rows))

    state = await ports.read_link(_npu(5, logic=2), Ports.UB)

    assert state == LinkState(bonding_down=0, ub_down=6)
    assert len(tool.calls) == 2


async def test_wiring_is_remembered_for_ten_minutes(
    tool: FakeHccnTool,
) -> None:
    """It was remembered for ever, so a cable plugged in later never counted (topology D28)."""
    now = [0.0]
    ports = _ports(tool, now=lambda: now[0])
    tool.answers("-g -dev_info -i 2", PORTS.format(rows=row(0, 4, "UB", "DOWN")))
    tool.answers("-g -port_info -i 2 -u 0 -p 4", "port_enable: off\n")
    asked = _npu(5, logic=2)
    assert (await ports.read_link(asked, Ports.UB)).ub_down == 0

    tool.answers("-g -port_info -i 2 -u 0 -p 4", "port_enable: on\n")
    now[0] = 599.0
    assert (await ports.read_link(asked, Ports.UB)).ub_down == 0
    now[0] = 600.0
    assert (await ports.read_link(asked, Ports.UB)).ub_down == 1

    tool.forgets("-g -port_info -i 2 -u 0 -p 4")
    now[0] = 2000.0
    assert (await ports.read_link(asked, Ports.UB)).ub_down == 1


async def test_flits_are_summed_over_the_ports(tool: FakeHccnTool, ports: HccnPorts) -> None:
    """Which ports there are is not asked each time."""
    rows = row(0, 4, "UB", "UP") + row(1, 8, "ETH", "UP")
    tool.answers("-g -dev_info -i 2", PORTS.format(rows=rows))
    tool.answers("-g -stat -i 2 -u 0 -p 4", "tx_busi_flit_num: 10\nrx_busi_flit_num: 20\n")
    tool.answers("-g -stat -i 2 -u 1 -p 8", "tx_busi_flit_num: 1\nrx_busi_flit_num: 2\n")
    asked = _npu(5, logic=2)

    assert await ports.read_traffic(asked, Ports.UB) == 33
    assert await ports.read_traffic(asked, Ports.UB) == 33
    assert tool.calls.count("-g -dev_info -i 2") == 1


@pytest.mark.parametrize(
    ("kind", "question"),
    [(Ports.ROCE, "-i 5 -link -g"), (Ports.UB, "-g -dev_info -i 2")],
)
async def test_an_answer_that_is_not_understood_is_an_error_with_its_words(
    tool: FakeHccnTool, ports: HccnPorts, kind: Ports, question: str
) -> None:
    """Neither up nor down may be made of it (faults D13)."""
    tool.answers(question, "dsmi: link   status\nnot available " + "x" * 100)

    with pytest.raises(HostError, match=r"not understood: dsmi: link status not available x{48}$"):
        await ports.read_link(_npu(5, logic=2), kind)


@pytest.mark.parametrize(
    ("kind", "question"),
    [(Ports.ROCE, "-i 5 -stat -g"), (Ports.UB, "-g -stat -i 2 -u 0 -p 4")],
)
async def test_counters_that_are_missing_are_an_error(
    tool: FakeHccnTool, ports: HccnPorts, kind: Ports, question: str
) -> None:
    tool.answers("-g -dev_info -i 2", PORTS.format(rows=row(0, 4, "UB", "UP")))
    tool.answers(question, "packet statistics:\n")

    with pytest.raises(HostError, match="not understood: packet statistics:"):
        await ports.read_traffic(_npu(5, logic=2), kind)


async def test_a_tool_that_refuses_is_an_error(ports: HccnPorts) -> None:
    with pytest.raises(HostError, match="ended with status 1: parameter error"):
        await ports.read_link(_npu(5, logic=2), Ports.ROCE)
