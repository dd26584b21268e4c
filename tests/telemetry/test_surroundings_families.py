from dataclasses import replace

from ascend_agent.model.health import NodeView
from ascend_agent.model.surroundings import SwitchHealth, SwitchView
from ascend_agent.telemetry.surroundings_families import dpu_families, switch_families
from tests.fakes.npus import node_view
from tests.flows.health_samples import SWITCHES, bad_node
from tests.telemetry.samples import samples


def of_switches(switches: SwitchView | None) -> NodeView:
    return replace(node_view(0), switches=switches)


def test_switch_faults_are_counted_by_text_and_not_by_port() -> None:
    """A switch chip has dozens of ports, and all of them go down together."""
    (fault,) = SWITCHES.faults
    other = replace(fault, fault=replace(fault.fault, port=8))

    found = samples(switch_families(of_switches(replace(SWITCHES, faults=(fault, other)))))

    assert found == {
        'switch_health{health="Healthy"}': 0,
        'switch_health{health="SubHealthy"}': 0,
        'switch_health{health="PreSeparate"}': 0,
        'switch_health{health="UnHealthy"}': 1,
        'switch_faults{fault="[0x08520003,na,npu,na]",level="Separate"}': 2,
        "switch_faults_incomplete": 1,
    }


def test_switches_that_are_well_have_no_faults() -> None:
    found = samples(
        switch_families(of_switches(SwitchView(faults=(), level=None, health=SwitchHealth.HEALTHY)))
    )

    assert found['switch_health{health="Healthy"}'] == 1
    assert found["switch_faults_incomplete"] == 0


def test_a_node_without_switches_claims_nothing_about_them() -> None:
    assert samples(switch_families(of_switches(None))) == {}
    assert samples(switch_families(None)) == {}


def test_dpu_nics_are_told_with_what_they_mean_for_npus() -> None:
    found = samples(dpu_families(bad_node()))

    assert found['dpu_up{interface="enps0"}'] == 0
    assert found['dpu_up{interface="enps2"}'] == 1
    assert found['npu_dpu_health{npu="0",health="SubHealthy"}'] == 1
    assert found['npu_dpu_health{npu="1",health="Healthy"}'] == 0


def test_a_node_without_dpu_nics_claims_nothing_about_them() -> None:
    assert samples(dpu_families(node_view())) == {}
    assert samples(dpu_families(None)) == {}
