"""Who may be asked for again, by what the kubelet lists and what it was told."""

from collections.abc import Mapping, Sequence

import pytest

from ascend_agent.dialects.hami.asked_again import find_doubts, sort_out
from ascend_agent.dialects.hami.candidates import find_waiting
from ascend_agent.dialects.hami.scene import Scene
from ascend_agent.model.ids import NodeName, PodUid
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer, PodPhase
from ascend_agent.model.world import ClusterFacts
from tests.fakes.hami import CHIP_910B3, NODE, container, device, pod, state

X, Y, Z = (f"{device(number, 16384)};" for number in range(3))
TWO = (container("a"), container("b"))
INIT = (container("i", kind=ContainerKind.INIT), container("a"), container("b"))
SIDECAR = (container("s", kind=ContainerKind.SIDECAR), container("a"))


def scene(
    *pods: Pod,
    heard: Sequence[str] | None = (),
    listed: Mapping[str, Sequence[str]] | None = None,
) -> Scene:
    """Return a scene; *listed* has the containers with devices by the names of pods."""
    keys = {each.key.name: each.key for each in pods}
    known = None
    if listed is not None:
        known = {keys[name]: frozenset(containers) for name, containers in listed.items()}
    facts = ClusterFacts(
        node_name=NODE,
        pods=pods,
        known=True,
        listed=known,
        heard=None if heard is None else frozenset(PodUid(f"uid-{each}") for each in heard),
    )
    return Scene(state=state(), chip=CHIP_910B3, facts=facts, views=())


def served(
    name: str,
    granted: str,
    left: str,
    *containers: PodContainer,
    phase: str = "success",
    **more: object,
) -> Pod:
    """Return a pod of which the slots that are not *left* were handed out."""
    notes = {"hami.io/bind-phase": phase}
    made = pod(name, left, allocated=granted, annotations=notes, **more)  # type: ignore[arg-type]  # passed on
    return pod(
        name,
        left,
        allocated=granted,
        annotations=notes,
        containers=containers or made.containers,
        **more,  # type: ignore[arg-type]  # passed on
    )


def sorted_out(found: Scene) -> tuple[list[tuple[str, int, bool]], list[tuple[str, int]]]:
    """Return who waits, at which slot and whether in doubt, and who is asked for again."""
    waiting = find_waiting(found.facts.pods, node=NODE, word=CHIP_910B3.word)
    kept, again = sort_out(find_doubts(found), waiting, found)
    assert all(each.again and each.doubted for each in again)
    assert not any(each.again for each in kept)
    return (
        [(each.pod.key.name, each.index, each.doubted) for each in kept],
        [(each.pod.key.name, each.index) for each in again],
    )


@pytest.mark.parametrize(
    "doubtful",
    [
        served("p1", X, ";"),
        served("p1", X + Y, f";{Y}", *TWO, phase="allocating"),
        served("p1", X + Y, Y, *TWO, phase="allocating"),
        served("p1", X, X, phase="failed"),
        served("p1", X, ";", terminating=True),
        served("p1", X, ";", phase="success", namespace="other"),
    ],
    ids=["served", "half served", "half served by an older plugin", "failed", "going", "elsewhere"],
)
def test_a_pod_that_was_told_of_and_has_not_started_is_in_doubt(doubtful: Pod) -> None:
    assert [each.pod for each in find_doubts(scene(doubtful))] == [doubtful]
    assert find_doubts(scene(doubtful, heard=["1"])) == ()
    assert find_doubts(scene(doubtful, heard=None)) == ()


@pytest.mark.parametrize(
    "sure",
    [
        pod("p1", X),
        served("p1", X, ";", phase="success", on=NodeName("node-b")),
        pod("p1", ";", allocated=X, phase=PodPhase.RUNNING),
        pod("p1", ";", allocated=X, annotations={"hami.io/bind-time": None}),
        pod("p1", ";", allocated=X, annotations={"hami.io/vgpu-node": "node-b"}),
        pod("p1", ";", allocated=";", annotations={"hami.io/bind-phase": "failed"}),
        pod("p1", "U,w,x,0:;", allocated=X),
        pod("p1", ";", allocated="U,w,x,0:;"),
        pod("p1", X + Y, allocated=X),
    ],
    ids=[
        "waits for its first",
        "on another node",
        "runs",
        "was never bound",
        "is meant for another node",
        "wants none",
        "what is left is not to be read",
        "nor what was granted",
        "more is left than was granted",
    ],
)
def test_of_others_there_is_no_doubt(sure: Pod) -> None:
    assert find_doubts(scene(sure)) == ()


def test_without_the_kubelets_list_nobody_is_left_out_and_nobody_asked_again() -> None:
    first, waits = served("p1", X, ";"), pod("p2", Y)

    assert sorted_out(scene(first, waits)) == ([("p2", 0, False)], [])


def test_whom_the_kubelet_does_not_list_it_does_not_ask_for() -> None:
    first, waits, other = served("p1", X, ";"), pod("p2", Y), pod("p3", Z)

    assert sorted_out(scene(first, waits, other, listed={"p2": []})) == ([("p2", 0, False)], [])
    assert sorted_out(scene(first, waits, other, listed={})) == ([], [])


def test_a_served_pod_without_devices_is_asked_for_again() -> None:
    first, waits = served("p1", X, ";"), pod("p2", Y)

    assert sorted_out(scene(first, waits, listed={"p1": []})) == ([], [("p1", 0)])
    assert sorted_out(scene(first, waits, listed={"p1": ["main"]})) == ([], [])


@pytest.mark.parametrize(
    ("held", "comes_to"),
    [
        ([], ([], [("p1", 0)])),
        (["a"], ([], [("p1", 1)])),
        (["a", "b"], ([("p1", 2, True)], [])),
        (["b"], ([("p1", 2, True)], [])),
    ],
    ids=["nothing", "the first", "both", "the second, so the first too"],
)
def test_a_pod_goes_on_with_the_first_container_that_the_kubelet_does_not_have(
    held: Sequence[str], comes_to: object
) -> None:
    three = (*TWO, container("c"))
    half = served("p1", X + Y + Z, f";;{Z}", *three, phase="allocating")

    assert sorted_out(scene(half, listed={"p1": held})) == comes_to


def test_places_of_containers_that_ask_for_nothing_are_passed_over() -> None:
    some = (container("none", asks=0), *TWO)
    half = served("p1", f";{X}{Y}", f";;{Y}", *some, phase="allocating")

    assert sorted_out(scene(half, listed={"p1": []})) == ([], [("p1", 1)])
    assert sorted_out(scene(half, listed={"p1": ["a"]})) == ([("p1", 2, True)], [])


def test_of_init_containers_nothing_is_told_unless_a_later_one_has_devices() -> None:
    begun = served("p1", X + Y + Z, f";{Y}{Z}", *INIT, phase="allocating")
    further = served("p1", X + Y + Z, f";;{Z}", *INIT, phase="allocating")

    assert sorted_out(scene(begun, listed={"p1": []})) == ([], [])
    assert sorted_out(scene(further, listed={"p1": []})) == ([], [])
    assert sorted_out(scene(further, listed={"p1": ["a"]})) == ([("p1", 2, True)], [])


def test_an_init_container_that_goes_on_is_told_of_as_any_other() -> None:
    begun = served("p1", X + Y, f";{Y}", *SIDECAR, phase="allocating")

    assert sorted_out(scene(begun, listed={"p1": []})) == ([], [("p1", 0)])
    assert sorted_out(scene(begun, listed={"p1": ["s"]})) == ([("p1", 1, True)], [])


@pytest.mark.parametrize(
    "given_up",
    [served("p1", X, ";", phase="failed"), served("p1", X, ";", terminating=True)],
    ids=["failed", "going"],
)
def test_who_failed_or_goes_is_not_served_again(given_up: Pod) -> None:
    assert sorted_out(scene(given_up, listed={"p1": []})) == ([], [])
