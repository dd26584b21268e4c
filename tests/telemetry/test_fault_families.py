from dataclasses import replace

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.notices import NoticeKind
from ascend_agent.telemetry.fault_families import (
    MOST_CODES,
    fault_families,
    notice_families,
    rule_families,
)
from ascend_agent.telemetry.measured import Counted
from tests.flows.health_samples import FAULTS, HBM, UPGRADE, bad_node
from tests.telemetry.samples import of, samples

WORST = bad_node().npus[0]


def node(**changes: object) -> NodeView:
    return NodeView(generation=1, npus=(replace(WORST, **changes),))  # type: ignore[arg-type]


def test_the_faults_of_an_npu_are_told_with_what_rules_made_of_them() -> None:
    found = samples(fault_families(node(), None))

    assert found == {
        'npu_faults{npu="0"}': 2,
        'npu_fault_active{npu="0",fault="80E01801",level="RestartBusiness"}': 1,
        'npu_fault_active{npu="0",fault="81078603",level="NotHandleFault"}': 1,
        'npu_upgrades{npu="0",kind="FaultFrequency",level="ManuallySeparateNPU"}': 1,
        'npu_manually_separated{npu="0"}': 1,
        'npu_network_healthy{npu="0"}': 0,
        'npu_network_level{npu="0",level="PreSeparateNPU"}': 1,
    }


def test_an_npu_that_is_well_is_told_to_be() -> None:
    found = samples(fault_families(NodeView(generation=1, npus=bad_node().npus[1:]), None))

    assert found == {
        'npu_faults{npu="1"}': 0,
        'npu_manually_separated{npu="1"}': 0,
        'npu_network_healthy{npu="1"}': 1,
    }


def test_before_there_is_a_view_nothing_is_claimed() -> None:
    assert samples(fault_families(None, None)) == {}


def test_a_code_is_spelled_as_the_rules_in_force_spell_it() -> None:
    rules = FaultRules(catalog=Catalog(levels={}, spellings={HBM: "080E01801"}))

    found = samples(fault_families(node(), FaultConfigState(rules=rules, version=1)))

    assert 'npu_fault_active{npu="0",fault="080E01801",level="RestartBusiness"}' in found


def test_of_many_codes_the_most_severe_are_named_and_all_counted() -> None:
    """A broken NPU must not fill the monitoring of a whole cluster."""
    mild = [replace(FAULTS[1], code=FaultCode(number)) for number in range(1, 100)]
    severe = replace(FAULTS[0], level=FaultLevel.SEPARATE_NPU)

    found = samples(fault_families(node(faults=(*mild, severe)), None))

    assert len(of(found, "npu_fault_active")) == MOST_CODES
    assert 'npu_fault_active{npu="0",fault="80E01801",level="SeparateNPU"}' in found
    assert found['npu_faults{npu="0"}'] == 100


def test_reasons_alike_are_one_series_that_counts_them() -> None:
    """Two series with the same labels would make the page invalid."""
    other = replace(UPGRADE, code=FaultCode(1))

    found = samples(fault_families(node(upgrades=(UPGRADE, other)), None))

    assert found['npu_upgrades{npu="0",kind="FaultFrequency",level="ManuallySeparateNPU"}'] == 2


def test_only_what_people_can_lift_waits_for_them() -> None:
    timed = replace(UPGRADE, level=FaultLevel.SEPARATE_NPU)
    autofill = replace(timed, code=None, kind=UpgradeKind.AUTOFILL)

    of_time = samples(fault_families(node(upgrades=(timed,)), None))
    unexplained = samples(fault_families(node(upgrades=(autofill,)), None))

    assert of_time['npu_manually_separated{npu="0"}'] == 0
    assert unexplained['npu_manually_separated{npu="0"}'] == 1


def test_rules_are_told_with_what_was_refused() -> None:
    state = FaultConfigState(rules=BUILT_IN, version=3, refused=("a", "b"))

    assert samples(rule_families(None)) == {}
    assert samples(rule_families(state)) == {
        'fault_rules_info{source="built-in"}': 1,
        "fault_rules_version": 3,
        "fault_rules_refused": 2,
    }


def test_what_never_happened_is_told_as_zero() -> None:
    """A rate over a series that appears with its first event would miss that event."""
    found = samples(notice_families(Counted(notices={NoticeKind.UPGRADED: 2})))

    assert found == {
        'npu_notices_total{kind="occurred"}': 0,
        'npu_notices_total{kind="recovered"}': 0,
        'npu_notices_total{kind="one-off"}': 0,
        'npu_notices_total{kind="upgraded"}': 2,
        'npu_notices_total{kind="released"}': 0,
        "npu_notices_missed_total": 0,
    }
