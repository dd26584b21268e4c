"""Each thing that can be wrong has a title, a meaning and an action, in plain words."""

import pytest

from ascend_agent.faults.catalog import BUILT_IN, CATALOG, TABLE, Role
from ascend_agent.faults.meanings import (
    Meaning,
    describe_release,
    describe_rules,
    explain,
    explain_dpus,
    explain_fault,
    explain_level,
    explain_raised,
    explain_reason,
    explain_switch,
    explain_switch_level,
    explain_upgrade,
)
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import CARD_DROP, FaultCode, FaultLevel, Plane, Severity
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule, SwitchLevel
from ascend_agent.model.health import ActiveFault, UnhealthyReason
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.model.surroundings import DpuHealth

PARITY, LINK_DOWN, UNKNOWN = FaultCode(0x80E18005), FaultCode(0x81078603), FaultCode(0x8ABCDEF0)
NETWORK_LEVELS = {
    FaultLevel.NOT_HANDLE,
    FaultLevel.SUB_HEALTH,
    FaultLevel.PRE_SEPARATE_NPU,
    FaultLevel.SEPARATE_NPU,
    FaultLevel.MANUALLY_SEPARATE_NPU,
}


def everything() -> dict[str, Meaning]:
    return {
        **{f"chip {level.value}": explain_level(level) for level in FaultLevel},
        **{f"network {level.value}": explain_level(level, Plane.NETWORK) for level in FaultLevel},
        **{code.value: explain(number, CATALOG) for number, code in TABLE.roles.items()},
        **{reason.value: explain_reason(reason) for reason in UnhealthyReason},
        **{kind.value: explain_upgrade(kind) for kind in UpgradeKind},
        **{f"switch {level.value}": explain_switch_level(level) for level in SwitchLevel},
        **{f"dpus {health.value}": explain_dpus(health) for health in DpuHealth},
        **{text: explain_switch(text, level) for text, level in BUILT_IN.switches.items()},
        **{str(severity): explain(UNKNOWN, CATALOG, severity) for severity in (None, *Severity)},
        "unknown switch": explain_switch("[0x12345678,1,npu,na]", None),
    }


@pytest.mark.parametrize("name", everything())
def test_whatever_can_be_wrong_is_explained_in_whole_sentences(name: str) -> None:
    found = everything()[name]

    assert 4 <= len(found.title) <= 60
    assert not found.title.endswith(".")
    for text in (found.meaning, found.action):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "  " not in text
        assert ". ." not in text


def test_every_known_code_is_explained() -> None:
    codes = [*CATALOG.levels, *CATALOG.network_levels]

    assert all(explain(code, CATALOG).meaning for code in codes)


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.DPU_SUB_HEALTH}, key=str))
def test_a_special_code_says_more_than_its_level(role: Role) -> None:
    code = next(code for code, each in TABLE.roles.items() if each is role)
    found = explain(code, CATALOG)
    level = explain_level(CATALOG.level_of(code, None), CATALOG.plane_of(code))

    assert found.title != level.title
    assert found.meaning.endswith(f" {level.meaning}")


def test_a_special_code_outside_the_table_has_no_consequence_of_its_own() -> None:
    """It stands beside an NPU's faults and never among them."""
    found = explain(FaultCode(0x200001001), CATALOG)

    assert found.title == "DPU NIC degraded"
    assert found.meaning.endswith("The NPU itself stays in service.")


def test_the_level_in_force_is_explained_not_the_one_that_was_shipped() -> None:
    catalog = Catalog(levels={CARD_DROP: FaultLevel.NOT_HANDLE}, spellings={})

    assert "stays in service" in explain(CARD_DROP, catalog).meaning
    assert "out of service" in explain(CARD_DROP, CATALOG).meaning


def test_a_networks_code_never_takes_the_npu_out() -> None:
    for level in FaultLevel:
        meaning = explain_level(level, Plane.NETWORK).meaning
        assert ("network" in meaning) == (level in NETWORK_LEVELS)
    assert "RoCE" in explain(LINK_DOWN, CATALOG).title


@pytest.mark.parametrize(
    ("severity", "says", "effect"),
    [
        (Severity.WARNING, "a warning", "stays in service"),
        (Severity.MINOR, "minor", "stays in service"),
        (Severity.MAJOR, "major", "out of service"),
        (Severity.CRITICAL, "critical", "out of service"),
        (None, "taken for the worst", "out of service"),
    ],
)
def test_an_unknown_code_is_explained_by_its_severity(
    severity: Severity | None, says: str, effect: str
) -> None:
    found = explain(UNKNOWN, CATALOG, severity)

    assert "does not know" in found.title
    assert says in found.meaning
    assert effect in found.meaning


def test_a_switch_fault_says_where_and_what_it_does_to_the_node() -> None:
    found = explain_switch("[0x08520003,na,L2,na]", SwitchLevel.NOT_HANDLE)
    other = explain_switch("[0x00f103b0,155649,na,na]", SwitchLevel.SEPARATE)

    assert found.title == "link down of a switch port towards the second switch layer"
    assert other.title == "fault of a Lingqu switch"
    assert "unhealthy" in other.meaning


def test_an_unknown_switch_fault_is_explained_by_severity() -> None:
    found = explain_switch("[0x12345678,1,npu,na]", None)

    assert found.title == "fault of a switch port towards an NPU"
    assert "severity decides" in found.meaning


def test_the_rules_about_a_code_are_told_in_words() -> None:
    assert describe_rules(PARITY, BUILT_IN) == (
        "3 times within 24 h: the NPU is raised to ManuallySeparateNPU, until people lift it",
    )
    assert describe_rules(LINK_DOWN, BUILT_IN) == (
        (
            "5 times too long within 24 h: the NPU is raised to ManuallySeparateNPU, "
            "until 48 h after its last recovery"
        ),
        (
            "longer than 20 s at a time: the NPU is raised to PreSeparateNPU, "
            "until it was gone for longer than 60 s"
        ),
    )
    assert describe_rules(UNKNOWN, BUILT_IN) == ()


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (0, "0 s"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (60_000, "60 s"),
        (90_000, "90 s"),
        (180_000, "3 min"),
        (3_600_000, "60 min"),
        (10_800_000, "3 h"),
        (864_000_000, "10 days"),
    ],
)
def test_a_span_is_told_in_a_unit_that_is_easy_to_read(span_ms: int, text: str) -> None:
    level = FaultLevel.SEPARATE_NPU
    rule = DurationRule(fault_timeout_ms=span_ms, recover_timeout_ms=0, level=level)
    rules = FaultRules(catalog=CATALOG, duration={PARITY: rule})

    assert describe_rules(PARITY, rules)[0].startswith(f"longer than {text} at a time")


def test_a_rule_that_ends_by_itself_says_when() -> None:
    rule = FrequencyRule(
        times=2, window_ms=60_000, release_ms=86_400_000, level=FaultLevel.RESTART_NPU
    )
    rules = FaultRules(catalog=CATALOG, frequency={PARITY: rule})

    assert describe_rules(PARITY, rules) == (
        "2 times within 60 s: the NPU is raised to RestartNPU, until 24 h after its last recovery",
    )


@pytest.mark.parametrize(
    ("level", "consequence"),
    [
        (FaultLevel.NOT_HANDLE, "The NPU stays in service."),
        (FaultLevel.SEPARATE_NPU, "No restart and no reset helps"),
    ],
)
def test_an_unknown_code_that_stands_is_explained_by_the_level_it_has(
    level: FaultLevel, consequence: str
) -> None:
    """Its severity decided long ago; the worst case would only frighten people."""
    fault = ActiveFault(code=UNKNOWN, level=level, isolates=False, since_ms=Millis(0))

    meaning = explain_fault(fault, CATALOG)

    assert meaning.title == "code that the fault table does not know"
    assert "The driver's severity gave it its level." in meaning.meaning
    assert consequence in meaning.meaning


def test_a_fault_that_stands_is_explained_on_its_plane() -> None:
    fault = ActiveFault(
        code=LINK_DOWN,
        level=FaultLevel.PRE_SEPARATE_NPU,
        isolates=False,
        since_ms=Millis(0),
        plane=Plane.NETWORK,
    )

    meaning = explain_fault(fault, CATALOG)

    assert meaning.title == "RoCE link down"
    assert "network counts as unfit" in meaning.meaning


def raised(
    kind: UpgradeKind, level: FaultLevel, code: FaultCode | None = PARITY
) -> tuple[Upgrade, Catalog]:
    return Upgrade(code=code, level=level, kind=kind, at_ms=Millis(0)), CATALOG


def test_a_raised_level_says_its_rule_and_then_what_follows() -> None:
    often = explain_raised(*raised(UpgradeKind.FREQUENCY, FaultLevel.MANUALLY_SEPARATE_NPU))
    long = explain_raised(
        *raised(UpgradeKind.DURATION, FaultLevel.PRE_SEPARATE_NPU, code=LINK_DOWN)
    )
    somehow = explain_raised(
        *raised(UpgradeKind.AUTOFILL, FaultLevel.MANUALLY_SEPARATE_NPU, code=None)
    )

    assert often.title == "too often"
    assert "more often than a rule allows. It failed too often" in often.meaning
    assert "Before releasing it" in often.action
    assert "network counts as unfit" in long.meaning, "of the network, not of the chip"
    assert "cable" in long.action
    assert "nobody wrote down why" in somehow.meaning
    assert somehow.action == explain_upgrade(UpgradeKind.AUTOFILL).action


MANUAL = FaultLevel.MANUALLY_SEPARATE_NPU
PEOPLE = "when people release the NPU"


@pytest.mark.parametrize(
    ("upgrade", "rules", "ends"),
    [
        (raised(UpgradeKind.FREQUENCY, MANUAL)[0], BUILT_IN, PEOPLE),
        (
            raised(UpgradeKind.FREQUENCY, MANUAL, code=LINK_DOWN)[0],
            BUILT_IN,
            f"48 h after its last recovery, or {PEOPLE}",
        ),
        (
            raised(UpgradeKind.DURATION, FaultLevel.PRE_SEPARATE_NPU, code=LINK_DOWN)[0],
            BUILT_IN,
            "when the fault was gone for over 60 s",
        ),
        (
            raised(UpgradeKind.AUTOFILL, MANUAL, code=None)[0],
            BUILT_IN,
            f"48 h after it was separated, or {PEOPLE}",
        ),
        (
            raised(UpgradeKind.AUTOFILL, MANUAL, code=None)[0],
            FaultRules(catalog=CATALOG),
            PEOPLE,
        ),
        (
            raised(UpgradeKind.FREQUENCY, FaultLevel.SEPARATE_NPU)[0],
            FaultRules(catalog=CATALOG),
            "no rule in force ends it",
        ),
        (
            raised(UpgradeKind.DURATION, FaultLevel.SEPARATE_NPU)[0],
            FaultRules(catalog=CATALOG),
            "no rule in force ends it",
        ),
    ],
)
def test_how_a_raised_level_is_lowered_again_is_said(
    upgrade: Upgrade, rules: FaultRules, ends: str
) -> None:
    assert describe_release(upgrade, rules) == ends
