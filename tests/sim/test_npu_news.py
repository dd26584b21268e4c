"""What is told when an NPU changes, with what it means and what to do."""

from dataclasses import replace

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthState, NetworkView, NpuView, UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.npu_news import npu_news
from tests.fakes.npus import view
from tests.sim.views import CODE, faulty, out, reported

UPGRADE = Upgrade(
    code=CODE,
    level=FaultLevel.MANUALLY_SEPARATE_NPU,
    kind=UpgradeKind.FREQUENCY,
    at_ms=Millis(5),
)
UNFIT = NetworkView(level=FaultLevel.PRE_SEPARATE_NPU, healthy=False)


def news(
    old: NpuView, new: NpuView, *, rules: FaultRules = BUILT_IN, started: bool = True
) -> list[Entry]:
    return list(npu_news(old, new, rules=rules, started=started, now_ns=900))


def test_a_fault_is_told_with_its_meaning_and_what_to_do() -> None:
    """Whoever tries a scenario must see what happened and what to do, without a second program."""
    (entry,) = news(view(3), faulty(3))

    facts = entry.facts
    assert {key: facts[key] for key in ("npu", "fault", "level", "healthy", "plane")} == {
        "npu": 3,
        "fault": "80E01801",
        "level": "RestartBusiness",
        "healthy": False,
        "plane": "chip",
    }
    assert facts["title"] == "HBM error that could not be corrected"
    assert "memory were wrong at once" in str(facts["meaning"])
    assert "HBM error that could not be corrected. Restart the job." in entry.sentence()


def test_a_code_is_spelled_as_the_rules_in_force_spell_it() -> None:
    spelled = FaultRules(catalog=Catalog(levels={}, spellings={CODE: "080E01801"}))

    assert [
        entry.facts["fault"]
        for entry in (
            *news(view(0), faulty(0), rules=spelled),
            *news(faulty(0), view(0), rules=spelled),
            *news(view(0), replace(view(0), upgrades=(UPGRADE,)), rules=spelled),
        )
    ] == ["080E01801"] * 3


def test_a_level_that_a_rule_raised_is_told_with_how_it_ends() -> None:
    separated = replace(
        view(3, state=HealthState.SEPARATED),
        reasons=(UnhealthyReason.MANUALLY_SEPARATED,),
        upgrades=(UPGRADE,),
        cause_ns=500,
    )

    (raised,) = news(view(3), separated)
    (lifted,) = news(separated, view(3))

    assert (raised.event, raised.at_ns, raised.awaits) == ("upgraded", 500, (PhyId(3), False))
    assert (raised.facts["kind"], raised.facts["level"]) == (
        "FaultFrequency",
        "ManuallySeparateNPU",
    )
    assert raised.sentence().startswith(
        "NPU 3: 80E01801 too often, raised to ManuallySeparateNPU, in service: no. It ends when "
        "people release the NPU. Before releasing it"
    )
    assert lifted.event == "released"
    assert lifted.sentence() == (
        "NPU 3: 80E01801 no longer raises its level (FaultFrequency), in service: yes"
    )


def test_an_isolation_without_a_code_reads_well_too() -> None:
    autofill = replace(UPGRADE, code=None, kind=UpgradeKind.AUTOFILL)

    (entry,) = news(view(3), replace(view(3), upgrades=(autofill,)))

    assert entry.facts["fault"] == ""
    assert entry.sentence().startswith("NPU 3: isolated without a known reason, raised to")


def test_an_upgrade_that_fires_again_is_no_news_and_another_level_is() -> None:
    before = replace(reported(0), upgrades=(UPGRADE,))
    again = replace(before, upgrades=(replace(UPGRADE, at_ms=Millis(9)),))
    milder = replace(before, upgrades=(replace(UPGRADE, level=FaultLevel.SEPARATE_NPU),))

    assert news(before, again) == []
    assert [entry.event for entry in news(before, milder)] == ["upgraded", "released"]


def test_a_network_that_becomes_unfit_is_told_beside_its_code() -> None:
    """The kubelet gets no list for it, so nothing waits for one."""
    entries = news(view(0), replace(view(0), network=UNFIT, cause_ns=500))
    (fit,) = news(replace(view(0), network=UNFIT), view(0))

    (unfit,) = entries
    assert (unfit.event, unfit.at_ns, unfit.awaits) == ("network_unfit", 900, None)
    assert unfit.facts["level"] == "PreSeparateNPU"
    assert "cable" in str(unfit.facts["action"])
    assert (fit.event, fit.sentence()) == ("network_fit", "NPU 0: its network is fit again")


def test_an_npu_that_was_never_healthy_is_not_withdrawn() -> None:
    gone = out(0, UnhealthyReason.NOT_READ)

    assert news(view(0), gone, started=False) == []
    assert news(view(0), faulty(0, code=FaultCode(7)), started=False), "a fault is news always"
