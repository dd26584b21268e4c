"""The live view for a terminal: a table of NPUs, and the last events below it."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ascend_agent.bus import Bus
from ascend_agent.model.allocation import Holder
from ascend_agent.model.fault import format_fault_code
from ascend_agent.model.health import HealthState, NpuView, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import NpuUsage
from ascend_agent.model.surroundings import DpuHealth
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.entries import Entry

_FRAME_S = 0.1  # a change shows within this; nothing is drawn while nothing changes
_LINES = 12
_FEWEST_LINES = 3
_FRAME_LINES = 5  # title, head, rule, hint, and the line the cursor stands on
_WHOLE = frozenset({"NPU", "chip", "memory"})  # columns that are never cut
_HINT = "Ctrl-C ends. ms: until the kubelet knew, or until it was back."
_STYLES = {
    HealthState.HEALTHY: "green",
    HealthState.SUB_HEALTHY: "yellow",
    HealthState.SEPARATED: "bold red",
}
_DPU_WORDS = {
    DpuHealth.SUB_HEALTHY: "some DPU NICs down",
    DpuHealth.UNHEALTHY: "all DPU NICs down",
}
_EVENT_STYLES = {
    "dpu_down": "yellow",
    "dpu_up": "green",
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
        room = self._console.size.height - _FRAME_LINES
        table = self._table(rows=room - _FEWEST_LINES)
        lines = [
            Text(
                entry.as_text(self._started_ns),
                _EVENT_STYLES.get(entry.event, ""),
                no_wrap=True,
                overflow="ellipsis",
            )
            for entry in list(self._entries)[-max(_FEWEST_LINES, room - table.row_count) :]
        ]
        return Group(table, *lines, Text(_HINT, "dim"))

    def _table(self, *, rows: int) -> Table:
        """Return the table, of *rows* lines at most: the newest events must be seen below it."""
        driver = self._bus.driver.value
        phase = driver.phase.value if driver else "starting"
        table = Table(
            title=f"simulated node, driver {phase}",
            title_justify="left",
            box=SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for column in ("NPU", "chip", "health", "faults", "memory", "held by"):
            table.add_column(column, no_wrap=column in _WHOLE)
        view = self._bus.node.value
        usage = self._bus.usage.value or {}
        allocations = self._bus.allocations.value
        holders = allocations.holders if allocations else {}
        shown, hidden = _that_fit(view.npus if view else (), rows)
        for npu in shown:
            table.add_row(*_row(npu, usage, holders))
        if hidden:
            table.add_row("...", f"and {hidden} more")
        return table


def _that_fit(npus: Sequence[NpuView], rows: int) -> tuple[Sequence[NpuView], int]:
    """Return the NPUs to show in *rows* lines, in their order, and how many are left out.

    Healthy ones are left out first; one line is for saying how many.
    """
    if len(npus) <= max(rows, 1):
        return npus, 0
    telling = sorted(npus, key=lambda npu: npu.state is HealthState.HEALTHY)[: max(rows - 1, 0)]
    return [npu for npu in npus if npu in telling], len(npus) - len(telling)


def _row(
    view: NpuView, usage: Mapping[PhyId, NpuUsage], holders: Mapping[PhyId, tuple[Holder, ...]]
) -> tuple[Text, ...]:
    phy = view.npu.phy
    faults = ", ".join(f"{format_fault_code(f.code)} {f.level.value}" for f in view.faults)
    held = ", ".join(f"{holder.namespace}/{holder.pod}" for holder in holders.get(phy, ()))
    cells = (
        (str(phy), ""),
        (view.npu.identity.chip.chip_name, ""),
        (_health(view), _STYLES[view.state]),
        (faults or "-", ""),
        (_memory(usage.get(phy), view.npu.identity.memory_mib), ""),
        (held or "-", ""),
    )
    # Cut, not wrapped: a second line would push the events out of the screen, just when a fault
    # shows.
    return tuple(Text(text, style, no_wrap=True, overflow="ellipsis") for text, style in cells)


def _health(view: NpuView) -> str:
    """Return the state in words, or why the NPU is out of service where no fault code says it."""
    reasons = [reason.value for reason in view.reasons if reason is not UnhealthyReason.FAULT]
    words = reasons or [view.state.value]
    if view.dpu in _DPU_WORDS:
        words.append(_DPU_WORDS[view.dpu])
    return ", ".join(words)


def _memory(usage: NpuUsage | None, total_mib: int | None) -> str:
    total = usage.memory_mib if usage and usage.memory_mib is not None else total_mib
    if total is None:
        return "-"
    if usage is None or usage.memory_used_mib is None:
        return f"{total / 1024:.0f} GiB"
    return f"{usage.memory_used_mib / 1024:.1f} / {total / 1024:.0f} GiB"
