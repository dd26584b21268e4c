import pytest

from ascend_agent.faults.upgrades import MANUAL, autofill_release_ms, lifted_by_people, ordered
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from tests.faults.rule_steps import LINK, RESET, make_rules, often


def upgrade(
    code: FaultCode | None,
    kind: UpgradeKind = UpgradeKind.FREQUENCY,
    level: FaultLevel = MANUAL,
) -> Upgrade:
    return Upgrade(code=code, level=level, kind=kind, at_ms=Millis(0))


AUTOFILLED = upgrade(None, UpgradeKind.AUTOFILL)
PRE = FaultLevel.PRE_SEPARATE_NPU


def test_upgrades_ascend_by_code_and_kind() -> None:
    """Faults D24: an order that depends on chance makes changes where there are none."""
    timed = upgrade(LINK, UpgradeKind.DURATION, PRE)

    found = ordered([upgrade(RESET), timed, upgrade(LINK), AUTOFILLED])

    assert found == (AUTOFILLED, upgrade(RESET), upgrade(LINK), timed)


@pytest.mark.parametrize(
    ("one", "lifted"),
    [
        (upgrade(RESET), True),
        (AUTOFILLED, True),
        (upgrade(RESET, level=FaultLevel.RESTART_NPU), False),
        (upgrade(LINK, UpgradeKind.DURATION, PRE), False),
    ],
)
def test_people_lift_manual_separations_alone(one: Upgrade, *, lifted: bool) -> None:
    """Faults 3.5: reasons of other levels stay."""
    assert lifted_by_people(one) is lifted


def test_an_isolation_without_a_reason_lasts_as_long_as_the_longest_window() -> None:
    """Faults 3.5; the rules that never release say nothing about it."""
    rules = make_rules(frequency={LINK: often(5, release_s=60), RESET: often(3, release_s=90)})

    assert autofill_release_ms(rules) == 90_000
    assert autofill_release_ms(make_rules(frequency={RESET: often(3)})) is None
