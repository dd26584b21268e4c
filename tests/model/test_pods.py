from types import MappingProxyType

import pytest

from ascend_agent.model.ids import Millis, ObjectVersion, PodUid
from ascend_agent.model.pods import Pod, PodKey, PodPhase


def pod(phase: PodPhase) -> Pod:
    return Pod(
        key=PodKey(namespace="ns", name="p"),
        uid=PodUid("u"),
        version=ObjectVersion("1"),
        node=None,
        phase=phase,
        terminating=False,
        labels=MappingProxyType({}),
        annotations=MappingProxyType({}),
        containers=(),
        created_at_ms=Millis(0),
    )


@pytest.mark.parametrize("phase", PodPhase)
def test_a_pod_is_finished_once_none_of_its_containers_will_run_again(phase: PodPhase) -> None:
    """An unknown phase is no evidence that its devices are free."""
    assert pod(phase).finished is (phase in {PodPhase.SUCCEEDED, PodPhase.FAILED})


def test_a_key_is_shown_as_people_write_it() -> None:
    assert str(PodKey(namespace="ns", name="p")) == "ns/p"
