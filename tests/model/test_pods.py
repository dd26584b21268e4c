from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.model.ids import Millis, ObjectVersion, PodUid
from ascend_agent.model.pods import Pod, PodKey, PodPhase, changed


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


STATES = tuple(pod(PodPhase.RUNNING) for _ in range(6))
"""Equal, but states of their own: what is compared is which they are."""

LISTS = st.lists(st.sampled_from(range(6)), unique=True)


@given(before=LISTS, now=LISTS)
def test_what_has_changed_is_all_that_is_in_one_list_alone(
    before: list[int], now: list[int]
) -> None:
    """Each in its order, wherever in the list they are."""
    left, came = changed(
        tuple(STATES[number] for number in before), tuple(STATES[number] for number in now)
    )

    assert [_number(each) for each in left] == [each for each in before if each not in now]
    assert [_number(each) for each in came] == [each for each in now if each not in before]


def _number(state: Pod) -> int:
    return next(number for number, each in enumerate(STATES) if each is state)
