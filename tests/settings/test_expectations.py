"""What a scenario may expect."""

import pytest
from pydantic import TypeAdapter, ValidationError

from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.health import HealthState, UnhealthyReason
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.surroundings import DpuHealth, SwitchHealth
from ascend_agent.settings import (
    Expectation,
    NpuExpectation,
    PodExpectation,
    SimulatedNode,
    SwitchExpectation,
)

EXPECTATION: TypeAdapter[Expectation] = TypeAdapter(Expectation)


@pytest.mark.parametrize(
    ("raw", "expectation"),
    [
        (
            {"at_s": "4", "npu": "3", "kubelet": "Unhealthy", "codes": ["80E01801", "012345670"]},
            NpuExpectation(
                at_s=4, npu=(3,), kubelet="Unhealthy", codes=frozenset({0x80E01801, 0x12345670})
            ),
        ),
        (
            {"at_s": "4", "until_s": "6", "npu": "2-4", "level": "RestartBusiness", "codes": []},
            NpuExpectation(
                at_s=4,
                until_s=6,
                npu=(2, 3, 4),
                level=FaultLevel.RESTART_BUSINESS,
                codes=frozenset(),
            ),
        ),
        (
            {"at_s": "4", "npu": "0", "state": "sub-healthy", "reasons": ["fault", "upgraded"]},
            NpuExpectation(
                at_s=4,
                npu=(0,),
                state=HealthState.SUB_HEALTHY,
                reasons=frozenset({UnhealthyReason.FAULT, UnhealthyReason.UPGRADED}),
            ),
        ),
        (
            {"at_s": "4", "npu": "0", "upgrades": ["FaultFrequency"], "network": "Unhealthy"},
            NpuExpectation(
                at_s=4,
                npu=(0,),
                upgrades=frozenset({UpgradeKind.FREQUENCY}),
                network="Unhealthy",
            ),
        ),
        (
            {"at_s": "4", "npu": "0", "network_level": "PreSeparateNPU", "dpu": "SubHealthy"},
            NpuExpectation(
                at_s=4,
                npu=(0,),
                network_level=FaultLevel.PRE_SEPARATE_NPU,
                dpu=DpuHealth.SUB_HEALTHY,
            ),
        ),
        (
            {"at_s": "4", "switches": "UnHealthy", "faults": "16"},
            SwitchExpectation(at_s=4, switches=SwitchHealth.UNHEALTHY, faults=16),
        ),
        (
            {"at_s": "4", "pod": "training-0", "npus": "4"},
            PodExpectation(at_s=4, pod="training-0", npus=4),
        ),
    ],
)
def test_an_expectation_is_what_its_subject_says(
    raw: dict[str, object], expectation: Expectation
) -> None:
    """All values are text: that is how a scenario file is read."""
    assert EXPECTATION.validate_python(raw) == expectation
    assert EXPECTATION.validate_python(expectation) is expectation


def test_no_level_is_something_to_expect_and_an_absent_key_is_not() -> None:
    found = EXPECTATION.validate_python({"at_s": 1, "npu": 0, "level": "none"})

    assert isinstance(found, NpuExpectation)
    assert found.level is None
    assert found.said == {"level"}


def test_what_need_not_last_is_over_at_once() -> None:
    found = [
        EXPECTATION.validate_python({"at_s": 4, "pod": "training-0", "npus": 0, **until})
        for until in ({}, {"until_s": 9})
    ]

    assert [expectation.over_s for expectation in found] == [4, 9]


@pytest.mark.parametrize(
    "raw",
    [
        7,
        {"at_s": 1},
        {"at_s": 1, "npu": 0},
        {"npu": 0, "codes": []},
        {"at_s": 1, "npu": -1, "codes": []},
        {"at_s": 1, "npu": "4-2", "codes": []},
        {"at_s": 1, "npu": "all", "codes": []},
        {"at_s": 1, "npu": 0, "codes": ["?"]},
        {"at_s": 1, "npu": 0, "codes": "80E01801"},
        {"at_s": 1, "npu": 0, "kubelet": "Ill"},
        {"at_s": 1, "npu": 0, "level": "Bad"},
        {"at_s": 1, "npu": 0, "reasons": ["bad"]},
        {"at_s": 1, "npu": 0, "fault": "A"},
        {"at_s": 2, "until_s": 2, "npu": 0, "codes": []},
        {"at_s": 1, "switches": "Unhealthy"},
        {"at_s": 1, "switches": "Healthy", "faults": -1},
        {"at_s": 1, "pod": "training-0", "phase": "Lost"},
        {"at_s": 1, "pod": "training-0"},
    ],
)
def test_an_expectation_that_means_nothing_is_refused(raw: object) -> None:
    with pytest.raises(ValidationError):
        EXPECTATION.validate_python(raw)


@pytest.mark.parametrize(
    "expected",
    [
        {"at_s": 1, "npu": "0-8", "codes": []},
        {"at_s": 1, "switches": "Healthy"},
        {"at_s": 1, "pod": "training-1", "npus": 1},
    ],
)
def test_of_a_node_nothing_can_be_expected_that_it_does_not_have(
    expected: dict[str, object],
) -> None:
    with pytest.raises(ValidationError, match=r"does not exist|has no switches|is no pod of"):
        SimulatedNode.model_validate({"chip": "910B3", "npus": 8, "expect": [expected]})


def test_what_is_expected_of_a_slice_may_be_that_there_is_none() -> None:
    written = {"at_s": "1", "pod": "p", "template": "none", "memory_mib": "4096"}

    expected = EXPECTATION.validate_python(written)

    assert expected == PodExpectation(at_s=1, pod="p", template=None, memory_mib=4096)
    assert expected.said == {"template", "memory_mib"}


def test_the_driver_hears_nothing_of_it() -> None:
    node = SimulatedNode.model_validate(
        {"expect": [{"at_s": 1, "npu": 0, "codes": []}], "fault_config_dir": "rules"}
    )

    assert set(node.backend_config(0)) == {"chip", "npus", "seed", "steps", "started_at_ns"}
