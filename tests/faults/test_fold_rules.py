"""Rules over time, operators and restarts, as far as the fold has to do with them."""

from dataclasses import replace

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.health import HealthState, UnhealthyReason
from ascend_agent.model.ids import DieId, Millis, PhyId
from ascend_agent.model.isolation import (
    CodeHistory,
    Isolation,
    NpuIsolation,
    OperatorEdit,
    Restored,
    Upgrade,
    UpgradeKind,
)
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.npu import Npu
from tests.faults.steps import (
    MINOR,
    READY,
    RESET,
    RESTART,
    answer,
    empty,
    fold,
    folded,
    healthy,
    inventory,
    occur,
    once,
    partial,
    recover,
    shown,
)
from tests.model.samples import make_npu

TWICE = FrequencyRule(times=2, window_ms=60_000, release_ms=60_000, level=FaultLevel.RESTART_NPU)
TWICE_FOR_GOOD = replace(TWICE, release_ms=None, level=FaultLevel.MANUALLY_SEPARATE_NPU)
LONG = DurationRule(
    fault_timeout_ms=20_000, recover_timeout_ms=60_000, level=FaultLevel.PRE_SEPARATE_NPU
)


def rules(
    *,
    frequency: dict[FaultCode, FrequencyRule] | None = None,
    duration: dict[FaultCode, DurationRule] | None = None,
    catalog: Catalog = BUILT_IN.catalog,
) -> FaultRules:
    return FaultRules(catalog=catalog, frequency=frequency or {}, duration=duration or {})


def under(fault_rules: FaultRules, *npus: int) -> Ledger:
    return healthy(*(npus or (0,)), ledger=empty(fault_rules=fault_rules))


def flap(ledger: Ledger, code: FaultCode, *, seq: int, at: int, gone: int) -> Ledger:
    """Let *code* stand from *at* to *gone*, both in ms; its recovery is confirmed at once."""
    ledger = fold(ledger, [occur(code, seq=seq, at=at)], now=at)
    return fold(
        ledger,
        [recover(code, seq=seq + 1, at=gone), answer(asked=seq + 1, at=gone)],
        now=gone,
    )


def separated() -> Ledger:
    """Return a node whose NPU 0 was separated at 60 s for occurring twice, and recovered."""
    ledger = flap(
        under(rules(frequency={RESET: TWICE_FOR_GOOD})), RESET, seq=1, at=30_000, gone=35_000
    )
    return flap(ledger, RESET, seq=3, at=60_000, gone=65_000)


# --- rules ----------------------------------------------------------------------------------


def test_a_code_that_occurs_too_often_raises_the_level_until_it_is_released() -> None:
    """Timeline F: fired at 30 s, recovered at 35 s, released once 60 s have passed."""
    ledger = flap(under(rules(frequency={RESTART: TWICE})), RESTART, seq=1, at=30_000, gone=35_000)
    fired = folded(ledger, occur(RESTART, seq=3, at=60_000), now=60_000)

    assert [it.kind for it in fired.notices] == [NoticeKind.OCCURRED, NoticeKind.UPGRADED]
    assert shown(fired.ledger).level is FaultLevel.RESTART_NPU
    assert shown(fired.ledger).reasons == (UnhealthyReason.FAULT, UnhealthyReason.UPGRADED)

    items: list[FoldInput] = [recover(RESTART, seq=4, at=65_000), answer(asked=4, at=65_000)]
    ledger = fold(fired.ledger, items, now=65_000)
    assert shown(ledger).reasons == (UnhealthyReason.UPGRADED,)
    assert ledger.wake_at_ms == 125_001

    released = folded(ledger, now=125_001)
    assert shown(released.ledger).healthy
    (notice,) = released.notices
    assert (notice.kind, notice.at_ms) == (NoticeKind.RELEASED, 125_001)
    assert (notice.level, notice.upgrade) == (FaultLevel.RESTART_NPU, UpgradeKind.FREQUENCY)
    assert released.wake_at is None


def test_a_duplicate_is_no_second_occurrence() -> None:
    ledger = under(rules(frequency={RESTART: TWICE}))
    events = [occur(RESTART, seq=seq, at=30_000 + seq) for seq in range(1, 9)]

    assert shown(fold(ledger, events, now=31_000)).upgrades == ()


def test_a_one_off_is_counted() -> None:
    ledger = under(rules(frequency={RESTART: TWICE}))
    events = [once(RESTART, seq=seq, at=30_000 + seq) for seq in (1, 2)]

    assert [it.kind for it in shown(fold(ledger, events, now=31_000)).upgrades] == [
        UpgradeKind.FREQUENCY
    ]


def test_a_code_that_was_found_by_reading_is_counted() -> None:
    ledger = under(rules(frequency={RESTART: TWICE}))
    readings = [
        answer(RESTART, at=30_000),
        answer(at=35_000),
        answer(RESTART, at=40_000),
    ]

    assert shown(fold(ledger, readings, now=40_000)).upgrades != ()


def test_a_link_that_is_down_for_long_breaks_the_network_alone() -> None:
    """W6: exactly at 20.001 s and 60.001 s."""
    ledger = under(rules(duration={MINOR: LONG}))
    ledger = fold(ledger, [occur(MINOR, seq=1, at=30_000)], now=30_000)
    assert ledger.wake_at_ms == 50_001

    ledger = fold(ledger, [], now=50_001)
    assert shown(ledger).network.level is FaultLevel.PRE_SEPARATE_NPU
    assert not shown(ledger).network.healthy
    assert shown(ledger).healthy

    items: list[FoldInput] = [recover(MINOR, seq=2, at=75_000), answer(asked=2, at=75_000)]
    ledger = fold(ledger, items, now=75_000)
    assert ledger.wake_at_ms == 135_001
    assert shown(fold(ledger, [], now=135_001)).network.healthy


def test_manual_separation_has_a_reason_of_its_own() -> None:
    """W8."""
    told = shown(separated())

    assert told.reasons == (UnhealthyReason.MANUALLY_SEPARATED,)
    assert told.level is FaultLevel.MANUALLY_SEPARATE_NPU
    assert told.faults == ()


# --- operators ------------------------------------------------------------------------------


def test_an_operators_release_shows_at_once() -> None:
    """W8, both in the same view."""
    step = folded(separated(), OperatorEdit(released=frozenset({PhyId(0), PhyId(7)})), now=80_000)

    assert shown(step.ledger).healthy
    assert [(it.kind, it.at_ms) for it in step.notices] == [(NoticeKind.RELEASED, 80_000)]
    assert step.ledger.isolation is not None
    assert step.ledger.isolation.npus == {}


def test_other_rules_are_in_force_at_once() -> None:
    catalog = replace(BUILT_IN.catalog, levels={RESET: FaultLevel.NOT_HANDLE})
    ledger = fold(healthy(0), [occur(RESET, seq=1)])
    assert not shown(ledger).healthy

    ledger = fold(ledger, [rules(catalog=catalog)])

    assert shown(ledger).state is HealthState.HEALTHY
    assert ledger.catalog is catalog


def test_a_rule_that_goes_leaves_the_npu_isolated_until_people_release_it() -> None:
    """W24, D38."""
    ledger = fold(separated(), [rules()], now=80_000)

    assert shown(ledger).reasons == (UnhealthyReason.MANUALLY_SEPARATED,)


# --- restart --------------------------------------------------------------------------------


def remembered(*upgrades: Upgrade, die: str | None = None, **codes: CodeHistory) -> NpuIsolation:
    return NpuIsolation(
        upgrades=upgrades,
        codes={FaultCode(int(code[1:], 16)): known for code, known in codes.items()},
        die=None if die is None else DieId(die),
    )


MANUAL = Upgrade(
    code=RESET,
    level=FaultLevel.MANUALLY_SEPARATE_NPU,
    kind=UpgradeKind.FREQUENCY,
    at_ms=Millis(5_000),
)


def restored(kept: NpuIsolation, *, npu: int = 0) -> Restored:
    return Restored(isolation=Isolation(npus={PhyId(npu): kept}), source="file")


def with_die(phy: int, die: str) -> Npu:
    npu = make_npu(phy)
    return replace(npu, identity=replace(npu.identity, die=DieId(die)))


def test_the_first_list_waits_for_what_an_earlier_agent_remembered() -> None:
    """W11: an isolated NPU is never offered, not even for a moment, and nobody is told again."""
    awaits = HealthRules(shares_required=False, restore_awaited=True)
    ledger = fold(empty(rules=awaits), [READY, inventory(0), answer()], now=20_000)
    assert ledger.view is None
    assert ledger.isolation is None
    assert ledger.wake_at_ms == 20_300

    step = folded(ledger, restored(remembered(MANUAL)), now=20_100)

    assert step.notices == ()
    assert shown(step.ledger).reasons == (UnhealthyReason.MANUALLY_SEPARATED,)
    assert step.ledger.isolation is not None
    assert PhyId(0) in step.ledger.isolation.npus


def test_the_first_list_does_not_wait_for_ever() -> None:
    awaits = HealthRules(shares_required=False, restore_awaited=True)
    ledger = fold(empty(rules=awaits), [READY, inventory(0), answer()], now=20_000)

    ledger = fold(ledger, [], now=20_300)
    assert shown(ledger).healthy
    assert ledger.isolation is None

    late = fold(ledger, [restored(remembered(MANUAL))], now=21_000)
    assert not shown(late).healthy


def test_what_was_remembered_waits_for_its_npu() -> None:
    ledger = fold(empty(), [restored(remembered(MANUAL)), READY])
    assert ledger.isolation is not None
    assert ledger.isolation.npus[PhyId(0)].upgrades == (MANUAL,)

    ledger = fold(ledger, [inventory(0), answer()])

    assert not shown(ledger).healthy
    assert ledger.facts.remembered == {}


def test_an_operator_releases_an_npu_that_is_not_there() -> None:
    edit = OperatorEdit(released=frozenset({PhyId(0)}))
    ledger = fold(empty(), [restored(remembered(MANUAL)), edit, READY, inventory(0), answer()])

    assert shown(ledger).healthy


def test_an_npu_that_left_the_inventory_comes_back_isolated() -> None:
    gone = fold(separated(), [inventory()], now=70_000)
    assert gone.isolation is not None
    assert PhyId(0) in gone.isolation.npus

    back = fold(gone, [inventory(0), answer()], now=71_000)

    assert shown(back).reasons == (UnhealthyReason.MANUALLY_SEPARATED,)


def test_a_code_that_ended_while_its_npu_was_away_has_ended() -> None:
    """It could not occur a second time otherwise, nor be forgiven."""
    ledger = under(rules(frequency={RESET: TWICE}))
    ledger = fold(ledger, [occur(RESET, seq=1, at=21_000)], now=21_000)
    ledger = fold(ledger, [inventory()], now=22_000)
    ledger = fold(ledger, [inventory(0), answer(asked=1)], now=23_000)

    ledger = fold(ledger, [occur(RESET, seq=2, at=30_000)], now=30_000)

    assert [it.at_ms for it in shown(ledger).upgrades] == [30_000]


def test_other_rules_concern_an_npu_that_is_away_too() -> None:
    """Restored under the built-in rules, before the operator's were read."""
    upgrade = Upgrade(code=RESET, level=TWICE.level, kind=UpgradeKind.FREQUENCY, at_ms=Millis(1))
    ledger = empty(fault_rules=rules(frequency={RESET: TWICE}))
    ledger = fold(ledger, [READY, restored(remembered(upgrade))])
    assert ledger.isolation is not None
    assert PhyId(0) in ledger.isolation.npus

    ledger = fold(ledger, [rules(), inventory(0), answer()])

    assert shown(ledger).healthy
    assert ledger.isolation == Isolation()


def test_a_replaced_card_does_not_inherit() -> None:
    kept = restored(remembered(MANUAL, die="A"))
    same = fold(empty(), [kept, READY, inventory(with_die(0, "A")), answer()])
    other = fold(empty(), [kept, READY, inventory(with_die(0, "B")), answer()])

    assert not shown(same).healthy
    assert shown(other).healthy


def test_a_fault_that_stood_at_the_restart_is_not_counted_again() -> None:
    """D39."""
    known = CodeHistory(
        occurrences=(Millis(19_000),),
        last_fault_ms=Millis(19_000),
        stands_since_ms=Millis(19_000),
    )
    ledger = empty(fault_rules=rules(frequency={RESET: TWICE}))
    ledger = fold(ledger, [restored(remembered(x80E18005=known)), READY, inventory(0)])

    still = fold(ledger, [answer(RESET, health=2)])
    assert shown(still).upgrades == ()

    again = fold(still, [answer(), answer(RESET, health=2)])
    assert shown(again).upgrades != ()


def test_what_ended_while_nobody_looked_ends_with_the_first_reading() -> None:
    """W6 with a restart: the limit of the recovery runs from the first reading."""
    upgrade = Upgrade(code=MINOR, level=LONG.level, kind=UpgradeKind.DURATION, at_ms=Millis(19_000))
    ledger = empty(fault_rules=rules(duration={MINOR: LONG}))
    ledger = fold(ledger, [restored(remembered(upgrade)), READY, inventory(0)])
    assert ledger.wake_at_ms == 20_300

    ledger = fold(ledger, [answer(at=20_100)], now=20_100)

    assert not shown(ledger).network.healthy
    assert ledger.wake_at_ms == 80_101
    released = folded(ledger, now=80_101)
    assert shown(released.ledger).network.healthy
    assert [it.kind for it in released.notices] == [NoticeKind.RELEASED]


def test_no_limit_ends_before_the_codes_were_read() -> None:
    """Half an answer says nothing of what stands."""
    upgrade = Upgrade(code=MINOR, level=LONG.level, kind=UpgradeKind.DURATION, at_ms=Millis(19_000))
    ledger = empty(fault_rules=rules(duration={MINOR: LONG}))
    ledger = fold(ledger, [restored(remembered(upgrade)), READY, inventory(0)])

    half = fold(ledger, [partial(health=0)], now=20_100)
    assert half.wake_at_ms is None
    assert fold(half, [answer(at=20_200)], now=20_200).wake_at_ms == 80_201


def test_what_is_restored_late_has_the_driver_asked() -> None:
    step = folded(healthy(0), restored(remembered(MANUAL)))

    assert step.requeries == {PhyId(0)}
    assert folded(step.ledger, restored(remembered(MANUAL))).requeries == frozenset()


def test_isolation_is_the_same_object_while_nothing_of_it_changes() -> None:
    """Whoever writes it down compares by identity."""
    before = separated()
    after = fold(before, [occur(RESTART, seq=9, at=70_000)], now=70_000)

    assert after.isolation is before.isolation
