"""What is told of switches: ports alike in one line, and what becomes of the node."""

from dataclasses import replace

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.surroundings import SwitchHealth, SwitchView
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.switch_news import NO_FAULT, switch_news
from tests.flows.health_samples import SWITCHES


def news(old: SwitchView, new: SwitchView) -> list[Entry]:
    return list(switch_news(old, new, rules=BUILT_IN, now_ns=900))


def ports(*numbers: int) -> SwitchView:
    (fault,) = SWITCHES.faults
    faults = tuple(replace(fault, fault=replace(fault.fault, port=port)) for port in numbers)
    return replace(SWITCHES, faults=faults)


def test_ports_that_fail_together_are_one_line_and_the_node_another() -> None:
    fault, state = news(NO_FAULT, ports(7, 8))

    assert (fault.event, fault.at_ns) == ("switch_fault", 900)
    assert (fault.facts["chip"], fault.facts["ports"]) == (4, [7, 8])
    assert fault.sentence().startswith(
        "switch 4 port 7,8: fault [0x08520003,na,npu,na], Separate; "
        "link down of a switch port towards an NPU. Move its jobs to other nodes."
    )
    assert (state.event, state.facts["health"]) == ("switches", "UnHealthy")
    assert (state.facts["level"], state.facts["title"]) == ("Separate", "node isolated")


def test_only_what_is_new_or_over_is_told() -> None:
    fault, recovered = news(ports(7, 8), ports(8, 9))

    assert (fault.event, fault.facts["ports"]) == ("switch_fault", [9])
    assert (recovered.event, recovered.facts["ports"]) == ("switch_recovered", [7])
    assert recovered.sentence() == "switch 4 port 7: [0x08520003,na,npu,na] is over"


def test_a_node_whose_switches_are_well_again_is_told() -> None:
    well = SwitchView(faults=(), level=None, health=SwitchHealth.HEALTHY)

    _, state = news(ports(7), well)

    assert state.sentence() == "switches make the node Healthy."


def test_the_same_faults_are_no_news() -> None:
    assert news(ports(7), ports(7)) == []


def test_another_level_of_the_node_alone_is_told() -> None:
    milder = replace(ports(7), level=SwitchLevel.SUB_HEALTH, health=SwitchHealth.SUB_HEALTHY)

    (state,) = news(ports(7), milder)

    assert (state.facts["health"], state.facts["level"]) == ("SubHealthy", "SubHealthFault")
