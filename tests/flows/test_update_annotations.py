"""The own Node looks as the dialect wants it, whoever changes what."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from ascend_agent import chips
from ascend_agent.bus import Bus
from ascend_agent.dialects import plain
from ascend_agent.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
)
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.update_annotations import NodeWants, UpdateAnnotations
from ascend_agent.model.cluster import ForeignEdit, MetadataField, NodeEdit, Report
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.world import NodeWorld
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from tests.fakes.cluster import FakeCluster
from tests.fakes.npus import node_view
from tests.fakes.running import running, settle

CHIP = "node.kubernetes.io/npu.chip.name"
DRIVER = "huawei.com/driver.version"
READY = DriverState(phase=DriverPhase.READY, dcmi_version="24.1")
HOLDING = InstanceState(phase=InstancePhase.HOLDING)
LABELS = {
    "accelerator": "huawei-Ascend910",
    "servertype": "Ascend910B-20",
    CHIP: "910B3",
    DRIVER: "24.1",
    "mind-cluster/npu-chip-memory": "64G",
}


@dataclass(kw_only=True)
class _Node:
    cluster: FakeCluster
    bus: Bus
    view: LatestWriter[NodeView]
    driver: LatestWriter[DriverState]
    instance: LatestWriter[InstanceState]


@asynccontextmanager
async def updating(
    cluster: FakeCluster,
    *,
    view: NodeView | None = None,
    dialect: plain.PlainDialect | None = None,
) -> AsyncIterator[_Node]:
    bus = Bus([])
    node = _Node(
        cluster=cluster,
        bus=bus,
        view=bus.node.claim("test"),
        driver=bus.driver.claim("test"),
        instance=bus.instance.claim("test"),
    )
    node.instance.put(HOLDING)
    node.driver.put(READY)
    if view is not None:
        node.view.put(view)
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    update = UpdateAnnotations(
        dialect=dialect or plain.DIALECT,
        specs={spec.generation: spec for spec in chips.SPECS},
        wants=NodeWants(),
        editor=cluster,
        bus=bus,
        operator=bus.operator.claim("test"),
        published=bus.published.claim("test"),
        clock=Clock(),
    )
    async with running(follow.run, update.run):
        yield node


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


async def test_labels_appear_once_everything_is_known_and_are_written_once() -> None:
    """SC-1: nothing is written while nothing changes, however long that is."""
    cluster = FakeCluster({"zone": "a"})
    async with updating(cluster) as node:
        assert cluster.sent == []
        node.view.put(node_view())
        await asyncio.sleep(3600)

    assert [edit for _, edit in cluster.sent] == [LABELS]
    assert cluster.node.labels == LABELS | {"zone": "a"}


async def test_a_node_that_looks_right_already_is_not_written() -> None:
    cluster = FakeCluster(LABELS)
    async with updating(cluster, view=node_view()):
        await asyncio.sleep(60)

    assert cluster.sent == []
    assert cluster.asked


async def test_nothing_is_done_before_the_npus_are_known_or_where_there_is_none() -> None:
    cluster = FakeCluster()
    async with updating(cluster) as node:
        await asyncio.sleep(60)
        node.view.put(node_view(0))
        await asyncio.sleep(60)

    assert cluster.asked == 0


async def test_nothing_is_done_on_what_may_be_old() -> None:
    """A Node as last seen is no ground to write on: it may look right by now, or be another."""
    cluster = FakeCluster(live=False)
    async with updating(cluster, view=node_view()):
        await asyncio.sleep(600)
        assert cluster.asked == 0
        cluster.live(live=True)
        await settle()

        assert cluster.node.labels == LABELS


async def test_an_agent_that_waits_for_another_one_to_end_writes_nothing() -> None:
    """KL-4: on an upgrade two versions, each with its own idea of a label, would quarrel."""
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()) as node:
        node.instance.put(InstanceState(phase=InstancePhase.WAITING, holder="pid 7"))
        cluster.change_labels({CHIP: None})
        await asyncio.sleep(600)
        assert CHIP not in cluster.node.labels
        node.instance.put(HOLDING)
        await settle()

        assert cluster.node.labels == LABELS


async def test_a_new_driver_is_told_and_nothing_else_is_sent_again() -> None:
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()) as node:
        node.driver.put(replace(READY, dcmi_version="25.0"))
        await settle()

    assert cluster.sent[-1][1] == {DRIVER: "25.0"}


async def test_health_is_no_business_of_the_labels() -> None:
    """HL-2: they say what the chips are. A storm of faults must not become one of requests."""
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()) as node:
        for generation in range(2, 50):
            node.view.put(node_view(sick=(generation % 8,), generation=generation))
            await settle()

    assert len(cluster.sent) == 1


async def test_what_others_change_is_put_right_at_once_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """AP-8: by the same path, since the node as it should be is always the whole one."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()):
        cluster.change_labels({CHIP: "x" * 200, "zone": "b"})
        await settle()

        assert cluster.sent[-1][1] == {CHIP: "910B3"}
        assert cluster.node.labels == LABELS | {"zone": "b"}

    assert told(caplog) == ["value of ours changed by others"]
    facts = vars(caplog.records[0])
    assert (facts["key"], facts["wrote"], facts["object"]) == (CHIP, "910B3", "node")
    assert facts["found"] == "x" * 80 + "..."


async def test_what_another_flow_wrote_is_that_ones_to_hear_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SC-1: a quarrel about the device list is told by the flow that writes it, and once."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()):
        await cluster.apply(NodeEdit(labels={}, annotations={"list": "1"}))
        cluster.change_annotations({"list": "2"})
        await settle()

    assert told(caplog) == []


async def test_a_label_that_was_taken_away_comes_back() -> None:
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()):
        cluster.change_labels({"accelerator": None})
        await settle()

        assert cluster.node.labels == LABELS


async def test_who_insists_is_met_ever_more_slowly_and_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two controllers that each put a key right at once would keep the API server busy."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    start = asyncio.get_running_loop().time()
    async with updating(cluster, view=node_view()) as node:

        async def insist() -> None:
            async for own in node.bus.own_node.changes():
                if own.labels.get(CHIP) == "910B3":
                    cluster.change_labels({CHIP: "theirs"})

        async with asyncio.TaskGroup() as group:
            stranger = group.create_task(insist())
            await asyncio.sleep(1800)
            stranger.cancel()

    times = [round(at - start) for at, _ in cluster.sent]
    assert times[:3] == [0, 0, 5]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps == sorted(gaps)
    assert 300 <= gaps[-1] <= 301
    assert len(times) < 15
    assert told(caplog) == ["value of ours changed by others", "value of ours disputed by others"]


async def test_a_disputed_key_holds_no_other_up() -> None:
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()) as node:
        for _ in range(4):
            cluster.change_labels({CHIP: "theirs"})
            await settle()
        assert cluster.node.labels[CHIP] == "theirs"
        node.driver.put(replace(READY, dcmi_version="25.0"))
        await settle()
        assert cluster.node.labels[DRIVER] == "25.0"
        await asyncio.sleep(61)

        assert cluster.node.labels[CHIP] == "910B3"


@pytest.mark.parametrize(
    "error",
    [
        ForbiddenError("patch", "nodes/n1", "not allowed: grant the verb patch on nodes"),
        RejectedError("patch", "nodes/n1", "denied by a webhook"),
        NotFoundError("patch", "nodes/n1", "there is no such node"),
        ConflictError("patch", "nodes/n1", "another one by now"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_only_people_can_mend_is_said_once_and_tried_slowly(
    error: ClusterError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error = error
    async with updating(cluster, view=node_view()):
        await asyncio.sleep(3600)
        tries = cluster.asked
        cluster.error = None
        await asyncio.sleep(370)

        assert cluster.node.labels == LABELS

    assert 10 < tries < 20
    assert told(caplog) == ["node not updated", "node updated again"]
    assert vars(caplog.records[0])["why"] == str(error)


async def test_a_refused_edit_is_not_repeated_for_changes_that_do_not_concern_it() -> None:
    """The kubelet writes its Node every few minutes, and faults come by the hundred."""
    cluster = FakeCluster()
    cluster.error = ForbiddenError("patch", "nodes/n1", "no")
    async with updating(cluster, view=node_view()) as node:
        for generation in range(2, 30):
            cluster.change_labels({"zone": str(generation)})
            node.view.put(node_view(sick=(1,), generation=generation))
            await settle()

        assert cluster.asked == 1
        node.driver.put(replace(READY, dcmi_version="25.0"))
        await settle()
        assert cluster.asked == 2


async def test_an_edit_that_waits_is_given_up_once_it_is_out_of_date() -> None:
    """What is written after an outage is what is true then."""
    cluster = FakeCluster()
    cluster.hold = asyncio.Event()
    async with updating(cluster, view=node_view()) as node:
        node.view.put(node_view(sick=(2,), generation=2))
        await asyncio.sleep(100)
        assert cluster.given_up == 0
        node.driver.put(replace(READY, dcmi_version="25.0"))
        await settle()
        assert cluster.given_up == 1
        cluster.live(live=False)
        await settle()
        assert cluster.given_up == 2
        cluster.hold.set()
        cluster.live(live=True)
        await settle()

    assert [edit for _, edit in cluster.sent] == [LABELS | {DRIVER: "25.0"}]


async def test_a_change_while_an_edit_is_under_way_is_not_overlooked() -> None:
    """The edit was decided on the node before it, and repairs nothing of it."""
    cluster = FakeCluster({key: value for key, value in LABELS.items() if key != CHIP})
    cluster.hold = asyncio.Event()
    cluster.late = True
    async with updating(cluster, view=node_view()):
        cluster.change_labels({"accelerator": "theirs"})
        await settle()
        cluster.hold.set()
        await asyncio.sleep(5)

    assert [edit for _, edit in cluster.sent] == [
        {CHIP: "910B3"},
        {"accelerator": "huawei-Ascend910"},
    ]


async def test_giving_up_an_edit_is_no_success(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error = RejectedError("patch", "nodes/n1", "no")
    async with updating(cluster, view=node_view()):
        cluster.error = None
        cluster.hold = asyncio.Event()
        await asyncio.sleep(10)
        cluster.live(live=False)
        await asyncio.sleep(10)

    assert told(caplog) == ["node not updated"]


async def test_a_label_that_is_left_out_is_said_once_and_again_when_it_is_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = FakeCluster()
    async with updating(cluster, view=node_view()) as node:
        for version in ("24 a", "24 a", "24 b"):
            node.driver.put(replace(READY, dcmi_version=version))
            await settle()
        cluster.live(live=False)
        await settle()
        cluster.live(live=True)
        await settle()

    assert told(caplog) == ["node label left out"] * 2
    assert "24 b" in vars(caplog.records[1])["why"]


class _Impatient(plain.PlainDialect):
    """Wants to be asked again after a minute each time, and tells when it was."""

    def __init__(self) -> None:
        self.asked: list[Millis] = []

    def report(self, world: NodeWorld) -> Report:
        self.asked.append(world.now)
        return Report(edits=(), wake_at=Millis(world.now + 60_000))


async def test_a_dialect_is_asked_again_when_it_wants_to_be() -> None:
    dialect = _Impatient()
    async with updating(FakeCluster(), view=node_view(), dialect=dialect):
        first = len(dialect.asked)
        await asyncio.sleep(181)

    assert len(dialect.asked) == first + 3
    assert dialect.asked[-1] - dialect.asked[-2] == 60_000


async def test_news_that_were_missed_stop_nothing() -> None:
    """The Node itself says what is to be put right."""
    bus, cluster = Bus([]), FakeCluster()
    bus.node.claim("test").put(node_view())
    bus.driver.claim("test").put(READY)
    bus.instance.claim("test").put(HOLDING)
    own_node = bus.own_node.claim("test")
    strangers = bus.foreign.claim("test")
    flow = UpdateAnnotations(
        dialect=plain.DIALECT,
        specs={spec.generation: spec for spec in chips.SPECS},
        wants=NodeWants(),
        editor=cluster,
        bus=bus,
        operator=bus.operator.claim("test"),
        published=bus.published.claim("test"),
        clock=Clock(),
    )
    edit = ForeignEdit(
        pod=None, field=MetadataField.LABELS, key=CHIP, wrote="a", found="b", at_ms=Millis(0)
    )
    for _ in range(bus.foreign.depth + 1):
        strangers.publish(edit)

    async with running(flow.run):
        own_node.put(cluster.node)
        await settle()

    assert cluster.node.labels == LABELS
