"""What the stories hold, and how fast they are told."""

import pytest

from ascend_agent.settings import (
    CHIPS,
    DropStep,
    FaultStep,
    HangStep,
    PodExpectation,
    SimulatedNode,
    StormStep,
    WorkerStep,
)
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.story import (
    AdmitPod,
    CreatePod,
    DeletePod,
    RestartKubelet,
    Story,
    acts_of,
    follow,
    hasten,
    tell,
)


def test_the_default_story_shows_all_that_the_agent_is_for() -> None:
    """Two pods, a fault and its end, a kubelet restart, a driver crash, in that order."""
    story = tell(SimulatedNode(), for_s=None)

    times = {
        "pods": [act.at_s for act in story.acts if isinstance(act, AdmitPod)],
        "restart": [act.at_s for act in story.acts if isinstance(act, RestartKubelet)],
    }
    fault, recovery, crash = story.node.steps
    assert isinstance(fault, FaultStep)
    assert isinstance(recovery, FaultStep)
    assert isinstance(crash, WorkerStep)
    assert fault.fault == recovery.recover
    assert len(times["pods"]) == 2
    order = [*times["pods"], fault.at_s, recovery.at_s, *times["restart"], crash.at_s]
    assert order == sorted(order)
    assert crash.at_s < story.ends_s <= 20


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("npus", [None, 0, 1, 2, 3])
def test_the_default_story_fits_every_node(chip: str, npus: int | None) -> None:
    story = tell(SimulatedNode(chip=chip, npus=npus), for_s=None)

    checked = SimulatedNode.model_validate(dict(story.node))
    asked = sum(act.count for act in story.acts if isinstance(act, AdmitPod))
    assert checked == story.node
    assert asked <= story.node.count


def test_the_fault_meets_an_npu_that_a_pod_holds() -> None:
    """Else nobody would see whose work it hits."""
    story = tell(SimulatedNode(), for_s=None)

    (first, _) = (act for act in story.acts if isinstance(act, AdmitPod))
    fault = story.node.steps[0]
    assert isinstance(fault, FaultStep)
    assert fault.npu is not None
    assert fault.npu < first.count


def test_with_less_time_the_same_is_told_faster() -> None:
    usual, hurried = tell(SimulatedNode(), for_s=None), tell(SimulatedNode(), for_s=8)

    assert hurried.ends_s == 8
    assert hurried.pace == 8 / usual.ends_s
    assert [step.at_s for step in hurried.node.steps] == [
        step.at_s * hurried.pace for step in usual.node.steps
    ]
    assert len(hurried.acts) == len(usual.acts)


def test_with_more_time_it_is_told_as_usual() -> None:
    assert tell(SimulatedNode(), for_s=600) == tell(SimulatedNode(), for_s=None)


def test_a_scenario_is_followed_as_it_is_with_two_pods_in_place() -> None:
    node = SimulatedNode(steps=(FaultStep(at_s=4, npu=1, fault=1),))

    story = follow(node)

    assert story.node == node
    assert [type(act) for act in story.acts] == [AdmitPod, AdmitPod]


@pytest.mark.parametrize(
    ("step", "least_s"),
    [
        (FaultStep(at_s=4, npu=1, fault=1), 4),
        (HangStep(at_s=4, card=1, call="health", hang_s=20), 24),
        (DropStep(at_s=4, card=1, drop=False), 10),
        (StormStep(at_s=4, npu=1, storm=1, for_s=6), 10),
        (FaultStep(at_s=4, npu=1, recover=1, listed_for_s=6), 10),
    ],
)
def test_a_scenario_ends_when_its_last_step_was_seen(step: FaultStep, least_s: float) -> None:
    """A hang lasts, and a returned card is noticed by looking."""
    assert follow(SimulatedNode(steps=(step,))).ends_s > least_s


def test_a_scenario_ends_when_its_last_expectation_could_be_looked_at() -> None:
    expected = PodExpectation(at_s=4, until_s=20, pod="training-0", npus=4)

    assert follow(SimulatedNode(expect=(expected,))).ends_s > 21


def test_a_scenario_without_steps_still_shows_the_start() -> None:
    assert follow(SimulatedNode()).ends_s > 2


def test_pods_of_a_scenario_are_made_and_deleted_in_their_order() -> None:
    first = ScenarioPod(at_s=3, pod="a", until_s=4)
    second = ScenarioPod(at_s=1, pod="b", until_s=9)

    acts = acts_of((first, second))
    assert acts == (
        CreatePod(at_s=1, pod=second),
        CreatePod(at_s=3, pod=first),
        DeletePod(at_s=4, name="a"),
        DeletePod(at_s=9, name="b"),
    )
    story = follow(SimulatedNode(pods=(first, second)), scheduled=True)
    assert (story.acts, story.ends_s) == (acts, 12)


def test_a_story_is_hastened_as_a_whole_and_never_slowed() -> None:
    node = SimulatedNode(steps=(WorkerStep(at_s=4, worker="die"),))
    story = Story(node=node, acts=(RestartKubelet(at_s=2, down_s=0.5),), ends_s=8)

    fast = hasten(story, for_s=4)
    assert (fast.node.steps[0].at_s, fast.acts[0].at_s, fast.ends_s, fast.pace) == (2, 1, 4, 0.5)
    assert hasten(story, for_s=16) == story
