"""A lock that nobody needs is given back within a second, and no other ever is."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import ClusterUnreachableError, ForbiddenError
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.repair_lock import RepairLock
from ascend_agent.model.hami import HamiState
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.pods import Pod, PodPhase
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from tests.fakes.cluster import FakeCluster
from tests.fakes.hami import device, lock, pod, state
from tests.fakes.running import running, settle

KEY = "hami.io/mutex.lock"
AWAY = ClusterUnreachableError("get", "pods/default/p1", "no answer")
SLOT = f"{device(0, 16384)};"


def bound(name: str = "p1", slots: str = SLOT) -> Pod:
    """Return a pod of the fake cluster's node."""
    return dataclasses.replace(pod(name, slots), node=FakeCluster().node.name)


@dataclasses.dataclass(kw_only=True)
class Scene:
    cluster: FakeCluster
    bus: Bus
    instance: LatestWriter[InstanceState]
    hami: LatestWriter[HamiState]

    @property
    def held(self) -> str | None:
        """Return the lock as the API server has it."""
        return self.cluster.node.annotations.get(KEY)

    @property
    def looks(self) -> list[float]:
        """Return when the owner was looked at."""
        return [at for at, _ in self.cluster.reads]

    @property
    def released(self) -> int:
        """Return how many locks were given back, as the bus says."""
        found = self.bus.locks.value
        return found.released if found else -1

    def take_lock(self, name: str) -> None:
        self.cluster.change_annotations(lock(name))


@asynccontextmanager
async def repairing(
    *pods: Pod, locked_by: str | None = None, serves: bool = True
) -> AsyncIterator[Scene]:
    cluster = FakeCluster(annotations=lock(locked_by) if locked_by else {})
    cluster.show_pods(*pods)
    bus = Bus([])
    scene = Scene(
        cluster=cluster,
        bus=bus,
        instance=bus.instance.claim("test"),
        hami=bus.hami.claim("test"),
    )
    phase = InstancePhase.HOLDING if serves else InstancePhase.WAITING
    scene.instance.put(InstanceState(phase=phase))
    scene.hami.put(state())
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    repair = RepairLock(
        reader=cluster,
        editor=cluster,
        bus=bus,
        locks=bus.locks.claim("test"),
        clock=Clock(),
    )
    async with running(follow.run, repair.run):
        yield scene


async def test_a_lock_that_a_crash_left_goes_at_the_start() -> None:
    """Golden case: its owner does not exist."""
    async with repairing(locked_by="gone") as scene:
        await settle()

        assert scene.held is None
        assert scene.released == 1


@pytest.mark.parametrize("change", ["deleted", "terminating", "failed", "served"])
async def test_a_pod_that_needs_it_no_more_loses_it_within_a_second(change: str) -> None:
    """AL-14."""
    async with repairing() as scene:
        scene.take_lock("p1")
        scene.cluster.show_pods(bound())
        await asyncio.sleep(10)
        assert (scene.held, scene.looks) == (lock("p1")[KEY], [])
        match change:
            case "deleted":
                scene.cluster.show_pods()
            case "terminating":
                scene.cluster.show_pods(dataclasses.replace(bound(slots=";"), terminating=True))
            case "failed":
                scene.cluster.show_pods(dataclasses.replace(bound(), phase=PodPhase.FAILED))
            case _:
                scene.cluster.show_pods(bound(slots=";"))
        await asyncio.sleep(1)

        assert scene.held is None
        assert len(scene.looks) == 1


async def test_a_pod_that_is_deleted_while_it_waits_keeps_it_until_it_is_gone() -> None:
    """The kubelet asks for it all the same; the next pod was bound, and its devices were taken."""
    async with repairing() as scene:
        scene.take_lock("p1")
        scene.cluster.show_pods(bound())
        await asyncio.sleep(10)
        scene.cluster.show_pods(dataclasses.replace(bound(), terminating=True))
        await asyncio.sleep(60)
        assert scene.held == lock("p1")[KEY]
        scene.cluster.show_pods()
        await asyncio.sleep(1)

        assert scene.held is None


async def test_the_normal_course_costs_no_look() -> None:
    """Locked, bound, served, given back by the Allocate itself."""
    async with repairing() as scene:
        scene.take_lock("p1")
        await asyncio.sleep(0.7)
        scene.cluster.show_pods(bound())
        await asyncio.sleep(1)
        scene.cluster.show_pods(bound(slots=";"))
        await asyncio.sleep(0.2)
        scene.cluster.change_annotations({KEY: None})
        await asyncio.sleep(120)

        assert scene.looks == []
        assert scene.released == 0


@pytest.mark.parametrize("after", [{KEY: None}, lock("p2")], ids=["none", "another's"])
async def test_a_lock_that_goes_while_its_owner_is_read_is_not_asked_for_again(
    after: Mapping[str, str | None],
) -> None:
    """SC-1: a slow API server gives it back for the Allocate while it still answers our look."""
    async with repairing() as scene:
        scene.take_lock("p1")
        scene.cluster.show_pods(bound())
        await asyncio.sleep(1)
        scene.cluster.hold = asyncio.Event()
        scene.cluster.show_pods(bound(slots=";"))
        await asyncio.sleep(1)
        assert len(scene.looks) == 1
        scene.cluster.change_annotations(after)
        scene.cluster.hold.set()
        await settle()

        assert scene.cluster.asked == 0
        if after[KEY] is None:
            await asyncio.sleep(120)
            assert (len(scene.looks), scene.cluster.asked) == (1, 0)
        assert scene.released == 0


async def test_a_lock_of_a_pod_that_was_never_seen_here_goes_within_a_second() -> None:
    """Bound and deleted by force between two words of the watch: no list has ever shown it."""
    async with repairing() as scene:
        scene.take_lock("p1")
        await asyncio.sleep(1)

        assert scene.held is None
        assert scene.released == 1


async def test_a_lock_that_is_held_long_is_looked_at_ever_more_slowly() -> None:
    """A pod that waits for its image, or whose lock the scheduler took before it could bind it."""
    async with repairing() as scene:
        begin = asyncio.get_running_loop().time()
        scene.take_lock("p1")
        scene.cluster.have_pod(dataclasses.replace(bound(), node=None))
        await asyncio.sleep(95)
        looks = [round(at - begin) for at in scene.looks]
        scene.cluster.lose_pod(bound().key)
        await asyncio.sleep(30)

        assert looks == [1, 2, 6, 12, 25, 50, 80]
        assert scene.held is None


async def test_what_the_list_says_is_only_a_hint() -> None:
    """A namesake that is about to be bound holds the lock, while the first one still ends."""
    ending = dataclasses.replace(bound(slots=";"), terminating=True)
    async with repairing(ending) as scene:
        second = dataclasses.replace(bound(), uid=pod("p1", "", uid="2").uid, node=None)
        scene.cluster.have_pod(second)
        scene.take_lock("p1")
        await asyncio.sleep(3)

        assert scene.held == lock("p1")[KEY]
        assert len(scene.looks) == 3, "for the hint, as the first one is gone, and a moment later"


async def test_a_pod_that_fails_gives_its_lock_back_before_another_has_its_name() -> None:
    """A StatefulSet makes it anew at once, and that one's being there kept the lock."""
    async with repairing(bound(), locked_by="p1") as scene:
        await settle()
        scene.cluster.show_pods(dataclasses.replace(bound(), phase=PodPhase.FAILED))
        await asyncio.sleep(0.05)
        scene.cluster.show_pods()
        scene.cluster.have_pod(
            dataclasses.replace(bound(), uid=pod("p1", "", uid="2").uid, node=None, annotations={})
        )
        await asyncio.sleep(1)

        assert scene.held is None


@pytest.mark.parametrize("text", ["2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z,default"])
async def test_a_lock_without_a_readable_owner_is_left_alone(text: str) -> None:
    async with repairing() as scene:
        scene.cluster.change_annotations({KEY: text})
        await asyncio.sleep(3600)

        assert scene.held == text
        assert scene.looks == []


async def test_a_lock_nobody_can_read_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with repairing() as scene:
        for text in ("a,b", "a,b", None, "2026-01-01T00:00:01Z", "c,d"):
            scene.cluster.change_annotations({KEY: text, "other": str(text)})
            await settle()

    assert [vars(record)["lock"] for record in caplog.records] == ["a,b", "c,d"]
    assert {record.message for record in caplog.records} == {"node lock not understood"}


async def test_another_pods_lock_is_never_removed() -> None:
    """AL-3: it changed hands between the look and the removal."""
    async with repairing(locked_by="gone") as scene:
        scene.cluster.hold = asyncio.Event()
        scene.take_lock("p2")
        scene.cluster.have_pod(bound("p2"))
        scene.cluster.hold.set()
        await asyncio.sleep(5)

        assert scene.held == lock("p2")[KEY]


async def test_who_does_not_serve_the_node_looks_at_nothing_until_it_does() -> None:
    async with repairing(locked_by="gone", serves=False) as scene:
        await asyncio.sleep(60)
        assert (scene.held, scene.looks) == (lock("gone")[KEY], [])
        scene.instance.put(InstanceState(phase=InstancePhase.HOLDING))
        await settle()

        assert scene.held is None


async def test_who_serves_no_more_by_the_time_of_the_answer_removes_nothing() -> None:
    async with repairing(serves=False, locked_by="gone") as scene:
        scene.cluster.hold = asyncio.Event()
        scene.instance.put(InstanceState(phase=InstancePhase.HOLDING))
        await settle()
        scene.instance.put(InstanceState(phase=InstancePhase.WAITING))
        scene.cluster.hold.set()
        await settle()

        assert scene.held == lock("gone")[KEY]
        assert len(scene.looks) == 1


async def test_without_a_configured_chip_nothing_is_known_of_any_pod() -> None:
    async with repairing() as scene:
        scene.hami.put(dataclasses.replace(state(), chip=None))
        scene.take_lock("gone")
        await asyncio.sleep(60)

        assert scene.looks == []


async def test_trouble_is_met_ever_more_slowly_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with repairing() as scene:
        scene.cluster.error = AWAY
        scene.take_lock("p1")
        scene.cluster.show_pods(dataclasses.replace(bound(slots=";"), terminating=True))
        await asyncio.sleep(120)
        looks = len(scene.looks)
        scene.cluster.error = ForbiddenError("get", "pods/default/p1", "grant get on pods")
        await asyncio.sleep(40)
        scene.cluster.error = None
        await asyncio.sleep(40)

        assert 5 <= looks <= 9
        assert scene.held is None
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "owner of the node lock not known"),
        ("WARNING", "owner of the node lock not known"),
        ("INFO", "owner of the node lock known again"),
        ("INFO", "stale node lock released"),
    ]


async def test_a_server_that_never_answers_is_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with repairing() as scene:
        scene.cluster.hold = asyncio.Event()
        scene.take_lock("p1")
        scene.cluster.show_pods(dataclasses.replace(bound(slots=";"), terminating=True))
        await asyncio.sleep(30)
        assert len(scene.looks) == 2
        scene.cluster.hold.set()
        await asyncio.sleep(30)

        assert scene.held is None
    assert "within 20 s" in vars(caplog.records[0])["why"]
