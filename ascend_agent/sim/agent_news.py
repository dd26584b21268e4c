"""Two views of the node, or two states of the driver → what to tell about the difference."""

from collections.abc import Iterator

from ascend_agent.faults.dpus import turned
from ascend_agent.model.fault import Assertion, FaultEvent, format_fault_code
from ascend_agent.model.health import ActiveFault, NodeView, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.surroundings import DpuStates
from ascend_agent.sim.entries import Entry, Fact, milliseconds


class NodeNews:
    """Compares each view of the node with the one before it.

    How an NPU becomes healthy for the first time is no news: it is how it starts.
    """

    def __init__(self) -> None:
        self._last: dict[PhyId, NpuView] = {}
        self._started: set[PhyId] = set()
        self._dpus: DpuStates | None = None

    def of(self, view: NodeView, *, now_ns: int) -> Iterator[Entry]:
        """Yield what is new in *view*: faults, recoveries, other reasons, DPU NICs."""
        for npu in view.npus:
            old = self._last.get(npu.npu.phy)
            if old is not None and old != npu:
                yield from self._of_npu(old, npu, now_ns)
        if view.dpus is not None:
            yield from _of_dpus(self._dpus, view.dpus, now_ns)
            self._dpus = view.dpus
        self._last = {npu.npu.phy: npu for npu in view.npus}
        self._started |= {npu.npu.phy for npu in view.npus if npu.healthy}

    def _of_npu(self, old: NpuView, new: NpuView, now_ns: int) -> Iterator[Entry]:
        turned = new.healthy != old.healthy
        # ``cause_ns`` is the driver event behind the last change of state; the kubelet's list is
        # measured from there. A change without such an event has no latency to speak of.
        cause_ns = new.cause_ns if turned else None
        news = [("fault", _facts(new, fault)) for fault in _only_in(new, old)]
        news += [("recovered", _facts(new, fault)) for fault in _only_in(old, new)]
        if turned and not news and new.npu.phy in self._started:
            news.append(("returned" if new.healthy else "withdrawn", _reasons(old, new)))
        for event, facts in news:
            yield Entry(
                at_ns=now_ns if cause_ns is None else cause_ns,
                event=event,
                facts=facts,
                awaits=None if cause_ns is None else (new.npu.phy, new.healthy),
            )


def _of_dpus(old: DpuStates | None, new: DpuStates, now_ns: int) -> Iterator[Entry]:
    for dpu in turned(old, new):
        npus = [int(phy) for phy, names in new.by_npu.items() if dpu.name in names]
        facts: dict[str, Fact] = {"dpu": dpu.name, "operstate": dpu.operstate, "npus": npus}
        yield Entry(at_ns=now_ns, event="dpu_up" if dpu.up else "dpu_down", facts=facts)


def pulse_news(event: FaultEvent) -> Entry | None:
    """Return the news of an event that only happened once; standing ones show in the view."""
    if event.assertion is not Assertion.ONE_OFF:
        return None
    facts: dict[str, Fact] = {"npu": event.npu, "fault": format_fault_code(event.code)}
    return Entry(at_ns=event.seen_ns, event="pulse", facts=facts)


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


def _only_in(one: NpuView, other: NpuView) -> list[ActiveFault]:
    codes = {fault.code for fault in other.faults}
    return [fault for fault in one.faults if fault.code not in codes]


def _facts(view: NpuView, fault: ActiveFault) -> dict[str, Fact]:
    return {
        "npu": view.npu.phy,
        "fault": format_fault_code(fault.code),
        "level": fault.level.value,
        "healthy": view.healthy,
    }


def _reasons(old: NpuView, new: NpuView) -> dict[str, Fact]:
    reasons = (old if new.healthy else new).reasons
    return {"npu": new.npu.phy, "reasons": [reason.value for reason in reasons]}
