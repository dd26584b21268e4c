"""The state is the worst of what the parts tell, and changes only when that does."""

import logging
from dataclasses import dataclass, field

import pytest

from ascend_agent.cluster.states import PublishedState
from ascend_agent.errors import ClusterUnreachableError, ForbiddenError, UnauthenticatedError
from ascend_agent.model.cluster import ApiPhase, ApiState
from ascend_agent.model.ids import Millis, NodeName
from ascend_agent.runtime.latest import Latest

AWAY = ClusterUnreachableError("watch", "nodes", "away")
NO = ForbiddenError("watch", "pods", "grant watch on pods")


@dataclass
class Scene:
    now: int = 0
    channel: Latest[ApiState] = field(default_factory=lambda: Latest("state"))

    def __post_init__(self) -> None:
        self.state = PublishedState(
            writer=self.channel.claim("test"),
            now=lambda: Millis(self.now),
            parts=("nodes", "pods"),
            node=NodeName("n1"),
        )

    def hear(self, **parts: ClusterUnreachableError | ForbiddenError | None) -> ApiState:
        self.now += 1
        for part, trouble in parts.items():
            self.state.hear(part, trouble)
        return self.value

    @property
    def value(self) -> ApiState:
        assert self.channel.value is not None
        return self.channel.value


def test_it_is_ready_once_every_part_is_well() -> None:
    scene = Scene()

    assert scene.value.phase is ApiPhase.CONNECTING
    assert scene.hear(nodes=None).phase is ApiPhase.CONNECTING
    assert scene.hear(pods=None) == ApiState(phase=ApiPhase.READY, since_ms=Millis(2))


def test_the_worst_counts() -> None:
    scene = Scene()
    scene.hear(nodes=None, pods=None)

    assert scene.hear(nodes=AWAY).phase is ApiPhase.UNREACHABLE
    assert scene.hear(pods=NO).phase is ApiPhase.FORBIDDEN
    assert scene.value.detail == str(NO)
    assert scene.hear(pods=None).detail == str(AWAY)
    assert scene.hear(nodes=UnauthenticatedError("list", "nodes", "who")).phase is (
        ApiPhase.FORBIDDEN
    )
    assert scene.hear(nodes=None).phase is ApiPhase.READY


def test_it_stands_since_the_phase_began() -> None:
    scene = Scene()
    scene.hear(nodes=None, pods=None)

    first = scene.hear(nodes=AWAY)
    second = scene.hear(nodes=ClusterUnreachableError("watch", "nodes", "still away"))

    assert first.since_ms == second.since_ms == 2
    assert first.detail != second.detail


def test_one_trouble_of_two_parts_is_said_once() -> None:
    assert Scene().hear(nodes=AWAY, pods=AWAY).detail == str(AWAY)


def test_a_node_nobody_knows_is_said() -> None:
    scene = Scene()
    scene.hear(nodes=None, pods=None)
    scene.state.hear_node(exists=False)

    absent = scene.value
    scene.state.hear_node(exists=True)

    assert (absent.phase, scene.value.phase) == (ApiPhase.NO_SUCH_NODE, ApiPhase.READY)
    assert "--node-name" in absent.detail


def test_server_and_credentials_stay_in_every_state() -> None:
    scene = Scene()
    scene.state.connect(server="https://a", credentials="kubeconfig /k")

    found = scene.hear(nodes=AWAY)

    assert (found.server, found.credentials) == ("https://a", "kubeconfig /k")


def test_a_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """OB-2: an outage of a day is one line, not one a retry."""
    caplog.set_level(logging.INFO)
    scene = Scene()
    for _ in range(3):
        scene.hear(nodes=AWAY)
    scene.hear(pods=NO)
    scene.hear(nodes=None, pods=None)
    scene.state.hear_node(exists=False)

    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("WARNING", "api server unreachable"),
        ("ERROR", "api server refuses the agent"),
        ("INFO", "api server answers"),
        ("ERROR", "own node unknown to the api server"),
    ]
