"""Codes that the driver does not list: we alone raise and clear them (faults D05).

Decides when a card counts as dropped, a link as down, a process as hung, recomputed whole each
time from what was last told. Source: readings and inventory, ``hccn_tool``, the hang detector.
Where the driver tells of the same code, it is one fault all the same (faults D12).
"""

from dataclasses import replace

from ascend_agent.faults.condition import Condition, Raised
from ascend_agent.faults.ledger import Facts
from ascend_agent.faults.ports import codes_of_ports
from ascend_agent.faults.standing import CodeNews, News
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import CARD_DROP, HANG, FaultCode, FaultSource
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import NoticeKind


def raise_own(condition: Condition, facts: Facts, now: Millis) -> tuple[Condition, News]:
    """Return the NPU with the codes of our own that stand now, and what that is news of."""
    wanted: dict[FaultCode, Raised] = {}
    if (since := condition.contact.dropped_since_ms) is not None:
        wanted[CARD_DROP] = Raised(since_ms=since, source=FaultSource.CARD_DROP)
    if facts.hangs and (since := facts.hangs.get(condition.npu.phy)) is not None:
        wanted[HANG] = Raised(since_ms=since, source=FaultSource.HANG)
    before = condition.raised
    if condition.ports is Ports.UB or condition.link is not None:
        for code in _of_ports(condition, facts, now):
            known = before.get(code)
            wanted[code] = known or Raised(since_ms=now, source=FaultSource.LINK)
    if wanted == before:
        return condition, ()
    news = [
        CodeNews(kind=NoticeKind.RECOVERED, code=code, at_ms=now)
        for code in sorted(before.keys() - wanted.keys())
    ]
    news += [
        CodeNews(kind=NoticeKind.OCCURRED, code=code, at_ms=wanted[code].since_ms)
        for code in sorted(wanted.keys() - before.keys())
    ]
    return replace(condition, raised=wanted), tuple(news)


def of_changes(news: News, *, before: Condition | None, after: Condition) -> News:
    """Return *news* without what merely changed who says that a code stands.

    Else a link that we found to be down would recover when the driver tells of it as well, and
    its time, and how often it was down, would be counted anew.
    """
    if before is None or not (before.raised or after.raised):
        return news
    shared = before.raised.keys() | after.raised.keys()
    ended = {told.code: told for told in news if told.kind is NoticeKind.RECOVERED}  # the last
    kept: list[CodeNews] = []
    begun: set[FaultCode] = set()
    for told in news:
        code, kind = told.code, told.kind
        if code in shared and kind is not NoticeKind.ONE_OFF:
            stood, stands = _stands(before, code), _stands(after, code)
            if kind is NoticeKind.RECOVERED and (stands or not stood or told is not ended[code]):
                continue
            if kind is NoticeKind.OCCURRED and (stood or not stands or code in begun):
                continue
            begun.add(code)
        kept.append(told)
    return tuple(kept)


def _stands(condition: Condition, code: FaultCode) -> bool:
    return code in condition.raised or _stands_by_driver(condition, code)


def _stands_by_driver(condition: Condition, code: FaultCode) -> bool:
    state = condition.codes.get(code)
    return state is not None and state.stands


def _of_ports(condition: Condition, facts: Facts, now: Millis) -> frozenset[FaultCode]:
    found = codes_of_ports(
        condition.ports,
        told=condition.counting(now),
        link=condition.link,
        all_ub_down=facts.all_ub_down,
    )
    return frozenset(code for code in found if not _stands_by_driver(condition, code))
