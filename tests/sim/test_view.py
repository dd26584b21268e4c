"""The live view, drawn into a terminal of the tests' own."""

import asyncio
import io
from dataclasses import dataclass, field

import pytest
from rich.console import Console

from ascend_agent.bus import Bus
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView, NpuView, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import DriverPhase, DriverState, NpuUsage
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.view import LiveView
from tests.fakes.npus import view
from tests.fakes.running import running, settle
from tests.flows.health_samples import bad_node
from tests.sim.views import CODE, faulty, node, out, reported, with_dpus


class Terminal(io.StringIO):
    """A stream that somebody watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


@dataclass
class Watched:
    """A bus with a view on it."""

    bus: Bus = field(default_factory=lambda: Bus([]))
    stream: io.StringIO = field(default_factory=Terminal)

    def __post_init__(self) -> None:
        self.view = LiveView(bus=self.bus, started_ns=0, stream=self.stream)
        self._node = self.bus.node.claim("test")

    def put(self, *npus: NpuView) -> None:
        self._node.put(node(*npus))

    def put_node(self, whole: NodeView) -> None:
        self._node.put(whole)

    def text(self, *, height: int = 40, width: int = 100) -> str:
        console = Console(file=io.StringIO(), width=width, height=height, record=True)
        self.view._console = console
        console.print(self.view.frame())
        return console.export_text()


def row(text: str, npu: int) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{npu} "))


def test_before_the_first_view_the_table_is_empty() -> None:
    assert "driver starting" in Watched().text()


def test_every_npu_has_a_row_with_its_health_in_words() -> None:
    watched = Watched()
    watched.put(view(0), faulty(1), out(2, UnhealthyReason.DRIVER_UNRESPONSIVE))

    text = watched.text()

    assert "healthy" in row(text, 0)
    assert "separated" in row(text, 1)
    assert "80E01801 RestartBusiness" in row(text, 1)
    assert "driver-unresponsive" in row(text, 2)


def test_memory_and_holders_are_shown() -> None:
    watched = Watched()
    watched.put(view(0), view(1))
    watched.bus.usage.claim("test").put(
        {
            PhyId(0): NpuUsage(
                memory_mib=65536,
                memory_used_mib=3277,
                ai_core_percent=None,
                vector_percent=None,
                npu_percent=None,
            )
        }
    )
    holder = Holder(namespace="default", pod="training-0", container="main")
    watched.bus.allocations.claim("test").put(
        Allocations(known=True, holders={PhyId(0): (holder,)})
    )

    text = watched.text()

    assert "3.2 / 64 GiB" in row(text, 0)
    assert "default/training-0" in row(text, 0)
    assert "64 GiB" in row(text, 1)


def test_the_driver_is_named_in_the_title() -> None:
    watched = Watched()
    watched.bus.driver.claim("test").put(DriverState(phase=DriverPhase.UNAVAILABLE))

    assert "driver unavailable" in watched.text()


def test_missing_dpu_nics_stand_beside_the_health_they_do_not_change() -> None:
    watched = Watched()
    watched.put(*with_dpus(enps0="down").npus)
    assert "healthy, some DPU NICs down" in row(watched.text(), 1)
    watched.put(*with_dpus(enps0="down", enps2="down").npus)
    assert "healthy, all DPU NICs down" in row(watched.text(), 1)
    watched.put(*with_dpus().npus)
    assert "DPU" not in row(watched.text(), 1)


def test_raised_levels_and_an_unfit_network_stand_in_the_row() -> None:
    watched = Watched()
    watched.put(*bad_node().npus)

    text = row(watched.text(width=200), 0)

    assert "FaultFrequency ManuallySeparateNPU" in text
    assert "network unfit" in text


def test_switches_are_named_in_the_title_where_there_are_any() -> None:
    watched = Watched()
    watched.put(view(0))
    assert "switches" not in watched.text()
    watched.put_node(bad_node())
    assert "driver starting, switches UnHealthy" in watched.text()


def test_what_is_wrong_is_explained_below_the_table_the_worst_first() -> None:
    watched = Watched()
    watched.put(faulty(0), reported(1), view(2))

    text = watched.text(width=120)

    worst = text.index("NPU 0: 80E01801 RestartBusiness: HBM error that could not be corrected")
    assert worst < text.index("To do: Restart the job. If the fault stays, reset the NPU once no")
    assert worst < text.index("NPU 1: 80E01801 SubHealthFault: HBM error")
    assert "Ctrl-C ends" in text


def test_a_raised_level_says_in_the_view_how_it_ends() -> None:
    watched = Watched()
    watched.put(*bad_node().npus)

    assert "It ends when people release the NPU" in watched.text(width=200)


def test_codes_are_spelled_as_the_rules_in_force_spell_them() -> None:
    spelled = FaultRules(catalog=Catalog(levels={}, spellings={CODE: "080E01801"}))
    watched = Watched()
    watched.bus.fault_config.claim("test").put(FaultConfigState(rules=spelled, version=1))
    watched.put(faulty(0))

    assert watched.text().count("080E01801 RestartBusiness") == 2


def test_advice_takes_its_lines_from_the_oldest_events() -> None:
    watched = Watched()
    watched.put(faulty(0), *(view(phy) for phy in range(1, 8)))
    for number in range(12):
        watched.view.tell(Entry(at_ns=0, event=f"event_{number}"))

    text = watched.text(height=24, width=80)

    assert len(text.splitlines()) <= 23
    assert "To do: Restart the job." in text
    assert "event 11" in text


async def test_other_rules_are_drawn_though_nothing_else_changes() -> None:
    """They may spell a code otherwise, and lead to other advice."""
    watched = Watched()
    async with running(watched.view.run):
        drawn = len(watched.stream.getvalue())
        config = FaultConfigState(
            rules=FaultRules(catalog=Catalog(levels={}, spellings={})), version=1
        )
        watched.bus.fault_config.claim("test").put(config)
        await asyncio.sleep(1)

        assert len(watched.stream.getvalue()) > drawn


def test_a_node_that_is_well_leaves_its_lines_to_events() -> None:
    watched = Watched()
    watched.put(view(0))

    assert "To do" not in watched.text()


def test_without_room_what_to_do_takes_the_place_of_the_hint() -> None:
    watched = Watched()
    watched.put(*(view(phy) for phy in range(15)), faulty(15))
    for number in range(9):
        watched.view.tell(Entry(at_ns=0, event=f"event_{number}"))

    lines = watched.text(height=24, width=80).splitlines()

    assert lines[-1].startswith("NPU 15: Restart the job. If the fault stays,")
    assert len(lines) <= 23


def test_a_low_terminal_shows_the_newest_events() -> None:
    watched = Watched()
    watched.put(*(view(phy) for phy in range(8)))
    for number in range(20):
        watched.view.tell(Entry(at_ns=0, event=f"event_{number}"))

    assert "event 8" in watched.text(height=60)
    text = watched.text(height=16)
    assert "event 19" in text
    assert "event 16" not in text


def test_a_usual_terminal_shows_a_whole_node_and_the_newest_events() -> None:
    """80 by 24, sixteen NPUs, one of them faulty: its event used to be pushed out by its row."""
    watched = Watched()
    watched.put(*(view(phy) for phy in range(15)), faulty(15))
    for number in range(9):
        watched.view.tell(Entry(at_ns=0, event=f"event_{number}", facts={"why": "x" * 100}))

    lines = watched.text(height=24, width=80).splitlines()

    assert len(lines) <= 23
    assert all(row("\n".join(lines), phy) for phy in range(16))
    assert [line.split()[3] for line in lines[-4:-1]] == ["6", "7", "8"]
    faulty_row = row("\n".join(lines), 15)
    assert "separated" in faulty_row
    assert "80E01801" in faulty_row


def test_a_node_that_does_not_fit_shows_what_is_wrong_and_counts_the_rest() -> None:
    watched = Watched()
    watched.put(*(view(phy) for phy in range(63)), faulty(63))
    watched.view.tell(Entry(at_ns=0, event="newest"))

    text = watched.text(height=20)

    assert len(text.splitlines()) <= 19
    assert "separated" in row(text, 63)
    assert row(text, 9)
    assert "and 53 more" in text
    assert "newest" in text


async def test_a_change_is_drawn_after_the_kubelet_was_served() -> None:
    """Drawing takes milliseconds; at once, it would stand between the fault and the list."""
    watched = Watched()
    async with running(watched.view.run):
        drawn = len(watched.stream.getvalue())
        watched.put(view(0))
        await settle()
        assert len(watched.stream.getvalue()) == drawn

        await asyncio.sleep(0.2)
        assert len(watched.stream.getvalue()) > drawn


async def test_nothing_is_drawn_while_nothing_changes() -> None:
    watched = Watched()
    watched.put(view(0))
    async with running(watched.view.run):
        await asyncio.sleep(1)
        drawn = len(watched.stream.getvalue())
        assert drawn
        await asyncio.sleep(60)
        assert len(watched.stream.getvalue()) == drawn
