"""What holds of the fold whatever came before: time passes, rules fire, everything changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fold import Folded, fold
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import FaultCode, FaultLevel, FaultSource, Resync, Severity
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.health import HealthState
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import OperatorEdit
from ascend_agent.model.npu import Inventory
from ascend_agent.model.surroundings import (
    Hangs,
    LinkState,
    LinkStates,
    ResetPhase,
    ResetPhases,
)
from tests.faults.steps import (
    DEGRADED,
    FAILED,
    MINOR,
    READY,
    RESET,
    RESTART,
    UNAVAILABLE,
    UNKNOWN,
    UNRESPONSIVE,
    answer,
    empty,
    holding,
    inventory,
    lost,
    occur,
    once,
    reading,
    recover,
)
from tests.model.samples import Place, make_npu

PRE_SEPARATE = FaultCode(0x8118043C)
UB_DOWN = FaultCode(0x81B18603)
CORE_BUS = FaultCode(0x80C98009)
CODES = (RESTART, RESET, DEGRADED, MINOR, UNKNOWN, PRE_SEPARATE, UB_DOWN, CORE_BUS)

NPUS = (0, 1, 2, 3)
"""Two chips of a card that is reset as one, and two with UB ports."""

RULES = FaultRules(
    catalog=BUILT_IN.catalog,
    frequency={
        RESET: FrequencyRule(
            times=2, window_ms=60_000, release_ms=60_000, level=FaultLevel.SEPARATE_NPU
        ),
        MINOR: FrequencyRule(
            times=3, window_ms=60_000, release_ms=90_000, level=FaultLevel.MANUALLY_SEPARATE_NPU
        ),
        UB_DOWN: FrequencyRule(
            times=9, window_ms=60_000, release_ms=60_000, level=FaultLevel.SUB_HEALTH
        ),
    },
    duration={
        MINOR: DurationRule(
            fault_timeout_ms=5_000, recover_timeout_ms=9_000, level=FaultLevel.PRE_SEPARATE_NPU
        ),
        RESTART: DurationRule(
            fault_timeout_ms=3_000, recover_timeout_ms=4_000, level=FaultLevel.RESTART_NPU
        ),
    },
)
OTHER_RULES = FaultRules(catalog=BUILT_IN.catalog, duration={RESTART: RULES.duration[MINOR]})


def whole() -> Inventory:
    duo = [make_npu(phy, generation="310P", place=Place(card=0, slot=phy)) for phy in (0, 1)]
    ub = [make_npu(phy, generation="950", place=Place()) for phy in (2, 3)]
    return inventory(*duo, *ub)


def partly(npu: int) -> Inventory:
    return inventory(*(each for each in whole().npus if each.phy != npu))


def around(what: str, npu: int) -> list[FoldInput]:
    """Return what else may reach the fold."""
    phy = PhyId(npu)
    told: dict[str, list[FoldInput]] = {
        "unresponsive": [reading(UNRESPONSIVE, npu=npu)],
        "failed": [reading(FAILED, npu=npu)] * 3,
        "lost": [lost(npu=npu)],
        "leave": [partly(npu)],
        "join": [whole()],
        "no driver": [UNAVAILABLE],
        "driver": [READY],
        "resync": [Resync(npu=None, reason="worker")],
        "used": [holding(**{f"npu{npu}": {0}})],
        "free": [Allocations(known=True, holders={})],
        "hang": [Hangs(since_ms={phy: Millis(1)})],
        "ports": [LinkStates(npus={phy: LinkState(ub_down=1, bonding_down=2, link_down=True)})],
        "no ports": [LinkStates()],
        "reset": [ResetPhases(npus={phy: ResetPhase.RESETTING})],
        "rules": [RULES],
        "other rules": [OTHER_RULES],
        "release": [OperatorEdit(released=frozenset({phy}))],
    }
    return told.get(what, [])


EVENTS = ("occur", "occur", "recover", "once", "ask", "answer", "wait")
AROUND = (
    *("unresponsive", "failed", "lost", "leave", "join", "no driver", "driver", "resync"),
    *("used", "free", "hang", "ports", "reset", "rules", "other rules", "release"),
)

Step = tuple[str, int, FaultCode, int]
stories = st.lists(
    st.tuples(
        st.sampled_from((*EVENTS, *EVENTS, *AROUND)),
        st.sampled_from(NPUS),
        st.sampled_from(CODES),
        st.sampled_from((0, 1, 700, 2_000, 5_001, 30_000)),
    ),
    min_size=10,  # or most have five steps
    max_size=40,
)


@dataclass
class Play:
    """A node in time: its driver's truth, its ledger, and everything that ever came of it."""

    now: int = 1_000_000
    sequence: int = 0
    codes: dict[int, set[FaultCode]] = field(default_factory=lambda: {npu: set() for npu in NPUS})
    under_way: list[tuple[int, int, frozenset[FaultCode]]] = field(default_factory=list)
    ledger: Ledger = field(
        default_factory=lambda: empty(
            fault_rules=RULES, rules=HealthRules(shares_required=False, couple_cards=True)
        )
    )
    folded: list[Folded] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fold([READY, whole(), *self.read_all()])

    def fold(self, items: list[FoldInput]) -> Folded:
        step = fold(self.ledger, items, Millis(self.now))
        self.ledger = step.ledger
        self.folded.append(step)
        return step

    def do(self, step: Step) -> list[FoldInput]:
        """Return what *step* makes reach the fold; events are told or, sometimes, lost."""
        what, npu, code, wait_ms = step
        if what == "occur":
            self.codes[npu].add(code)
        elif what == "recover":
            self.codes[npu].discard(code)
        elif what == "ask":
            self.under_way.append((npu, self.sequence, frozenset(self.codes[npu])))
        elif what == "answer" and self.under_way:
            asked_of, asked, listed = self.under_way.pop(0)
            return [answer(*listed, asked=asked, npu=asked_of, at=self.now)]
        if what in {"occur", "recover", "once"} and wait_ms != 1:
            self.sequence += 1
            return [self._event(what, npu, code)]
        return around(what, npu)

    def _event(self, what: str, npu: int, code: FaultCode) -> FoldInput:
        if what == "occur":
            severity = Severity.MAJOR
            return occur(code, seq=self.sequence, npu=npu, at=self.now, severity=severity)
        tell = recover if what == "recover" else once
        return tell(code, seq=self.sequence, npu=npu, at=self.now)

    def wait(self, until: int) -> None:
        """Let time pass, folding whenever the fold wants it."""
        while (wake_at := self.ledger.wake_at_ms) is not None and wake_at <= until:
            self.now = wake_at
            self.fold([])
        self.now = until

    def read_all(self) -> list[FoldInput]:
        return [
            answer(*codes, asked=self.sequence, npu=npu, at=self.now, health=1)
            for npu, codes in self.codes.items()
        ]

    def calm(self) -> None:
        """Let everything around be well, and the driver be read."""
        self.fold(
            [
                *(READY, whole(), Hangs(), LinkStates(), ResetPhases()),
                Allocations(known=True, holders={}),
                *self.read_all(),
            ]
        )

    def tell(self, story: list[Step]) -> Iterator[Folded]:
        for step in story:
            yield self.fold(self.do(step))
            self.wait(self.now + step[3])


def _play(story: list[Step]) -> Play:
    play = Play()
    for _ in play.tell(story):
        pass
    return play


@settings(deadline=None, max_examples=40)
@given(stories)
def test_once_quiet_and_read_the_drivers_codes_are_its_list(story: list[Step]) -> None:
    play = _play(story)

    play.calm()
    play.wait(play.now + 10_000)
    play.fold(play.read_all())

    view = play.ledger.view
    assert view is not None
    for each in view.npus:
        listed = {
            code
            for code in play.codes[each.npu.phy]
            if code != UB_DOWN or each.npu.generation == "950"
        }
        if RESTART in listed and CORE_BUS not in {it.code for it in each.faults}:
            listed.discard(CORE_BUS)  # the memory fault explains it (D14)
        told = {it.code for it in each.faults if it.source is FaultSource.DRIVER}
        assert told == listed
        assert all(it.lasting for it in each.faults)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from((*EVENTS, "ports", "no ports", "leave", "join")),
            st.just(2),
            st.sampled_from((UB_DOWN, RESTART)),
            st.sampled_from((0, 700, 5_001)),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_what_the_rules_take_for_standing_stands(story: list[Step]) -> None:
    """D12, D15: whoever tells of it, and whoever takes over from whom."""
    play = Play()
    for step in play.tell(story):
        rules = step.ledger.facts.fault_rules
        for each in step.ledger.conditions.values():
            known = {
                code
                for code, record in each.history.kept.codes.items()
                if record.stands_since_ms is not None
            }
            stands = each.standing().keys()
            ruled = {code for code in stands if code in rules.frequency or code in rules.duration}
            assert not each.history.confirmed or ruled <= known <= stands


@settings(deadline=None, max_examples=40)
@given(stories)
def test_nothing_stays_out_of_service_once_its_cause_is_gone(story: list[Step]) -> None:
    """HL-1: rules with an end end; only people lift the others."""
    play = _play(story)
    for codes in play.codes.values():
        codes.clear()

    play.calm()
    play.fold([OperatorEdit(released=frozenset(map(PhyId, NPUS)))])
    play.wait(play.now + 1_000_000)

    view = play.ledger.view
    assert view is not None
    assert [each.state for each in view.npus] == [HealthState.HEALTHY] * len(NPUS)
    assert all(each.faults == () and each.network.healthy for each in view.npus)
    assert play.ledger.wake_at_ms is None
    assert play.ledger.isolation is not None
    assert all(not kept.upgrades for kept in play.ledger.isolation.npus.values())


@settings(deadline=None, max_examples=30)
@given(stories)
def test_the_view_is_what_judging_everything_anew_gives(story: list[Step]) -> None:
    """D6, D28: changes are folded in one by one, and looking changes nothing."""
    play = Play()
    for step in play.tell(story):
        facts = step.ledger.facts
        again: list[FoldInput] = [facts.fault_rules, ResetPhases(npus=facts.resets)]
        anew = fold(step.ledger, again, Millis(play.now))
        assert anew.ledger.view is step.ledger.view
        assert anew.notices == ()
        assert anew.wake_at == step.wake_at


@settings(deadline=None, max_examples=40)
@given(stories)
def test_the_fold_never_wants_to_be_woken_at_once(story: list[Step]) -> None:
    """A deadline that is not in the future would keep the processor busy for nothing."""
    play = Play()
    for step in play.tell(story):
        assert step.wake_at is None or step.wake_at > play.now
        assert step.wake_at == step.ledger.wake_at_ms


@settings(deadline=None, max_examples=40)
@given(stories, st.integers(2, 7))
def test_how_inputs_are_gathered_does_not_matter(story: list[Step], size: int) -> None:
    """A loop that was held up folds many at once, at one moment, with the same outcome."""
    source = Play()
    items = [item for step in story for item in source.do(step)]
    single, gathered = Play(), Play()
    told = [notice for item in items for notice in single.fold([item]).notices]
    also = [
        notice
        for start in range(0, len(items), size)
        for notice in gathered.fold(items[start : start + size]).notices
    ]

    assert single.ledger.view is not None
    assert gathered.ledger.view is not None
    assert single.ledger.view.npus == gathered.ledger.view.npus
    assert single.ledger.isolation == gathered.ledger.isolation
    assert single.ledger.wake_at_ms == gathered.ledger.wake_at_ms
    assert told == also


@settings(deadline=None, max_examples=40)
@given(stories)
def test_what_happens_to_one_npu_leaves_the_others_alone(story: list[Step]) -> None:
    """A flapping NPU costs what its own events cost, and asks about itself alone."""
    play = Play()
    for number, (what, _, code, wait_ms) in enumerate(story):
        before = play.ledger.view
        step = play.fold(play.do((what, 2, code, wait_ms)) if what in EVENTS else [])
        assert before is not None
        assert step.ledger.view is not None
        assert step.requeries <= {2}, number
        for old, new in zip(before.npus, step.ledger.view.npus, strict=True):
            assert new is old or new.npu.phy == 2
        play.wait(play.now + wait_ms)


def test_a_flood_leaves_a_bounded_trace() -> None:
    play = Play()
    for number in range(600):
        code = FaultCode(0x10000000 + number * 7919 % 400)
        play.fold(play.do((("occur", "recover", "once")[number % 3], 0, code, 0)))
        play.now += number % 3
    condition = play.ledger.conditions[PhyId(0)]

    assert len(condition.codes) == 128
    assert len(condition.checks) <= 128
    assert condition.history.kept.codes == {}
