"""A history in the making: consistent after each change, whatever was there before."""

from ascend_agent.faults.draft import ORPHAN_MS
from ascend_agent.faults.duration import Machine
from ascend_agent.faults.history import EMPTY, begin, finish
from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory, Upgrade, UpgradeKind
from tests.faults.rule_steps import BUSINESS, LINK, RESET, SHIPPED, longer, make_rules, ms, often

BOTH = make_rules(
    frequency={LINK: often(2, release_s=40)}, duration={LINK: longer(20, 60), RESET: longer(1, 1)}
)
MILD = Upgrade(
    code=BUSINESS,
    level=FaultLevel.RESTART_NPU,
    kind=UpgradeKind.FREQUENCY,
    at_ms=ms(1),
)


def test_an_occurrence_at_the_moment_of_a_release_prevents_it() -> None:
    """Faults 3.2: durations are counted before the frequency is judged."""
    draft = begin(EMPTY, BOTH)
    draft.upgrades[LINK, UpgradeKind.FREQUENCY] = Upgrade(
        code=LINK, level=FaultLevel.RESTART_NPU, kind=UpgradeKind.FREQUENCY, at_ms=ms(1)
    )
    draft.codes[LINK] = CodeHistory(last_fault_ms=ms(1), last_recover_ms=ms(10))
    draft.raise_code(LINK, ms(30))

    assert draft.dues == {LINK: ms(50.001)}  # the release and the time-out alike

    draft.advance(ms(50.001))

    assert (LINK, UpgradeKind.FREQUENCY) in draft.upgrades
    assert draft.upgrades[LINK, UpgradeKind.FREQUENCY].at_ms == ms(50)


def test_a_duration_without_a_rule_about_how_often_is_forgotten_when_it_ends() -> None:
    draft = begin(EMPTY, BOTH)
    draft.raise_code(RESET, ms(0))
    draft.advance(ms(5))
    draft.clear_code(RESET, ms(6))

    assert draft.codes == {}
    assert draft.machines == {RESET: Machine(timed_out=True, since_ms=ms(6))}

    draft.advance(ms(7.001))

    assert (draft.codes, draft.machines, draft.upgrades, draft.dues) == ({}, {}, {}, {})


def test_occurrences_under_an_upgrade_without_its_rule_move_its_release() -> None:
    draft = begin(EMPTY, SHIPPED)
    draft.upgrades[BUSINESS, UpgradeKind.FREQUENCY] = MILD
    draft.codes[BUSINESS] = CodeHistory(last_fault_ms=ms(1), last_recover_ms=ms(2))
    draft.raise_code(BUSINESS, ms(100))

    assert draft.dues == {}

    draft.clear_code(BUSINESS, ms(200))

    assert draft.dues == {BUSINESS: Millis(ms(200) + ORPHAN_MS + 1)}


def test_a_code_that_has_no_rule_any_more_is_forgotten_when_it_is_gone() -> None:
    draft = begin(EMPTY, SHIPPED)
    draft.codes[BUSINESS] = CodeHistory(stands_since_ms=ms(1))
    draft.note_once(BUSINESS, ms(2))

    assert BUSINESS in draft.codes

    draft.clear_code(BUSINESS, ms(3))

    assert draft.codes == {}


def test_to_settle_everything_notes_every_deadline() -> None:
    """After a restore or a change of the rules, when no call told which codes it concerns."""
    draft = begin(EMPTY, BOTH)
    draft.codes[LINK] = CodeHistory(stands_since_ms=ms(1))
    draft.machines[LINK] = Machine(since_ms=ms(1))
    draft.codes[RESET] = CodeHistory(last_fault_ms=ms(1))
    draft.dues[BUSINESS] = ms(7)
    draft.upgrades[None, UpgradeKind.AUTOFILL] = Upgrade(
        code=None,
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.AUTOFILL,
        at_ms=ms(1),
    )
    draft.settle_all()

    assert draft.dues == {LINK: ms(21.001), None: ms(41.001)}
    assert list(draft.codes) == [LINK]


def test_notices_are_in_the_order_of_their_time() -> None:
    """Two codes that were due meanwhile, the later one first in the table."""
    draft = begin(EMPTY, make_rules(duration={LINK: longer(50, 1), RESET: longer(1, 1)}))
    draft.raise_code(LINK, ms(0))
    draft.raise_code(RESET, ms(0))
    draft.advance(ms(100))

    moved = finish(draft, EMPTY, confirmed=True)

    assert [notice.at_ms for notice in moved.notices] == [ms(1), ms(50)]
