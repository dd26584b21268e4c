"""Two views of the node, or two states of the driver → what to tell about the difference."""

from collections.abc import Iterator

from ascend_agent.model.fault import Assertion, FaultEvent, format_fault_code
from ascend_agent.model.health import ActiveFault, NodeView, NpuView, UnhealthyReason
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.sim.entries import Entry, Fact, milliseconds


def view_news(before: NodeView | None, after: NodeView, *, now_ns: int) -> Iterator[Entry]:
    """Yield what is new between two views: faults, recoveries, other reasons.

    An NPU that only just appeared is no news.
    """
    known = {view.npu.phy: view for view in before.npus} if before else {}
    for view in after.npus:
        old = known.get(view.npu.phy)
        if old is not None and old != view:
            yield from _npu_news(old, view, now_ns)


def pulse_news(event: FaultEvent) -> Entry | None:
    """Return the news of an event that only happened once; standing ones show in the view."""
    if event.assertion is not Assertion.ONE_OFF:
        return None
    facts: dict[str, Fact] = {"npu": event.npu, "fault": format_fault_code(event.code)}
    return Entry(at_ns=event.seen_ns, event="fault", facts=facts | {"once": True})


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
    return {"detail": state.detail} if state.detail else {}


def _npu_news(old: NpuView, new: NpuView, now_ns: int) -> Iterator[Entry]:
    turned = new.healthy != old.healthy
    # ``cause_ns`` is the driver event behind the last change of state; the kubelet's list is
    # measured from there. A change without such an event has no latency to speak of.
    caused = turned and new.cause_ns is not None
    came = [fault for fault in new.faults if fault.code not in _codes(old)]
    went = [fault for fault in old.faults if fault.code not in _codes(new)]
    news = [("fault", _facts(new, fault)) for fault in came]
    news += [("recovered", _facts(new, fault)) for fault in went]
    if turned and not news and old.reasons != (UnhealthyReason.NOT_READ,):
        news.append(("returned" if new.healthy else "withdrawn", _reasons(old, new)))
    for event, facts in news:
        yield Entry(
            at_ns=new.cause_ns if caused and new.cause_ns is not None else now_ns,
            event=event,
            facts=facts,
            awaits=(new.npu.phy, new.healthy) if caused else None,
        )


def _codes(view: NpuView) -> frozenset[int]:
    return frozenset(fault.code for fault in view.faults)


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
