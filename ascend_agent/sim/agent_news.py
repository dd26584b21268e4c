"""Two views of the node, or two states of the driver → what to tell about the difference."""

from collections.abc import Iterator

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.dpus import turned
from ascend_agent.faults.meanings import explain
from ascend_agent.model.fault import Assertion, FaultEvent
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.surroundings import DpuStates
from ascend_agent.sim.entries import Entry, Fact, milliseconds
from ascend_agent.sim.npu_news import npu_news
from ascend_agent.sim.switch_news import NO_FAULT, switch_news


class NodeNews:
    """Compares each view of the node with the one before it.

    How an NPU becomes healthy for the first time is no news: it is how it starts.
    """

    def __init__(self) -> None:
        self._last: dict[PhyId, NpuView] = {}
        self._started: set[PhyId] = set()
        self._switches = NO_FAULT
        self._dpus: DpuStates | None = None

    def of(self, view: NodeView, *, rules: FaultRules, now_ns: int) -> Iterator[Entry]:
        """Yield what is new in *view*: on each NPU, on switches and DPU NICs."""
        for npu in view.npus:
            old = self._last.get(npu.npu.phy)
            if old is not None and old != npu:
                started = npu.npu.phy in self._started
                yield from npu_news(old, npu, rules=rules, started=started, now_ns=now_ns)
        if view.switches is not None and view.switches is not self._switches:
            yield from switch_news(self._switches, view.switches, rules=rules, now_ns=now_ns)
            self._switches = view.switches
        if view.dpus is not None:
            yield from _of_dpus(self._dpus, view.dpus, now_ns)
            self._dpus = view.dpus
        self._last = {npu.npu.phy: npu for npu in view.npus}
        self._started |= {npu.npu.phy for npu in view.npus if npu.healthy}


def _of_dpus(old: DpuStates | None, new: DpuStates, now_ns: int) -> Iterator[Entry]:
    for dpu in turned(old, new):
        npus = [int(phy) for phy, names in new.by_npu.items() if dpu.name in names]
        facts: dict[str, Fact] = {"dpu": dpu.name, "operstate": dpu.operstate, "npus": npus}
        yield Entry(at_ns=now_ns, event="dpu_up" if dpu.up else "dpu_down", facts=facts)


def pulse_news(event: FaultEvent, rules: FaultRules) -> Entry | None:
    """Return the news of an event that only happened once; standing ones show in the view."""
    if event.assertion is not Assertion.ONE_OFF:
        return None
    catalog = rules.catalog
    facts: dict[str, Fact] = {
        "npu": event.npu,
        "fault": catalog.text_of(event.code),
        "level": catalog.level_of(event.code, event.severity).value,
        "title": explain(event.code, catalog, event.severity).title,
    }
    return Entry(at_ns=event.seen_ns, event="pulse", facts=facts)


def rules_news(
    before: FaultConfigState | None, after: FaultConfigState, *, now_ns: int
) -> Entry | None:
    """Return what to tell of fault rules; those that are built in are no news at the start."""
    built_in = after.rules.source == BUILT_IN.source and not after.refused
    if after == before or (before is None and built_in):
        return None
    facts: dict[str, Fact] = {"source": after.rules.source, "refused": list(after.refused)}
    return Entry(at_ns=now_ns, event="rules", facts=facts)


def driver_news(
    before: DriverState | None, after: DriverState, *, lost_ns: int | None, now_ns: int
) -> Entry | None:
    """Return what to tell of the driver; *lost_ns* is when it was seen to be gone."""
    was_ready = before is not None and before.phase is DriverPhase.READY
    if after.phase is not DriverPhase.READY:
        return Entry(at_ns=now_ns, event="driver_lost", facts=_why(after)) if was_ready else None
    if was_ready and before is not None and before.starts == after.starts:
        return None
    return Entry(
        at_ns=now_ns,
        event="driver_ready" if after.starts <= 1 else "driver_restarted",
        facts={"starts": after.starts, "callbacks": after.callbacks is True},
        latency_ms=None if lost_ns is None else milliseconds(now_ns - lost_ns),
    )


def _why(state: DriverState) -> dict[str, Fact]:
    return {"detail": state.detail or state.phase.value}
