"""Codes that the driver does not list: we alone raise and clear them (faults D05).

Decides when a card counts as dropped, a link as down, a process as hung, recomputed whole each
time from what was last told. Source: readings and inventory, ``hccn_tool``, the hang detector.
"""

from dataclasses import replace
from typing import Final

from ascend_agent.faults.condition import Condition, Raised
from ascend_agent.faults.ledger import Facts
from ascend_agent.faults.ports import codes_of_ports
from ascend_agent.faults.standing import CodeNews, News
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import CARD_DROP, FaultCode, FaultSource
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import NoticeKind

HANG: Final = FaultCode(0x200001002)
"""Processes hold the NPU and nothing moves on it."""


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


def _of_ports(condition: Condition, facts: Facts, now: Millis) -> frozenset[FaultCode]:
    return codes_of_ports(
        condition.ports,
        told=condition.counting(now),
        link=condition.link,
        all_ub_down=facts.all_ub_down,
    )
