"""Events of the node on a real API server, as ``kubectl describe node`` would find them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.bus import Bus
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.post_events import PostEvents
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import NodeName
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.notices import HealthNotice, NoticeKind
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher
from tests.cluster.account import account, grant, make_node
from tests.cluster.api import Api, Json, node_path
from tests.cluster.connected import connection, running, until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import eventually
from tests.fakes.npus import npu

pytestmark = pytest.mark.cluster

EVENTS = "/api/v1/namespaces/default/events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A node, and the flow that tells of its NPUs over a real connection."""

    api: Api
    node: str
    uid: str
    bus: Bus
    clock: Clock
    publish: Publisher[HealthNotice]

    def happens(
        self, phy: int, kind: NoticeKind = NoticeKind.OCCURRED, code: int = 0x80E01801
    ) -> None:
        self.publish.publish(
            HealthNotice(
                kind=kind,
                npu=npu(phy),
                code=FaultCode(code),
                level=FaultLevel.RESTART_BUSINESS,
                at_ms=self.clock.now(),
            )
        )

    async def described(self) -> list[Json]:
        """Return the Events that ``kubectl describe node`` shows."""
        fields = {
            "involvedObject.name": self.node,
            "involvedObject.namespace": "",
            "involvedObject.kind": "Node",
            "involvedObject.uid": self.uid,
        }
        selector = ",".join(f"{field}={value}" for field, value in fields.items())
        return await self.api.list("/api/v1/events", fieldSelector=selector)

    async def until_counts(self, **counts: int) -> list[Json]:
        """Wait until there are exactly these Events, by reason, with these counts."""

        async def told() -> list[Json] | None:
            found = await self.described()
            return found if sorted(_counts(found)) == sorted(counts.items()) else None

        return await eventually(told, what=f"Events {counts}", limit_s=60)


def _counts(events: list[Json]) -> list[tuple[str, int]]:
    return [(event["reason"], event["count"]) for event in events]


@pytest.fixture
async def scene(
    api: Api, control_plane: ControlPlane, own_namespace: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    name = f"node-{own_namespace}"
    made = await make_node(api, name)
    await grant(api, namespace=own_namespace)
    folder = await account(control_plane, tmp_path / "sa", namespace=own_namespace)
    one = connection(folder=folder, url=control_plane.url, node=NodeName(name))
    bus, clock = Bus([]), Clock()
    bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
    follow = FollowCluster(
        watch=one,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    scene = Scene(
        api=api,
        node=name,
        uid=made["metadata"]["uid"],
        bus=bus,
        clock=clock,
        publish=bus.notices.claim("test"),
    )
    async with running(one), asyncio.TaskGroup() as group:
        flows = (follow, PostEvents(poster=one, bus=bus, clock=clock))
        tasks = [group.create_task(flow.run()) for flow in flows]
        async with asyncio.timeout(30):
            await until(bus.api.changes(), lambda state: state.phase is ApiPhase.READY)
        yield scene
        for task in tasks:
            task.cancel()
    await control_plane.revive()  # the test may have stopped it
    for event in await scene.described():
        await api.delete(f"{EVENTS}/{event['metadata']['name']}")
    await api.delete(node_path(name))


async def test_a_fault_is_one_event_that_says_which_npu_and_since_when(scene: Scene) -> None:
    scene.happens(3)
    (event,) = await scene.until_counts(Occur=1)

    assert event["type"] == "Warning"
    assert event["source"] == {"component": "ascend-agent", "host": scene.node}
    assert event["message"].startswith(
        f"device fault, nodeName:{scene.node}, assertion:Occur, cardID:3, deviceID:0, "
        "faultCodes:80E01801, faultLevelName:RestartBusiness, alarmRaisedTime:20"
    )
    assert event["action"] == "RestartBusiness"


async def test_ten_flaps_are_one_event_with_count_ten(scene: Scene) -> None:
    """Issue point 8, faults D80."""
    for _ in range(10):
        scene.happens(0)
        await asyncio.sleep(0)
        scene.happens(0, NoticeKind.RECOVERED)
        await asyncio.sleep(0.1)
    events = await scene.until_counts(Occur=10, Recovery=10)

    by_reason = {event["reason"]: event for event in events}
    assert by_reason["Occur"]["eventTime"][:19] == by_reason["Occur"]["firstTimestamp"][:19]
    assert by_reason["Occur"]["lastTimestamp"] >= by_reason["Occur"]["firstTimestamp"]
    assert by_reason["Recovery"]["type"] == "Normal"


async def test_after_an_outage_there_are_few_events_with_all_counts(
    scene: Scene, control_plane: ControlPlane
) -> None:
    """What happened meanwhile is told, and not by a flood."""
    await control_plane.stop_server()
    async with asyncio.timeout(30):
        await until(scene.bus.api.changes(), lambda state: state.phase is ApiPhase.UNREACHABLE)
    for _ in range(50):
        for phy in range(4):
            scene.happens(phy)
        await asyncio.sleep(0)
    since = control_plane.audit.position()
    await control_plane.start_server()

    async def told() -> list[Json] | None:
        found = await scene.described()
        return found if len(found) == 4 and {one["count"] for one in found} == {50} else None

    await eventually(told, what="an Event for each NPU", limit_s=60)

    async def written_down() -> list[tuple[str, int]] | None:
        found = [
            (event["verb"], event["responseStatus"]["code"])
            for event in control_plane.audit_events(since=since)
            if event.get("objectRef", {}).get("resource") == "events"
            and event["userAgent"].startswith("ascend-agent/")
        ]
        return found if sum(code < 300 for _, code in found) >= 4 else None

    # The server writes down what it answered a moment later.
    asked = await eventually(written_down, what="an audit event for each Event")
    # A server that has just started may refuse at first: it has not read its rules yet.
    assert [answer for answer in asked if answer[1] < 300] == [("create", 201)] * 4
    assert len(asked) <= 10


async def test_an_event_that_was_deleted_is_made_anew(scene: Scene) -> None:
    """The server forgets Events by itself after an hour."""
    scene.happens(0)
    (event,) = await scene.until_counts(Occur=1)
    await scene.api.delete(f"{EVENTS}/{event['metadata']['name']}")
    scene.happens(0)

    await scene.until_counts(Occur=2)
