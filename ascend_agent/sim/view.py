"""The live view for a terminal: NPUs, what is wrong and what to do, and the last events."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ascend_agent.bus import Bus
from ascend_agent.faults.advice import Advice, advise
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.allocation import Holder
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthState, NpuView, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import NpuUsage
from ascend_agent.model.surroundings import DpuHealth
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.entries import Entry

_FRAME_S = 0.1  # a change shows within this; nothing is drawn while nothing changes
_LINES = 12
_FEWEST_LINES = 3
_MOST_ADVICE = 3
_ADVICE_LINES = 2
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
    "network_fit": "green",
    "network_unfit": "yellow",
    "released": "green",
    "rules": "cyan",
    "switch_fault": "yellow",
    "switch_recovered": "green",
    "switches": "yellow",
    "upgraded": "red",
    "withdrawn": "red",
    "driver_lost": "red",
    "stream_ended": "yellow",
    "pulse": "yellow",
    "recovered": "green",
    "returned": "green",
    "allocated": "cyan",
    "sliced": "cyan",
    "unschedulable": "yellow",
    "denied": "yellow",
}


class LiveView:
    """Draws what the bus holds, whenever it changes; also an audience for entries."""

    def __init__(self, *, bus: Bus, started_ns: int, stream: TextIO) -> None:
        self._bus = bus
        self._started_ns = started_ns
        self._console = Console(file=stream)
        self._entries: deque[Entry] = deque(maxlen=_LINES)
        self._wakeup = Wakeup()
        for channel in (bus.node, bus.usage, bus.allocations, bus.driver, bus.fault_config):
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
        """Return the table, what is wrong and what to do, and the event lines, as of now."""
        room = self._console.size.height - _FRAME_LINES
        table = self._table(rows=room - _FEWEST_LINES)
        advice = self._advice()
        spare = room - table.row_count - _FEWEST_LINES
        shown = advice[: min(_MOST_ADVICE, max(spare, 0) // _ADVICE_LINES)]
        told = [_cut(line, style) for each in shown for line, style in _advice_lines(each)]
        left = max(_FEWEST_LINES, room - table.row_count - len(told))
        lines = [
            _cut(entry.as_text(self._started_ns), _EVENT_STYLES.get(entry.event, ""))
            for entry in list(self._entries)[-left:]
        ]
        # Where there is no room for it, what to do matters more than how to leave.
        squeezed = advice and not shown
        last = f"{advice[0].subject}: {advice[0].meaning.action}" if squeezed else _HINT
        return Group(table, *told, *lines, _cut(last, "bold" if squeezed else "dim"))

    def _rules(self) -> FaultRules:
        config = self._bus.fault_config.value
        return config.rules if config else BUILT_IN

    def _advice(self) -> Sequence[Advice]:
        view = self._bus.node.value
        return advise(view, self._rules()) if view else ()

    def _table(self, *, rows: int) -> Table:
        """Return the table, of *rows* lines at most: the newest events must be seen below it."""
        driver = self._bus.driver.value
        phase = driver.phase.value if driver else "starting"
        view = self._bus.node.value
        switches = f", switches {view.switches.health.value}" if view and view.switches else ""
        table = Table(
            title=f"simulated node, driver {phase}{switches}",
            title_justify="left",
            box=SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for column in ("NPU", "chip", "health", "faults", "memory", "held by"):
            table.add_column(column, no_wrap=column in _WHOLE)
        usage = self._bus.usage.value or {}
        allocations = self._bus.allocations.value
        holders = allocations.holders if allocations else {}
        shown, hidden = _that_fit(view.npus if view else (), rows)
        for npu in shown:
            table.add_row(*_row(npu, usage, holders, catalog=self._rules().catalog))
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


def _advice_lines(advice: Advice) -> Iterator[tuple[str, str]]:
    """Yield the two lines of *advice*, each with its style."""
    head = f"{advice.subject}: {advice.what}: {advice.meaning.title}"
    ends = f" It ends {advice.ends}." if advice.ends else ""
    yield head, "bold red" if advice.isolates else "yellow"
    yield f"  To do: {advice.meaning.action}{ends}", ""


def _cut(text: str, style: str) -> Text:
    """Return one line, cut and not wrapped: what is below it must stay on the screen."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _row(
    view: NpuView,
    usage: Mapping[PhyId, NpuUsage],
    holders: Mapping[PhyId, tuple[Holder, ...]],
    *,
    catalog: Catalog,
) -> tuple[Text, ...]:
    phy = view.npu.phy
    faults = ", ".join(
        [
            *(f"{catalog.text_of(fault.code)} {fault.level.value}" for fault in view.faults),
            *(f"{upgrade.kind.value} {upgrade.level.value}" for upgrade in view.upgrades),
        ]
    )
    held = ", ".join(f"{holder.namespace}/{holder.pod}" for holder in holders.get(phy, ()))
    cells = (
        (str(phy), ""),
        (view.npu.identity.chip.chip_name, ""),
        (_health(view), _STYLES[view.state]),
        (faults or "-", ""),
        (_memory(usage.get(phy), view.npu.identity.memory_mib), ""),
        (held or "-", ""),
    )
    return tuple(_cut(text, style) for text, style in cells)


def _health(view: NpuView) -> str:
    """Return the state in words, or why the NPU is out of service where no fault code says it."""
    reasons = [reason.value for reason in view.reasons if reason is not UnhealthyReason.FAULT]
    words = reasons or [view.state.value]
    if not view.network.healthy:
        words.append("network unfit")
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
