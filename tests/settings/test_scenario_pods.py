"""The pods of a scenario."""

import pytest
from pydantic import ValidationError

from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.settings.simulated import SimulatedNode


def test_a_pod_is_of_one_container_and_one_whole_npu_unless_told() -> None:
    pod = ScenarioPod.model_validate({"at_s": "1", "pod": "a"})

    assert (pod.npus, pod.containers, pod.memory_mib, pod.soft) == (1, 1, None, False)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"pod": "A"}, "should match"),
        ({"until_s": 1}, "ends before it begins"),
        ({"core_percent": 40}, "only soft slices have"),
        ({"npus": 0}, "greater than"),
        ({"cores": 1}, "not permitted"),
    ],
)
def test_a_pod_that_can_not_be_is_refused(more: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        ScenarioPod.model_validate({"at_s": 1, "pod": "a", **more})


def test_names_are_given_once_and_known_to_expectations() -> None:
    pods = [{"at_s": 1, "pod": "a"}, {"at_s": 2, "pod": "b"}]
    expect = [{"at_s": 3, "pod": "b", "phase": "Running"}]

    assert SimulatedNode.model_validate({"pods": pods, "expect": expect}).pods[1].pod == "b"
    with pytest.raises(ValidationError, match="stands twice"):
        SimulatedNode.model_validate({"pods": [pods[0], pods[0]]})
    with pytest.raises(ValidationError, match="use one of a"):
        SimulatedNode.model_validate({"pods": pods[:1], "expect": expect})
