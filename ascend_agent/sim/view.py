"""The live view for a terminal: a table of NPUs, and the last events below it."""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ascend_agent.bus import Bus
from ascend_agent.model.allocation import Holder
from ascend_agent.model.fault import format_fault_code
from ascend_agent.model.health import HealthState, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import NpuUsage
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.entries import Entry

_FRAME_S = 0.1  # a change shows within this; nothing is drawn while nothing changes
_LINES = 12
_FEWEST_LINES = 3
_FRAME_LINES = 7  # title, borders, hint, and the line the cursor stands on
_HINT = "Ctrl-C ends. ms: from the driver's event to the kubelet's list."
_STYLES = {
    HealthState.HEALTHY: "green",
    HealthState.SUB_HEALTHY: "yellow",
    HealthState.SEPARATED: "bold red",
}
_EVENT_STYLES = {
    "fault": "red",
    "withdrawn": "red",
    "driver_lost": "red",
    "stream_ended": "yellow",
    "pulse": "yellow",
    "recovered": "green",
    "returned": "green",
    "allocated": "cyan",
}


class LiveView:
    """Draws what the bus holds, whenever it changes; also an audience for entries."""

    def __init__(self, *, bus: Bus, started_ns: int, stream: TextIO) -> None:
        self._bus = bus
        self._started_ns = started_ns
        self._console = Console(file=stream)
        self._entries: deque[Entry] = deque(maxlen=_LINES)
        self._wakeup = Wakeup()
        for channel in (bus.node, bus.usage, bus.allocations, bus.driver):
            channel.attach(self._wakeup)

    def tell(self, entry: Entry) -> None:
        """Show *entry* in the next frame."""
        self._entries.append(entry)
        self._wakeup.set()

    async def run(self) -> None:
        """Draw until cancelled; the last frame stays on the screen."""
        with Live(self.frame(), console=self._console, auto_refresh=False) as live:
            while True:
                await self._wakeup.wait()
                # Not at once: drawing takes milliseconds that would stand between a fault and the
                # kubelet, and would be measured as such.
                await asyncio.sleep(_FRAME_S)
                live.update(self.frame(), refresh=True)

    def frame(self) -> Group:
        """Return the table and the event lines as of now."""
        table = self._table()
        room = self._console.size.height - table.row_count - _FRAME_LINES
        lines = [
            Text(entry.as_text(self._started_ns), _EVENT_STYLES.get(entry.event, ""), no_wrap=True)
            for entry in list(self._entries)[-max(_FEWEST_LINES, room) :]
        ]
        return Group(table, *lines, Text(_HINT, "dim"))

    def _table(self) -> Table:
        seconds = (time.monotonic_ns() - self._started_ns) / 1e9
        driver = self._bus.driver.value
        phase = driver.phase.value if driver else "starting"
        table = Table(
            title=f"simulated node, {seconds:.0f} s, driver {phase}", title_justify="left"
        )
        for column in ("NPU", "chip", "health", "faults", "memory", "held by"):
            table.add_column(column, no_wrap=column in {"NPU", "chip", "memory"})
        view = self._bus.node.value
        usage = self._bus.usage.value or {}
        allocations = self._bus.allocations.value
        holders = allocations.holders if allocations else {}
        for npu in view.npus if view else ():
            table.add_row(*_row(npu, usage, holders), style=None)
        return table


def _row(
    view: NpuView, usage: Mapping[PhyId, NpuUsage], holders: Mapping[PhyId, tuple[Holder, ...]]
) -> tuple[Text, ...]:
    phy = view.npu.phy
    faults = ", ".join(f"{format_fault_code(f.code)} {f.level.value}" for f in view.faults)
    held = ", ".join(f"{holder.namespace}/{holder.pod}" for holder in holders.get(phy, ()))
    return (
        Text(str(phy)),
        Text(view.npu.identity.chip.chip_name),
        Text(_health(view), _STYLES[view.state]),
        Text(faults or "-"),
        Text(_memory(usage.get(phy), view.npu.identity.memory_mib)),
        Text(held or "-"),
    )


def _health(view: NpuView) -> str:
    reasons = ", ".join(reason.value for reason in view.reasons)
    return f"{view.state.value} ({reasons})" if reasons else view.state.value


def _memory(usage: NpuUsage | None, total_mib: int | None) -> str:
    total = usage.memory_mib if usage and usage.memory_mib is not None else total_mib
    if total is None:
        return "-"
    if usage is None or usage.memory_used_mib is None:
        return f"{total / 1024:.0f} GiB"
    return f"{usage.memory_used_mib / 1024:.1f} / {total / 1024:.0f} GiB"
