"""The default story of HAMi."""

from dataclasses import replace

import pytest

from ascend_agent.settings import FaultStep, SimulatedNode
from ascend_agent.sim.hami.story import tell_hami
from ascend_agent.sim.story import CreatePod, DeletePod, RestartKubelet, TurnNode
from tests.sim.hami.pods import B3, P3, chip


def test_it_shows_each_kind_of_slice_a_fault_and_two_pods_at_once() -> None:
    story = tell_hami(SimulatedNode(), B3, for_s=None)

    pods = {act.pod.pod: act.pod for act in story.acts if isinstance(act, CreatePod)}
    assert {name: (pod.npus, pod.memory_mib, pod.soft) for name, pod in pods.items()} == {
        "notebook-0": (1, 16384, False),
        "training-0": (2, None, False),
        "inference-0": (1, 32768, False),
        "inference-1": (1, 32768, False),
        "serving-0": (1, 28672, True),
    }
    assert pods["inference-0"].at_s == pods["inference-1"].at_s
    (turn,) = [act for act in story.acts if isinstance(act, TurnNode)]
    gone = [act.at_s for act in story.acts if isinstance(act, DeletePod)]
    assert max(gone) < turn.at_s < pods["serving-0"].at_s < story.ends_s
    fault, recovery = story.node.steps
    assert isinstance(fault, FaultStep)
    assert isinstance(recovery, FaultStep)
    assert fault.fault == recovery.recover


def test_it_is_told_as_fast_as_asked_for() -> None:
    story = tell_hami(SimulatedNode(), B3, for_s=5)

    assert (story.ends_s, story.pace) == (5, 0.25)
    assert story.node.steps[0].at_s == 1
    assert max(act.at_s for act in story.acts) < 5


def test_a_chip_without_templates_has_whole_npus_alone() -> None:
    story = tell_hami(SimulatedNode(), replace(chip(), templates=()), for_s=None)

    assert [act.pod.pod for act in story.acts if isinstance(act, CreatePod)] == ["training-0"]
    assert not any(isinstance(act, TurnNode) for act in story.acts)


@pytest.mark.parametrize("npus", [0, 1, 2])
def test_it_fits_small_nodes(npus: int) -> None:
    story = tell_hami(SimulatedNode(chip="310P3", npus=npus), P3, for_s=None)

    asked = [act.pod.npus for act in story.acts if isinstance(act, CreatePod)]
    assert max(asked, default=0) <= npus
    assert SimulatedNode.model_validate(dict(story.node)) == story.node


def test_of_a_chip_that_hami_does_not_know_the_kubelet_is_all_there_is() -> None:
    story = tell_hami(SimulatedNode(chip="950"), None, for_s=None)

    assert [type(act) for act in story.acts] == [RestartKubelet]
