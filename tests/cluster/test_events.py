"""What an Event looks like on the wire, and what becomes of one attempt."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.events import Poster
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ClusterUnreachableError, ForbiddenError, RejectedError
from ascend_agent.model.cluster import NodeEvent
from ascend_agent.model.ids import Millis, NodeName, PodUid
from ascend_agent.model.pods import PodKey, PodRef
from ascend_agent.sim.cluster import FakeApiServer
from tests.cluster.connected import client

EVENT = NodeEvent(
    name="n1.e1",
    node_uid="node-uid",
    warning=True,
    reason="Occur",
    action="FreeRestartNPU",
    message="device fault",
    count=2,
    first_ms=Millis(1_767_607_200_123),
    last_ms=Millis(1_767_607_260_999),
)
NORMAL = replace(EVENT, warning=False)


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        yield one


@asynccontextmanager
async def posting(server: FakeApiServer, node: str = "n1") -> AsyncIterator[tuple[Poster, Tally]]:
    tally, door = Tally(), Door()
    async with client(server.url, tally=tally) as api:
        with door.open_to(api):
            yield Poster(node=NodeName(node), door=door, tally=tally), tally


def shown(server: FakeApiServer) -> dict[str, Any]:
    (found,) = server.store.find("events", lambda _: True)
    return {
        key: value for key, value in found.items() if key not in {"metadata", "apiVersion", "kind"}
    }


async def test_an_event_is_about_the_node_and_has_real_times(server: FakeApiServer) -> None:
    """Faults D80: not the time of writing, and an object that ``kubectl describe`` shows."""
    async with posting(server) as (poster, tally):
        await poster.post_event(EVENT, known=False)

    assert shown(server) == {
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-uid"},
        "type": "Warning",
        "reason": "Occur",
        "action": "FreeRestartNPU",
        "message": "device fault",
        "source": {"component": "ascend-agent", "host": "n1"},
        "reportingComponent": "ascend-agent",
        "reportingInstance": "n1",
        "eventTime": "2026-01-05T10:00:00.123000Z",
        "firstTimestamp": "2026-01-05T10:00:00Z",
        "lastTimestamp": "2026-01-05T10:01:00Z",
        "count": 2,
    }
    assert (tally.events_posted, tally.events_lost) == (1, 0)


async def test_an_event_about_a_pod_is_beside_the_pod(server: FakeApiServer) -> None:
    """AL-8: where ``kubectl describe pod`` looks for it."""
    pod = PodRef(key=PodKey(namespace="team", name="p1"), uid=PodUid("pod-uid"))
    about = replace(EVENT, pod=pod)
    async with posting(server) as (poster, _):
        await poster.post_event(about, known=False)
        await poster.post_event(replace(about, count=3), known=True)

    assert server.store.get(("events", "team", "n1.e1"))["count"] == 3
    assert shown(server)["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team",
        "name": "p1",
        "uid": "pod-uid",
    }
    assert shown(server)["source"]["host"] == "n1"


async def test_a_missing_rule_names_the_pods_namespace(server: FakeApiServer) -> None:
    pod = PodRef(key=PodKey(namespace="team", name="p1"), uid=PodUid("pod-uid"))
    server.refuse(403)
    async with posting(server) as (poster, _):
        with pytest.raises(ForbiddenError, match="grant create on events in namespace team"):
            await poster.post_event(replace(EVENT, pod=pod), known=False)


async def test_what_is_no_warning_is_normal(server: FakeApiServer) -> None:
    async with posting(server) as (poster, _):
        await poster.post_event(NORMAL, known=False)

    assert shown(server)["type"] == "Normal"


async def test_a_change_sends_what_changes_and_no_more(server: FakeApiServer) -> None:
    """D9; and what an Event began with stays."""
    later = replace(EVENT, count=9, message="again", action="SeparateNPU", last_ms=Millis(0))
    async with posting(server) as (poster, tally):
        await poster.post_event(EVENT, known=False)
        before = shown(server)
        await poster.post_event(later, known=True)

    assert server.bodies[-1] == {
        "action": "SeparateNPU",
        "message": "again",
        "lastTimestamp": "1970-01-01T00:00:00Z",
        "count": 9,
    }
    assert shown(server) == before | dict(server.bodies[-1])
    assert {query["fieldManager"] for _, _, query in server.asked} == {"ascend-agent"}
    assert tally.events_posted == 2


async def test_texts_are_cut_to_what_the_api_takes(server: FakeApiServer) -> None:
    """Bytes count there, and a cut must not leave half a character."""
    long = replace(EVENT, message="ü" * 600, reason="r" * 129, action="a" * 200)
    async with posting(server, "n" * 253) as (poster, _):
        await poster.post_event(long, known=False)
    made = shown(server)
    async with posting(server) as (poster, _):
        await poster.post_event(replace(long, message="\ud800"), known=True)

    assert made["message"] == "ü" * 510 + "..."
    assert made["reason"] == "r" * 125 + "..."
    assert made["action"] == "a" * 125 + "..."
    assert made["reportingInstance"] == "n" * 125 + "..."
    assert made["source"]["host"] == "n" * 253
    assert shown(server)["message"] == "?", "half a pair is no text that JSON could carry"


async def test_texts_that_just_fit_are_left_alone(server: FakeApiServer) -> None:
    async with posting(server) as (poster, _):
        await poster.post_event(replace(EVENT, message="m" * 1024, reason="r" * 128), known=False)

    assert shown(server)["message"] == "m" * 1024
    assert shown(server)["reason"] == "r" * 128


async def test_an_attempt_is_one_attempt(server: FakeApiServer) -> None:
    """Until the next one what is to be said may be something else."""
    async with posting(server) as (poster, tally):
        for code, error in (
            (500, ClusterUnreachableError),
            (403, ForbiddenError),
            (422, RejectedError),
        ):
            server.refuse(code)
            with pytest.raises(error):
                await poster.post_event(EVENT, known=False)

    assert len(server.asked) == 3
    assert tally.events_posted == 0
    assert tally.errors == 3


async def test_a_missing_rule_is_named_with_its_namespace(server: FakeApiServer) -> None:
    server.refuse(403, times=2)
    async with posting(server) as (poster, _):
        with pytest.raises(ForbiddenError, match="grant create on events in namespace default to"):
            await poster.post_event(EVENT, known=False)
        with pytest.raises(ForbiddenError, match="grant patch on events in namespace default to"):
            await poster.post_event(EVENT, known=True)


async def test_without_a_connection_an_attempt_waits_for_one(server: FakeApiServer) -> None:
    tally, door = Tally(), Door()
    poster = Poster(node=NodeName("n1"), door=door, tally=tally)
    async with client(server.url, tally=tally) as api, asyncio.TaskGroup() as group:
        attempt = group.create_task(poster.post_event(EVENT, known=False))
        await asyncio.sleep(60)
        assert not attempt.done()
        with door.open_to(api):
            await attempt

    assert shown(server)["count"] == 2


def test_what_is_lost_is_counted() -> None:
    tally = Tally()
    poster = Poster(node=NodeName("n1"), door=Door(), tally=tally)
    poster.lose_events(3)
    poster.lose_events(4)

    assert (tally.events_posted, tally.events_lost) == (0, 7)
