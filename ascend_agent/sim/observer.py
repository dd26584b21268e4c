"""Joins what the agent knows and what the kubelet saw into one sequence of entries.

An entry whose consequence the kubelet must still see waits for it, at most a quarter second, to
say how long that took; what comes later waits behind it, so that entries stay in order.
"""

import asyncio
import time
from collections.abc import Callable

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.fault import FaultEvent
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import NodeView
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.agent_news import NodeNews, driver_news, pulse_news, rules_news
from ascend_agent.sim.device_names import NpusOf
from ascend_agent.sim.entries import Entry, milliseconds
from ascend_agent.sim.kubelet import EmbeddedKubelet, Happening, Listed, Registered, Started
from ascend_agent.sim.kubelet_news import kubelet_news, turned_npus

_PATIENCE_S = 0.25


class Observer:
    """Watches bus and kubelet, and hands entries to *tell* in the order they happened."""

    def __init__(
        self, *, bus: Bus, kubelet: EmbeddedKubelet, npus_of: NpusOf, tell: Callable[[Entry], None]
    ) -> None:
        self._bus = bus
        self._npus_of = npus_of
        self._tell = tell
        self._wakeup = Wakeup()
        self._happened = kubelet.happened.subscribe(self._wakeup)
        self._faults = bus.faults.subscribe(self._wakeup)
        self._node_news = NodeNews()
        self._view: NodeView | None = None
        self._config: FaultConfigState | None = None
        self._driver: DriverState | None = None
        self._driver_lost_ns: int | None = None
        self._kubelet_back_ns: int | None = None
        self._queue: list[Entry] = []
        for channel in (bus.node, bus.driver, bus.fault_config):
            channel.attach(self._wakeup)

    async def run(self) -> None:
        """Watch until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._wakeup.wait(clock() + _PATIENCE_S if self._queue else None)
            # Health before lists: the agent publishes a view before the list that follows from it.
            now_ns = time.monotonic_ns()
            self._look_at_rules(now_ns)
            self._look_at_driver(now_ns)
            self._look_at_health(now_ns)
            for happening in self._happened.drain():
                self._look_at_kubelet(happening)
            self._flush(now_ns)

    def add(self, entry: Entry) -> None:
        """Tell *entry* too, in its turn."""
        self._queue.append(entry)
        self._wakeup.set()

    def _look_at_rules(self, now_ns: int) -> None:
        config = self._bus.fault_config.value
        if config is None or config is self._config:
            return
        if entry := rules_news(self._config, config, now_ns=now_ns):
            self._queue.append(entry)
        self._config = config

    def _look_at_driver(self, now_ns: int) -> None:
        state = self._bus.driver.value
        if state is None:
            return
        entry = driver_news(self._driver, state, lost_ns=self._driver_lost_ns, now_ns=now_ns)
        if state.phase is DriverPhase.READY:
            self._driver_lost_ns = None
        elif entry is not None:
            self._driver_lost_ns = now_ns
        self._driver = state
        if entry is not None:
            self._queue.append(entry)

    def _look_at_health(self, now_ns: int) -> None:
        rules = self._config.rules if self._config else BUILT_IN
        for notice in self._faults.drain():
            if isinstance(notice, FaultEvent) and (entry := pulse_news(notice, rules)):
                self._queue.append(entry)
        view = self._bus.node.value
        if view is not None and view is not self._view:
            self._queue.extend(self._node_news.of(view, rules=rules, now_ns=now_ns))
            self._view = view

    def _look_at_kubelet(self, happening: Happening) -> None:
        entry = kubelet_news(happening, npus_of=self._npus_of)
        match happening:
            case Started(starts=starts) if starts > 1:
                self._kubelet_back_ns = happening.at_ns
            case Registered() if self._kubelet_back_ns is not None:
                entry.latency_ms = milliseconds(happening.at_ns - self._kubelet_back_ns)
            case Listed():
                self._settle(happening, entry)
            case _:
                pass
        self._queue.append(entry)

    def _settle(self, listed: Listed, told: Entry) -> None:
        """Give every entry that waited for this list the time it took, and the list the longest."""
        turned = set(turned_npus(listed, npus_of=self._npus_of))
        for entry in self._queue:
            if entry.awaits in turned:
                entry.awaits = None
                entry.latency_ms = milliseconds(listed.at_ns - entry.at_ns)
                told.latency_ms = max(told.latency_ms or 0.0, entry.latency_ms)

    def _flush(self, now_ns: int) -> None:
        while self._queue:
            entry = self._queue[0]
            if entry.awaits is not None and now_ns - entry.at_ns < _PATIENCE_S * 1e9:
                return
            del self._queue[0]
            self._tell(entry)
