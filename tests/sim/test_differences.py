"""What is expected of a moment, and what is said where it is otherwise."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import NetworkView, NodeView
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.model.surroundings import DpuHealth, SwitchHealth, SwitchView
from ascend_agent.settings import Expectation
from ascend_agent.sim.differences import PodSight, Sight, differences
from tests.fakes.npus import view
from tests.sim.views import faulty, node

EXPECTATION: TypeAdapter[Expectation] = TypeAdapter(Expectation)
UPGRADE = Upgrade(
    code=FaultCode(0x80E18005),
    level=FaultLevel.MANUALLY_SEPARATE_NPU,
    kind=UpgradeKind.FREQUENCY,
    at_ms=Millis(0),
)
SICK = replace(
    faulty(1),
    level=FaultLevel.RESTART_BUSINESS,
    upgrades=(UPGRADE,),
    network=NetworkView(level=FaultLevel.PRE_SEPARATE_NPU, healthy=False),
    dpu=DpuHealth.SUB_HEALTHY,
)
SWITCHES = SwitchView(faults=(), level=SwitchLevel.SEPARATE, health=SwitchHealth.UNHEALTHY)


def difference(seen: NodeView | None = None, **expected: Any) -> str:
    """Return what differs on a node of one fit NPU, one that is out, and eight that are fit."""
    seen = seen or node(view(0), SICK, *map(view, range(2, 10)))
    sight = Sight(
        view=seen,
        kubelet={npu.npu.phy: npu.healthy for npu in seen.npus if npu.npu.phy < 9},
        pods={
            "training-0": PodSight(npus=tuple(map(PhyId, range(4))), phase="Running"),
            "slice": PodSight(
                npus=(PhyId(3),), phase="Running", template="vir05_1c_16g", memory_mib=16384
            ),
        },
    )
    return differences(EXPECTATION.validate_python({"at_s": 1, **expected}), sight)


FACTS: dict[str, tuple[Any, Any]] = {
    "kubelet": ("Unhealthy", "Healthy"),
    "state": ("separated", "healthy"),
    "reasons": (["fault"], []),
    "codes": (["80E01801"], ["80E01801", "012345670"]),
    "level": ("RestartBusiness", "none"),
    "upgrades": (["FaultFrequency"], []),
    "network": ("Unhealthy", "Healthy"),
    "network_level": ("PreSeparateNPU", "none"),
    "dpu": ("SubHealthy", "Healthy"),
}


@pytest.mark.parametrize("key", FACTS)
def test_each_fact_of_an_npu_is_looked_at_by_itself(key: str) -> None:
    as_it_is, otherwise = FACTS[key]

    assert difference(npu="1", **{key: as_it_is}) == ""
    assert difference(npu="1", **{key: otherwise}).startswith(f"NPU 1: {key} ")


def test_what_differs_is_told_in_the_words_of_the_file() -> None:
    told = difference(npu="1", kubelet="Healthy", level="none", codes=["012345670"])

    assert told == (
        "NPU 1: kubelet Unhealthy, not Healthy, codes [80E01801], not [12345670], "
        "level RestartBusiness, not none"
    )


def test_of_a_range_each_npu_must_be_so_and_the_first_are_told() -> None:
    assert difference(npu="2-8", kubelet="Healthy") == ""
    assert difference(npu="0-1", kubelet="Healthy") == "NPU 1: kubelet Unhealthy, not Healthy"
    assert difference(npu="2-6", kubelet="Unhealthy").endswith("; and 2 more")


def test_an_npu_that_is_not_there_is_neither_well_nor_ill() -> None:
    assert difference(npu="9", kubelet="Unhealthy") == "NPU 9: kubelet unlisted, not Unhealthy"
    assert difference(npu="10", codes=[]) == "NPU 10 is not there"


def test_switches_have_health_level_and_a_number_of_faults() -> None:
    seen = replace(node(view(0)), switches=SWITCHES)

    assert difference(seen, switches="UnHealthy", level="Separate", faults=0) == ""
    assert difference(seen, switches="Healthy") == "switches UnHealthy, not Healthy"
    assert difference(seen, switches="UnHealthy", faults=2) == "faults 0, not 2"
    assert difference(node(view(0)), switches="Healthy") == "the node has no switches to ask"


def test_a_pod_has_so_many_npus_or_none() -> None:
    assert difference(pod="training-0", npus=4) == ""
    assert difference(pod="training-0", npus=0) == "pod training-0: npus 4, not 0"
    assert difference(pod="inference-0", npus=0, phase="gone") == ""


def test_a_slice_is_compared_by_what_is_said_of_it() -> None:
    assert difference(pod="slice", template="vir05_1c_16g", memory_mib=16384) == ""
    assert difference(pod="slice", template="none", core_percent=40) == (
        "pod slice: template vir05_1c_16g, not none, core_percent none, not 40"
    )


def test_the_number_of_an_npu_is_its_physical_id() -> None:
    assert difference(node(view(7)), npu="7", state="healthy") == ""
