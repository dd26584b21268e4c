"""What happens to NPUs can be read on the node, once each, and nothing ever waits for it."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    ThrottledError,
)
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.post_events import Announcements, PostEvents
from ascend_agent.model.cluster import NodeEvent, NodeObject
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.ids import Millis, PodUid
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.notices import Announcement, HealthNotice, NoticeKind
from ascend_agent.model.pods import PodKey, PodRef
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup
from tests.fakes.cluster import FakeCluster, node_object
from tests.fakes.npus import npu
from tests.fakes.running import running

CODE = 0x8C064E00
HOLDING = InstanceState(phase=InstancePhase.HOLDING)
P1 = PodRef(key=PodKey(namespace="team", name="p1"), uid=PodUid("uid-1"))
WAITING = InstanceState(phase=InstancePhase.WAITING, holder="another")
RULES = FaultConfigState(rules=FaultRules(catalog=CATALOG, source="built-in"), version=1)
AWAY = ClusterUnreachableError("create", "events/e", "nobody answers")
TOO_MUCH = "more happened at once than there are Events for"


@dataclass(kw_only=True)
class _Node:
    cluster: FakeCluster
    clock: Clock
    notices: Publisher[HealthNotice]
    config: LatestWriter[FaultConfigState]
    instance: LatestWriter[InstanceState]
    node: LatestWriter[NodeObject]

    def notice(
        self, phy: int = 0, code: int = CODE, kind: NoticeKind = NoticeKind.OCCURRED
    ) -> HealthNotice:
        return HealthNotice(
            kind=kind,
            npu=npu(phy),
            code=FaultCode(code),
            level=FaultLevel.SEPARATE_NPU,
            at_ms=self.clock.now(),
        )

    def happens(
        self, phy: int = 0, code: int = CODE, kind: NoticeKind = NoticeKind.OCCURRED
    ) -> None:
        self.notices.publish(self.notice(phy, code, kind))

    @property
    def events(self) -> list[NodeEvent]:
        return list(self.cluster.events.values())

    def shown(self) -> list[tuple[str, int]]:
        return [(event.reason, event.count) for event in self.events]


@asynccontextmanager
async def posting(
    cluster: FakeCluster,
    *,
    instance: InstanceState | None = HOLDING,
    seen: bool = True,
    announcements: Announcements | None = None,
) -> AsyncIterator[_Node]:
    bus, clock = Bus([]), Clock()
    node = _Node(
        cluster=cluster,
        clock=clock,
        notices=bus.notices.claim("test"),
        config=bus.fault_config.claim("test"),
        instance=bus.instance.claim("test"),
        node=bus.own_node.claim("test"),
    )
    if instance is not None:
        node.instance.put(instance)
    if seen:
        node.node.put(cluster.node)
    flow = PostEvents(poster=cluster, bus=bus, clock=clock, announcements=announcements)
    async with running(flow.run):
        yield node


class _Announcing:
    """Has something to tell whenever the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Announcement] = []
        self._wakeups: list[Wakeup] = []

    def attach(self, wakeup: Wakeup) -> None:
        self._wakeups.append(wakeup)

    def take(self, now: Millis) -> Sequence[Announcement]:
        waiting = [replace(each, at_ms=now) for each in self.waiting]
        self.waiting.clear()
        return waiting

    def announce(self, message: str, *, pod: PodRef | None = P1) -> None:
        self.waiting.append(
            Announcement(reason="Told", message=message, warning=True, at_ms=Millis(0), pod=pod)
        )
        for wakeup in self._wakeups:
            wakeup.set()


async def soon() -> None:
    """Wait as long as a notice may take to be an Event, on an idle machine."""
    await asyncio.sleep(0.1)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_fault_is_one_event_of_the_node_at_once() -> None:
    async with posting(FakeCluster()) as node:
        at = node.clock.now()
        node.happens(3)
        await soon()

        (event,) = node.events
        assert (event.node_uid, event.warning, event.reason) == ("node-uid", True, "Occur")
        assert (event.count, event.first_ms, event.last_ms) == (1, at, at)
        assert event.action == "SeparateNPU"
        assert event.message.startswith("device fault, nodeName:n1, assertion:Occur, cardID:3")
        await asyncio.sleep(3600)

    assert len(node.cluster.posts) == 1


async def test_ten_flaps_are_one_event_with_count_ten() -> None:
    """Issue point 8, faults D80."""
    async with posting(FakeCluster()) as node:
        began = node.clock.now()
        for _ in range(10):
            node.happens()
            await asyncio.sleep(0.5)
            node.happens(kind=NoticeKind.RECOVERED)
            await asyncio.sleep(0.5)
        await asyncio.sleep(60)

        assert node.shown() == [("Occur", 10), ("Recovery", 10)]
        assert [event.warning for event in node.events] == [True, False]
        assert (node.events[0].first_ms, node.events[0].last_ms) == (began, began + 9_000)
    assert len(node.cluster.posts) <= 20


async def test_a_storm_costs_few_requests_and_hides_nobody() -> None:
    async with posting(FakeCluster()) as node:
        pair = [node.notice(kind=kind) for kind in (NoticeKind.OCCURRED, NoticeKind.RECOVERED)]
        for _ in range(10):
            for notice in pair * 500:
                node.notices.publish(notice)
            await asyncio.sleep(1)
        node.happens(1)
        await soon()
        assert len(node.events) == 3, "the other NPU's was there at once"
        posts = len(node.cluster.posts)
        await asyncio.sleep(60)

        assert posts <= 10 + 10 / 6
        assert sorted(node.shown()) == [("Occur", 1), ("Occur", 5_000), ("Recovery", 5_000)]
        assert node.cluster.lost_events == 0


async def test_after_an_outage_what_happened_is_told_in_few_events() -> None:
    """The API server away: nothing waits, and afterwards it is not flooded."""
    cluster = FakeCluster()
    cluster.error = AWAY
    async with posting(cluster) as node:
        for _ in range(100):
            for phy in range(8):
                node.happens(phy)
            await asyncio.sleep(36)
        tries = len(cluster.posts)
        cluster.error = None
        await asyncio.sleep(120)
        told = len(cluster.posts) - tries

        assert node.shown() == [("Occur", 100)] * 8
        assert tries <= 3600 / 24 + 10
        assert told == 8
        assert cluster.lost_events == 0


async def test_more_than_there_is_room_for_is_counted_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = FakeCluster()
    cluster.error = AWAY
    async with posting(cluster) as node:
        for code in range(150):
            node.happens(0, code)
            await soon()
        await asyncio.sleep(10)
        for code in range(150, 160):
            node.happens(0, code)
        await soon()

    assert cluster.lost_events == 60
    assert warnings(caplog) == ["events lost"]
    assert caplog.records[-1].why == TOO_MUCH  # type: ignore[attr-defined]  # an extra


async def test_notices_nobody_could_take_in_are_counted_too() -> None:
    """Whoever falls behind is told how much it missed."""
    async with posting(FakeCluster()) as node:
        notice = node.notice()
        for _ in range(5_000):
            node.notices.publish(notice)
        await soon()

        assert node.cluster.lost_events == 5_000
        node.happens()
        await soon()
        assert node.shown() == [("Occur", 1)]


async def test_an_event_that_the_server_forgot_is_made_anew() -> None:
    cluster = FakeCluster()
    async with posting(cluster) as node:
        node.happens()
        await soon()
        cluster.events.clear()
        node.happens()
        await asyncio.sleep(2)

        assert node.shown() == [("Occur", 2)]
    assert [known for _, _, known in cluster.posts] == [False, True, False]


@pytest.mark.parametrize(
    "error",
    [
        AWAY,
        ThrottledError("create", "events/e", "slowly", after_s=None),
        ConflictError("patch", "events/e", "changed meanwhile"),
        ForbiddenError("create", "events/e", "no rule"),
    ],
)
async def test_what_may_pass_is_tried_again_and_told_once(error: ClusterError) -> None:
    cluster = FakeCluster()
    cluster.error = error
    async with posting(cluster) as node:
        node.happens()
        await asyncio.sleep(30)
        assert node.events == []
        cluster.error = None
        await asyncio.sleep(300)

        assert node.shown() == [("Occur", 1)]
        assert cluster.lost_events == 0


async def test_tries_become_rare() -> None:
    cluster = FakeCluster()
    cluster.error = AWAY
    async with posting(cluster) as node:
        node.happens()
        await asyncio.sleep(600)
    times = [at for at, _, _ in cluster.posts]
    gaps = [after - before for before, after in itertools.pairwise(times)]

    assert 0.5 < gaps[0] < 2
    assert all(20 < gap < 40 for gap in gaps[4:])


async def test_a_server_that_is_back_is_told_at_once() -> None:
    """After a long outage half a minute more would be too long for whoever looks now."""
    cluster = FakeCluster()
    cluster.error = AWAY
    async with posting(cluster) as node:
        node.node.put(replace(cluster.node, live=False))
        node.happens()
        await asyncio.sleep(600)
        cluster.error = None
        node.node.put(replace(cluster.node, live=True))
        await soon()

        assert node.shown() == [("Occur", 1)]


async def test_the_servers_wish_is_kept() -> None:
    cluster = FakeCluster()
    cluster.error = ThrottledError("create", "events/e", "slowly", after_s=100)
    async with posting(cluster) as node:
        node.happens()
        await asyncio.sleep(79)
        assert len(cluster.posts) == 1


async def test_a_missing_rule_is_said_once_and_its_end_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error = ForbiddenError("create", "events/e", "grant create on events")
    async with posting(cluster) as node:
        for _ in range(10):
            node.happens()
            await asyncio.sleep(100)
        assert warnings(caplog) == ["events not posted"]
        assert "grant create on events" in str(vars(caplog.records[-1]))
        cluster.error = None
        await asyncio.sleep(400)

    assert [record.message for record in caplog.records][-1] == "events posted again"


async def test_a_server_that_is_away_is_not_said_here(caplog: pytest.LogCaptureFixture) -> None:
    """``api server unreachable`` says it already."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error = AWAY
    async with posting(cluster) as node:
        node.happens()
        await asyncio.sleep(100)
        cluster.error = None
        await asyncio.sleep(100)

    assert caplog.records == []
    assert len(cluster.events) == 1


@pytest.mark.parametrize(
    "error",
    [
        RejectedError("create", "events/e", "Invalid value"),
        NotFoundError("create", "events/e", 'namespaces "default" not found'),
    ],
)
async def test_what_the_server_never_takes_is_lost_and_said_once(
    error: ClusterError, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = FakeCluster()
    cluster.error = error
    async with posting(cluster) as node:
        node.happens()
        node.happens()
        await soon()
        assert cluster.lost_events == 2
        node.happens(1)
        await soon()
        assert cluster.lost_events == 3
        cluster.error = None
        node.happens(1)
        await soon()

        assert node.shown() == [("Occur", 1)]
    assert warnings(caplog) == ["events lost"]


async def test_the_log_is_bounded_whatever_the_server_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = FakeCluster()
    async with posting(cluster) as node:
        for number in range(20):
            cluster.error = RejectedError("create", "events/e", f"reason {number}")
            node.happens(number)
            await asyncio.sleep(60)

    assert len(warnings(caplog)) == 8


async def test_only_the_agent_that_serves_the_node_tells() -> None:
    """On an upgrade two agents see the same faults."""
    async with posting(FakeCluster(), instance=WAITING) as node:
        node.happens(0)
        await asyncio.sleep(10)
        node.instance.put(HOLDING)
        await asyncio.sleep(10)
        assert node.events == [], "the other one told it"
        node.happens(1)
        await soon()
        assert node.shown() == [("Occur", 1)]


async def test_what_happens_before_it_is_known_who_serves_is_told_later() -> None:
    """The first reading may find faults before the lock is taken."""
    async with posting(FakeCluster(), instance=None, seen=False) as node:
        node.happens(0)
        await asyncio.sleep(10)
        node.node.put(node_object())
        await asyncio.sleep(10)
        assert node.events == []
        node.instance.put(HOLDING)
        await soon()

        assert node.shown() == [("Occur", 1)]


async def test_without_the_nodes_uid_nothing_is_posted_and_nothing_lost() -> None:
    async with posting(FakeCluster(), seen=False) as node:
        node.happens(0)
        await asyncio.sleep(600)
        assert node.cluster.posts == []
        node.node.put(node_object())
        await soon()

        assert node.shown() == [("Occur", 1)]


async def test_refused_fault_rules_are_an_event_and_so_is_their_end() -> None:
    async with posting(FakeCluster()) as node:
        node.config.put(RULES)
        await soon()
        assert node.events == []
        node.config.put(replace(RULES, refused=("faultCode.json: no code",)))
        await soon()
        node.config.put(replace(RULES, refused=("faultCode.json: no code",), version=2))
        await asyncio.sleep(10)
        (event,) = node.events
        assert (event.warning, event.reason, event.count) == (True, "FaultConfigRefused", 1)
        assert "faultCode.json: no code" in event.message

        node.config.put(replace(RULES, refused=("faultCode.json: no JSON",), version=2))
        await asyncio.sleep(10)
        node.config.put(replace(RULES, version=3))
        await asyncio.sleep(10)

        assert node.shown() == [("FaultConfigRefused", 2), ("FaultConfigTaken", 1)]
        assert "no JSON" in node.events[0].message
        assert not node.events[1].warning


async def test_codes_are_spelled_as_the_rules_in_force_spell_them() -> None:
    async with posting(FakeCluster()) as node:
        catalog = replace(CATALOG, spellings={FaultCode(CODE): "08C064E00"})
        node.config.put(replace(RULES, rules=replace(RULES.rules, catalog=catalog)))
        node.happens()
        await soon()

        assert "faultCodes:08C064E00," in node.events[0].message


async def test_what_happens_during_an_attempt_is_told_by_the_next() -> None:
    """An attempt takes up to ten seconds; notices must not pile up meanwhile."""
    cluster = FakeCluster()
    cluster.hold = asyncio.Event()
    async with posting(cluster) as node:
        node.happens()
        await soon()
        assert len(cluster.posts) == 1
        notice = node.notice()
        for _ in range(3):
            for _ in range(4_000):
                node.notices.publish(notice)
            await soon()
        cluster.hold.set()
        await asyncio.sleep(60)

        assert cluster.lost_events == 0
        assert node.shown() == [("Occur", 12_001)]


async def test_it_works_with_what_follow_cluster_shows() -> None:
    bus, cluster = Bus([]), FakeCluster()
    bus.instance.claim("test").put(HOLDING)
    clock = Clock()
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    publish = bus.notices.claim("test").publish
    async with running(PostEvents(poster=cluster, bus=bus, clock=clock).run, follow.run):
        publish(
            HealthNotice(
                kind=NoticeKind.ONE_OFF,
                npu=npu(0),
                code=FaultCode(CODE),
                level=FaultLevel.NOT_HANDLE,
                at_ms=Millis(clock.now()),
            )
        )
        await soon()

    assert [event.reason for event in cluster.events.values()] == ["Notice"]


async def test_what_is_announced_of_a_pod_is_an_event_about_the_pod() -> None:
    """AL-8."""
    cluster, announcing = FakeCluster(), _Announcing()
    async with posting(cluster, announcements=announcing) as node:
        for message in ("first", "again"):
            announcing.announce(message)
            await asyncio.sleep(5)
        announcing.announce("of the node", pod=None)
        await soon()

    assert node.shown() == [("Told", 2), ("Told", 1)]
    assert [(one.pod, one.message) for one in node.events] == [(P1, "again"), (None, "of the node")]
    assert {one.warning for one in node.events} == {True}


async def test_what_is_announced_while_another_agent_serves_is_its_to_tell() -> None:
    cluster, announcing = FakeCluster(), _Announcing()
    async with posting(cluster, instance=WAITING, announcements=announcing) as node:
        announcing.announce("first")
        await soon()
        node.instance.put(HOLDING)
        await soon()

    assert node.shown() == []


async def test_a_namespace_that_takes_no_events_holds_no_other_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One that is being deleted refuses all that is new in it, as a missing rule would."""
    cluster, announcing = FakeCluster(), _Announcing()
    cluster.error = ForbiddenError("create", "events/e", "the namespace is being terminated")
    async with posting(cluster, announcements=announcing) as node:
        announcing.announce("lost")
        await soon()
        cluster.error = None
        node.happens()
        await soon()

    assert node.shown() == [("Occur", 1)]
    assert warnings(caplog) == ["events lost"]
    assert cluster.lost_events == 1
