"""What people read first when something is wrong, told once for all it holds for."""

from dataclasses import replace

from ascend_agent.faults.advice import Advice, advise
from ascend_agent.faults.catalog import BUILT_IN, CATALOG
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel, Plane
from ascend_agent.model.fault_rules import FaultRules, SwitchLevel
from ascend_agent.model.health import ActiveFault, HealthState, NodeView, NpuView, UnhealthyReason
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.model.surroundings import (
    ActiveSwitchFault,
    SwitchFault,
    SwitchHealth,
    SwitchView,
)
from tests.fakes.npus import node_view, view
from tests.sim.views import with_dpus

HBM, LINK_DOWN = FaultCode(0x80E01801), FaultCode(0x81078603)


def fault(
    code: FaultCode = HBM,
    level: FaultLevel = FaultLevel.RESTART_BUSINESS,
    *,
    since: int = 0,
    isolates: bool = True,
    lasting: bool = True,
) -> ActiveFault:
    return ActiveFault(
        code=code,
        level=level,
        isolates=isolates,
        since_ms=Millis(since),
        plane=CATALOG.plane_of(code),
        lasting=lasting,
    )


def sick(phy: int, *faults: ActiveFault, reasons: tuple[UnhealthyReason, ...] = ()) -> NpuView:
    return replace(
        view(phy, state=HealthState.SEPARATED),
        faults=faults,
        reasons=reasons or (UnhealthyReason.FAULT,),
    )


def told(*npus: NpuView, rules: FaultRules = BUILT_IN) -> list[Advice]:
    return list(advise(NodeView(generation=1, npus=npus), rules))


def brief(advice: list[Advice]) -> list[tuple[str, str]]:
    return [(each.subject, each.what) for each in advice]


def test_a_node_that_is_well_needs_no_advice() -> None:
    assert not advise(node_view(), BUILT_IN)


def test_a_fault_comes_with_its_meaning_and_what_to_do() -> None:
    (advice,) = told(sick(3, fault(since=7)))

    assert (advice.subject, advice.what) == ("NPU 3", "80E01801 RestartBusiness")
    assert (advice.since_ms, advice.isolates, advice.ends) == (7, True, "")
    assert advice.meaning.title == "HBM error that could not be corrected"
    assert advice.meaning.action.startswith("Restart the job.")


def test_what_holds_for_several_npus_is_said_once_and_since_the_first() -> None:
    """A driver that is gone must not fill a page with sixteen times the same."""
    (advice,) = told(sick(1, fault(since=9)), view(2), sick(3, fault(since=5)))

    assert (advice.subject, advice.since_ms) == ("NPU 1, 3", 5)


def test_another_level_is_another_thing() -> None:
    advice = told(sick(1, fault()), sick(2, fault(level=FaultLevel.RESTART_NPU)))

    assert brief(advice) == [
        ("NPU 2", "80E01801 RestartNPU"),
        ("NPU 1", "80E01801 RestartBusiness"),
    ]


def test_what_takes_an_npu_out_comes_first_and_then_the_worst() -> None:
    """PreSeparateNPU of an NPU in use is the more severe level, but the NPU is still there."""
    advice = told(
        sick(
            0,
            fault(FaultCode(0x1), FaultLevel.PRE_SEPARATE_NPU, isolates=False),
            fault(FaultCode(0x2), FaultLevel.RESTART_BUSINESS),
            fault(FaultCode(0x3), FaultLevel.SEPARATE_NPU),
            fault(FaultCode(0x4), FaultLevel.NOT_HANDLE, isolates=False),
        )
    )

    assert [each.what[:8] for each in advice] == ["00000003", "00000002", "00000001", "00000004"]


def test_a_code_is_spelled_as_the_rules_in_force_spell_it() -> None:
    spelled = FaultRules(catalog=Catalog(levels={}, spellings={HBM: "080E01801"}))

    assert told(sick(3, fault()), rules=spelled)[0].what == "080E01801 RestartBusiness"


def test_what_will_be_over_by_itself_in_a_moment_is_marked() -> None:
    assert told(sick(3, fault(lasting=False)))[0].what.endswith(", not for long")


def test_a_raised_level_says_how_it_ends() -> None:
    upgrade = Upgrade(
        code=HBM,
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.FREQUENCY,
        at_ms=Millis(5),
    )
    npu = replace(
        sick(3, reasons=(UnhealthyReason.MANUALLY_SEPARATED,)),
        upgrades=(upgrade, replace(upgrade, code=None, kind=UpgradeKind.AUTOFILL)),
    )

    often, somehow = told(npu)

    assert often.what == "80E01801 FaultFrequency, raised to ManuallySeparateNPU"
    assert (often.since_ms, often.isolates) == (5, True)
    assert often.ends == "when people release the NPU"
    assert somehow.what == "FaultAutofill, raised to ManuallySeparateNPU"


def test_a_network_that_a_rule_isolates_leaves_the_npu_in_service() -> None:
    upgrade = Upgrade(
        code=LINK_DOWN,
        level=FaultLevel.PRE_SEPARATE_NPU,
        kind=UpgradeKind.DURATION,
        at_ms=Millis(5),
    )
    assert CATALOG.plane_of(LINK_DOWN) is Plane.NETWORK

    (of_network,) = told(replace(view(0), upgrades=(upgrade,)))
    (of_sick,) = told(replace(sick(0), upgrades=(upgrade,)))

    assert not of_network.isolates
    assert not of_sick.isolates, "something else took it out"


def test_a_reason_is_told_where_no_code_says_it_already() -> None:
    """``fault`` or ``card-drop`` beside their codes would be the same thing twice."""
    advice = told(
        sick(
            1,
            fault(),
            reasons=(
                UnhealthyReason.FAULT,
                UnhealthyReason.UPGRADED,
                UnhealthyReason.CARD_DROP,
                UnhealthyReason.DRIVER_UNRESPONSIVE,
            ),
        )
    )

    assert brief(advice) == [
        ("NPU 1", "driver-unresponsive"),
        ("NPU 1", "80E01801 RestartBusiness"),
    ]
    assert advice[0].meaning.title == "driver does not answer for it"


def test_dpu_nics_that_are_down_are_named() -> None:
    (some,) = advise(with_dpus(enps0="down"), BUILT_IN)
    (all_of,) = advise(with_dpus(enps0="down", enps2="down"), BUILT_IN)

    assert (some.subject, some.what) == ("NPU 0, 1", "DPU NIC enps0 down")
    assert (some.meaning.title, some.isolates) == ("DPU NIC degraded", False)
    assert (all_of.what, all_of.meaning.title) == ("DPU NIC enps0, enps2 down", "DPU NICs down")


def test_an_npu_without_any_dpu_nic_left_comes_before_one_that_is_merely_degraded() -> None:
    node = with_dpus(enps0="down", enps2="down")
    degraded = fault(level=FaultLevel.SUB_HEALTH, isolates=False)
    npus = (node.npus[0], replace(node.npus[1], faults=(degraded,), dpu=None))

    advice = advise(replace(node, npus=npus), BUILT_IN)

    assert [each.subject for each in advice] == ["NPU 0", "NPU 1"]


def switch_fault(port: int, level: SwitchLevel, text: str) -> ActiveSwitchFault:
    return ActiveSwitchFault(
        fault=SwitchFault(
            event_type=0x08520003,
            sub_type=0xFFFFFFFF,
            peer=2,
            peer_port=0,
            chip=4,
            port=port,
            severity=1,
            assertion=Assertion.OCCURRED,
            raised_ms=Millis(0),
        ),
        text=text,
        level=level,
        since_ms=Millis(port),
    )


def of_switches(*faults: ActiveSwitchFault, level: SwitchLevel) -> list[Advice]:
    switches = SwitchView(faults=faults, level=level, health=SwitchHealth.UNHEALTHY)
    return list(advise(NodeView(generation=1, npus=(), switches=switches), BUILT_IN))


def test_ports_of_a_switch_with_the_same_fault_are_told_together() -> None:
    text = "[0x08520003,na,npu,na]"
    (advice,) = of_switches(
        switch_fault(1, SwitchLevel.SEPARATE, text),
        switch_fault(0xFFFF, SwitchLevel.SEPARATE, text),
        level=SwitchLevel.SEPARATE,
    )

    assert (advice.subject, advice.what) == ("switch 4 port 1, as a whole", f"{text} Separate")
    assert advice.isolates
    assert advice.meaning.title == "link down of a switch port towards an NPU"


def test_links_that_count_for_more_together_are_told_so() -> None:
    """Sixteen links to the second layer take the node out, though each is for information."""
    text = "[0x08520003,na,L2,na]"
    links = (switch_fault(port, SwitchLevel.NOT_HANDLE, text) for port in range(16))

    together, each = of_switches(*links, level=SwitchLevel.SEPARATE)

    assert (together.subject, together.what) == ("switches together", "Separate")
    assert (together.isolates, together.since_ms) == (True, 15)
    assert not each.isolates


def test_a_level_that_one_fault_has_is_not_told_again_for_all() -> None:
    advice = of_switches(
        switch_fault(1, SwitchLevel.NOT_HANDLE, "[0x08520003,na,L2,na]"),
        switch_fault(2, SwitchLevel.SEPARATE, "[0x08520003,na,npu,na]"),
        level=SwitchLevel.SEPARATE,
    )

    assert [each.subject for each in advice] == ["switch 4 port 2", "switch 4 port 1"]
