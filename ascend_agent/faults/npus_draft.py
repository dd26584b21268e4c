"""The NPUs of a node while one call of ``fold`` changes them.

Decides what of one NPU's change concerns others: chips of a card that is reset as one, and UB ports
that are down everywhere. Nothing of it outlives the call.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ascend_agent.faults.condition import Condition, Step, next_wake
from ascend_agent.faults.draft import RuleNotice
from ascend_agent.faults.history import History, Moved, advance, hear
from ascend_agent.faults.ledger import Facts
from ascend_agent.faults.own_codes import of_changes, raise_own
from ascend_agent.faults.ports import ub_down
from ascend_agent.faults.standing import News
from ascend_agent.faults.verdict import Circumstances, Judged, judge
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel, Plane
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.notices import HealthNotice, NoticeKind

_ASSERTIONS = {
    NoticeKind.OCCURRED: Assertion.OCCURRED,
    NoticeKind.RECOVERED: Assertion.RECOVERED,
    NoticeKind.ONE_OFF: Assertion.ONE_OFF,
}


@dataclass(slots=True, kw_only=True)
class NpusDraft:
    """All NPUs in the making.

    ``ask`` are those whose truth the driver must be asked for, ``notices`` what people are told.
    ``changed``: what is known of one did. ``touched``: its view did. ``learned``: its history did.
    """

    facts: Facts
    now: Millis
    conditions: dict[PhyId, Condition]
    shown: dict[PhyId, NpuView]
    sick: set[PhyId]
    ask: set[PhyId]
    notices: list[HealthNotice]
    changed: bool = False
    touched: bool = False
    learned: bool = False

    def settle(self, step: Step, *, cause_ns: int | None) -> None:
        """Take over what one input made of one NPU."""
        condition = step.condition
        phy = condition.npu.phy
        if step.ask:
            self.ask.add(phy)
        if condition is not self.conditions.get(phy) or step.news:
            self.take(condition, step.news, cause_ns=cause_ns, alone=True)

    def take(
        self,
        condition: Condition,
        news: News = (),
        *,
        told: tuple[RuleNotice, ...] = (),
        cause_ns: int | None = None,
        alone: bool = False,
    ) -> None:
        """Take over *condition* with all that follows from it; *told* is to be told besides.

        *alone*: nothing else changed that its view depends on.
        """
        phy = condition.npu.phy
        condition, found = raise_own(condition, self.facts, self.now)
        before = self.conditions.get(phy)
        news = of_changes((*news, *found), before=before, after=condition)
        told_of = _untold(condition.history, news)
        moved = _remember(condition, news, self.facts.fault_rules, self.now)
        wakes = (next_wake(condition), moved.history.wake_at)
        wake_at = min((Millis(at) for at in wakes if at is not None), default=None)
        if moved.history is not condition.history or wake_at != condition.wake_at_ms:
            condition = condition.remembering(moved.history, wake_at_ms=wake_at)
        self.learned |= before is None or before.history is not moved.history
        self.conditions[phy] = condition
        self.changed = True
        old = self.shown.get(phy) if alone else None
        last = Judged(condition=before, faults=old.faults) if before and old else None
        self.look(condition, cause_ns=cause_ns, last=last)
        if told_of or told or moved.notices:
            self._tell(before, condition, told_of, told + moved.notices)
        if condition.ports is Ports.UB:
            self._compare_ub()

    def drop(self, phy: PhyId) -> Condition:
        """Forget an NPU that left the inventory; return what was known of it."""
        condition = self.conditions.pop(phy)
        self.changed = True
        if self.shown.pop(phy, None) is not None:
            self.touched = True
        if phy in self.sick:
            self._couple(condition, sick=False)
        if condition.ports is Ports.UB:
            self._compare_ub()
        return condition

    def look(
        self, condition: Condition, *, cause_ns: int | None = None, last: Judged | None = None
    ) -> None:
        """Judge the NPU; its view stays the same object if nothing changed that it shows.

        One of which nothing can be told yet has none.
        """
        if not condition.contact.tellable:
            return
        phy = condition.npu.phy
        verdict = judge(condition, self._around(condition), self.now, last=last)
        old = self.shown.get(phy)
        if old is None:
            since_ms, cause_ns = self.now, None
        elif old.state is verdict.state:
            since_ms, cause_ns = old.since_ms, old.cause_ns
        else:
            since_ms = self.now
        dpus = self.facts.dpus
        new = NpuView(
            npu=condition.npu,
            state=verdict.state,
            reasons=verdict.reasons,
            faults=verdict.faults,
            health=condition.contact.health,
            since_ms=since_ms,
            cause_ns=cause_ns,
            level=verdict.level,
            upgrades=condition.history.upgrades,
            network=verdict.network,
            in_use=self._in_use(phy),
            kept=verdict.kept,
            reset=self.facts.resets.get(phy),
            dpu=dpus.health.get(phy) if dpus else None,
        )
        if new != old:
            self.shown[phy] = new
            self.touched = True
        if self.facts.rules.couple_cards and condition.coupled:
            self._couple(condition, sick=verdict.sick)

    def look_at_all(self) -> None:
        """Judge every NPU again; no driver event is behind what changes."""
        for condition in list(self.conditions.values()):
            self.look(condition)

    def take_all(self, conditions: Iterable[Condition]) -> None:
        """Take over *conditions*, of which none has news of its own."""
        for condition in list(conditions):
            self.take(condition)

    def _in_use(self, phy: PhyId) -> bool:
        allocations = self.facts.allocations
        if allocations is None or not allocations.known:
            return True  # unknown is not "nobody"
        return bool(allocations.holders.get(phy))

    def _around(self, condition: Condition) -> Circumstances:
        facts = self.facts
        phy = condition.npu.phy
        known = facts.allocations is not None and facts.allocations.known
        return Circumstances(
            catalog=facts.fault_rules.catalog,
            most_failed_rounds=facts.rules.failed_rounds,
            driver_gone=facts.driver_gone,
            share_missing=facts.rules.shares_required and not facts.shares.get(phy),
            in_use=self._in_use(phy),
            held=facts.allocations.shares.get(phy) if known and facts.allocations else None,
            resetting=phy in facts.resets,
            sibling_sick=bool(self.sick) and not self.sick.isdisjoint(self._siblings(condition)),
        )

    def _siblings(self, condition: Condition) -> list[PhyId]:
        """Return the other NPUs of the card, where chips of one card are reset as one."""
        if not condition.coupled:
            return []
        card = condition.npu.identity.address.card
        return [
            phy
            for phy, other in self.conditions.items()
            if phy != condition.npu.phy
            and other.coupled
            and card is not None
            and other.npu.identity.address.card == card
        ]

    def _couple(self, condition: Condition, *, sick: bool) -> None:
        phy = condition.npu.phy
        if sick is (phy in self.sick):
            return
        if sick:
            self.sick.add(phy)
        else:
            self.sick.remove(phy)
        for other in self._siblings(condition):
            self.look(self.conditions[other])

    def _compare_ub(self) -> None:
        """Look whether UB ports are down everywhere: then no NPU is the worse one (W22)."""
        linked = [it for it in self.conditions.values() if it.ports is Ports.UB]
        down = len(linked) > 1 and all(ub_down(it.counting(self.now), it.link) for it in linked)
        if down is not self.facts.all_ub_down:
            self.facts = replace(self.facts, all_ub_down=down)
            self.take_all(linked)

    def _tell(
        self,
        before: Condition | None,
        condition: Condition,
        news: News,
        told: tuple[RuleNotice, ...],
    ) -> None:
        for it in news:
            level = self._level_after(before, condition, it.code)
            self.notices.append(
                HealthNotice(
                    kind=it.kind, npu=condition.npu, code=it.code, level=level, at_ms=it.at_ms
                )
            )
        for notice in told:
            upgrade = notice.upgrade
            released = notice.kind is NoticeKind.RELEASED
            self.notices.append(
                HealthNotice(
                    kind=notice.kind,
                    npu=condition.npu,
                    code=upgrade.code,
                    level=upgrade.level
                    if released or upgrade.code is None
                    else self._level_after(before, condition, upgrade.code),
                    at_ms=notice.at_ms,
                    upgrade=upgrade.kind,
                )
            )

    def _level_after(
        self, before: Condition | None, condition: Condition, code: FaultCode
    ) -> FaultLevel:
        """Return the NPU's level on the plane of *code*; without any, that of the code itself."""
        catalog = self.facts.fault_rules.catalog
        view = self.shown.get(condition.npu.phy)
        level = None
        if view is not None:
            network = catalog.plane_of(code) is Plane.NETWORK
            level = view.network.level if network else view.level
        if level is not None:
            return level
        state = condition.codes.get(code) or (before and before.codes.get(code))
        return catalog.level_of(code, state.severity if state else None)


def _untold(history: History, news: News) -> News:
    """Return *news* without what an earlier agent told of: a fault that outlasted it (D39)."""
    if history.confirmed:
        return news
    codes = history.kept.codes
    return tuple(
        told
        for told in news
        if told.kind is not NoticeKind.OCCURRED
        or told.code not in codes
        or codes[told.code].stands_since_ms is None
    )


def _remember(condition: Condition, news: News, rules: FaultRules, now: Millis) -> Moved:
    """Return the NPU's history after *news*, moved to *now*."""
    history = condition.history
    notices: tuple[RuleNotice, ...] = ()
    for told in news:
        moved = hear(
            history, rules, code=told.code, assertion=_ASSERTIONS[told.kind], at=told.at_ms
        )
        history, notices = moved.history, notices + moved.notices
    moved = advance(history, rules, now)
    return Moved(history=moved.history, notices=notices + moved.notices)
