"""The node is registered with HAMi's scheduler, whichever version asks; no word without cause."""

import asyncio
import dataclasses
import itertools
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import ForbiddenError
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.register_node import Cadence, RegisterNode
from ascend_agent.model.cluster import ApiPhase, Edit, ForeignEdit, MetadataField
from ascend_agent.model.hami import HamiRegistration, HamiState, RegistrationPhase
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.npu import HiddenNpu, Inventory
from ascend_agent.model.pods import PodKey
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher
from tests.fakes.cluster import FakeCluster
from tests.fakes.hami import CHIP_310P, CHIP_910B3, node_view, state
from tests.fakes.hami_scheduler import VERSIONS, InMemory, Scheduler, Version
from tests.fakes.npus import address, inventory
from tests.fakes.running import running, settle

WORD = "Ascend910B3"
SOFT = "hami-vnpu-core"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
HOLDING = InstanceState(phase=InstancePhase.HOLDING)
WAITING = InstanceState(phase=InstancePhase.WAITING)
START_MS = Millis(1_767_225_600_000)
"""2026-01-01 00:00:00 UTC."""
BY_NAME = {version.name: version for version in VERSIONS}
ALL_HIDDEN = dataclasses.replace(
    inventory(0), hidden=(HiddenNpu(address=address(0)), HiddenNpu(address=address(1)))
)
NOTHING_OFFERED = dataclasses.replace(state(), chip=None, trouble="every NPU is hidden")
OTHER = dataclasses.replace(CHIP_910B3, word="Ascend910New")


class FixedClock(Clock):
    """Agent time that begins with the year."""

    def __init__(self) -> None:
        super().__init__()
        self._started_ms = START_MS


@dataclass(kw_only=True)
class Node:
    """A node as the flow sees it, and what the flow makes of it."""

    cluster: FakeCluster
    bus: Bus
    clock: Clock
    inventory: LatestWriter[Inventory]
    view: LatestWriter[NodeView]
    hami: LatestWriter[HamiState]
    instance: LatestWriter[InstanceState]
    foreign: Publisher[ForeignEdit]

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.cluster.node.annotations

    @property
    def registered(self) -> HamiRegistration:
        assert self.bus.registered.value is not None
        return self.bus.registered.value

    def counts(self) -> list[int]:
        return [each.get("count", 0) for each in json.loads(self.annotations[REGISTER])]


@asynccontextmanager
async def registering(
    cluster: FakeCluster,
    *,
    view: NodeView | None = None,
    hami: HamiState | None = None,
    instance: InstanceState = HOLDING,
    answer_s: float = 30,
    spread: float = 1.0,
) -> AsyncIterator[Node]:
    bus, clock = Bus([]), FixedClock()
    node = Node(
        cluster=cluster,
        bus=bus,
        clock=clock,
        inventory=bus.inventory.claim("test"),
        view=bus.node.claim("test"),
        hami=bus.hami.claim("test"),
        instance=bus.instance.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    node.instance.put(instance)
    node.hami.put(hami or state())
    node.view.put(view or node_view(2))
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=node.foreign,
    )
    register = RegisterNode(
        editor=cluster,
        cadence=Cadence(answer_s=answer_s, offset_s=1, spread=lambda: spread),
        bus=bus,
        registered=bus.registered.claim("test"),
        clock=clock,
    )
    async with running(follow.run, register.run):
        yield node


@asynccontextmanager
async def scheduled(
    node: Node, version: Version, *, word: str = WORD, first_s: float = 12
) -> AsyncIterator[Scheduler]:
    """Have a scheduler of that version look at the node."""
    scheduler = Scheduler(version, InMemory(node.cluster), word, now=node.clock.now)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scheduler.run(first_s=first_s))
        yield scheduler
        task.cancel()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def _edit(key: str, pod: PodKey | None) -> ForeignEdit:
    field = MetadataField.ANNOTATIONS
    return ForeignEdit(pod=pod, field=field, key=key, wrote="1", found="2", at_ms=START_MS)


def keys_of(sent: Sequence[tuple[float, Mapping[str, str | None]]]) -> list[set[str]]:
    return [set(edit) for _, edit in sent]


# --- what is said, and when -------------------------------------------------------------------


async def test_list_mode_and_handshake_go_out_together_and_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SC-1; Volcano never asks, and so is never told twice."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with registering(cluster) as node:
        await asyncio.sleep(3600)

        assert node.registered.phase is RegistrationPhase.REPORTED
        assert node.registered.devices == node.annotations[REGISTER]

    assert keys_of(cluster.sent) == [{SOFT, REGISTER, HANDSHAKE}]
    assert cluster.node.annotations[HANDSHAKE] == "Reported_2026.01.01 00:00:01"
    assert told(caplog) == ["node registered"]


async def test_a_restart_is_not_noticed() -> None:
    cluster = FakeCluster()
    for _ in range(2):
        async with registering(cluster):
            await asyncio.sleep(60)

    assert len(cluster.sent) == 1


async def test_a_question_that_stood_at_the_start_is_answered_at_once() -> None:
    cluster = FakeCluster()
    async with registering(cluster):
        pass
    cluster.change_annotations({HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
    async with registering(cluster) as node:
        assert node.annotations[HANDSHAKE].startswith("Reported_")

    assert keys_of(cluster.sent)[1:] == [{HANDSHAKE}]


async def test_the_talk_with_hami_is_word_for_word_as_it_should_be() -> None:
    """The scheduler looks at 12, 27, 42 and 57 seconds past; its question waits for 30 s."""
    said = []
    async with registering(FakeCluster()) as node:

        async def listen() -> None:
            async for own in node.bus.own_node.changes():
                said.append(own.annotations.get(HANDSHAKE, ""))  # noqa: PERF401 -- it never ends

        async with asyncio.TaskGroup() as group, scheduled(node, BY_NAME["2.10"]):
            listener = group.create_task(listen())
            await asyncio.sleep(60)
            listener.cancel()

    assert [text for text in said if text] == [
        "Reported_2026.01.01 00:00:01",
        "Requesting_2026-01-01 00:00:12",
        "Reported_2026.01.01 00:00:43",
        "Requesting_2026-01-01 00:00:57",
    ]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
async def test_ten_minutes_of_each_scheduler_cost_its_answers_and_nothing_else(
    version: Version, caplog: pytest.LogCaptureFixture
) -> None:
    """SC-1, HAMi B10; and no question of the scheduler is a quarrel."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with registering(cluster) as node, scheduled(node, version) as scheduler:
        await asyncio.sleep(600)

        assert len(scheduler.devices) == 2
        assert scheduler.lost == 0
        assert 10 <= scheduler.asked <= 14

    assert keys_of(cluster.sent)[1:] == [{HANDSHAKE}] * (len(cluster.sent) - 1)
    assert 0 <= scheduler.asked - (len(cluster.sent) - 1) <= 1
    assert told(caplog) == ["node registered"]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("after_s", [5, 20, 44])
async def test_each_scheduler_takes_over_what_changed(version: Version, after_s: float) -> None:
    """HL-2: whether or not it has just asked; only HAMi 2.4 merges memory and cores alone."""
    async with (
        registering(FakeCluster()) as node,
        scheduled(node, version) as scheduler,
    ):
        await asyncio.sleep(after_s)
        node.hami.put(state(soft=True))
        node.view.put(node_view(2, sick=[1]))
        await asyncio.sleep(15.5)

        seen = sorted(scheduler.devices.values(), key=lambda each: str(each["id"]))
        if after_s > 12 or not version.merges:
            assert [each["devcore"] for each in seen] == [100, 100]
        if not version.merges:
            assert ["health" in each for each in seen] == [True, False]
            assert ["count" in each for each in seen] == [True, False]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
async def test_each_scheduler_forgets_a_word_that_is_no_more(version: Version) -> None:
    """The scheduler asks every 15 s meanwhile; HAMi 2.9 and 2.10 want nothing allocatable."""
    cluster = FakeCluster()
    async with registering(cluster) as node, scheduled(node, version) as scheduler:
        await asyncio.sleep(100)
        assert scheduler.devices

        node.hami.put(state(OTHER))
        scheduler.allocatable = 0
        await settle()
        assert json.loads(node.annotations["hami.io/node-register-Ascend910New"])
        await asyncio.sleep(91)

        assert not scheduler.devices
        assert scheduler.lost == 1
        assert REGISTER not in node.annotations
        assert HANDSHAKE not in node.annotations or version.removes or not version.looks_first
        await asyncio.sleep(300)
        assert not scheduler.devices
        assert node.annotations[SOFT] == "false"
        assert node.registered.word == "Ascend910New"


async def test_a_scheduler_west_of_greenwich_is_hasty_and_can_be_met_by_a_quick_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    for answer_s, lost in ((30, True), (10, False)):
        caplog.clear()
        async with (
            registering(FakeCluster(), answer_s=answer_s) as node,
            scheduled(node, BY_NAME["2.8"]) as scheduler,
        ):
            scheduler.ahead_s = -8 * 3600
            await asyncio.sleep(600)

        assert (scheduler.lost > 0) is lost
        said = ["scheduler does not wait for answers"] if lost else []
        assert told(caplog) == ["node registered", *said]


async def test_whoever_was_deleted_reports_at_once() -> None:
    """A node whose agent was away for minutes is back as soon as the agent is."""
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.change_annotations({HANDSHAKE: "Deleted_2026-01-01 00:01:12"})
        await settle()

        assert node.annotations[HANDSHAKE].startswith("Reported_")


async def test_health_is_told_within_the_moment() -> None:
    """HL-2: a fault and its end alike."""
    cluster = FakeCluster()
    async with registering(cluster) as node:
        await asyncio.sleep(5)
        node.view.put(node_view(2, sick=[0]))
        await settle()
        assert node.counts() == [0, 4]

        await asyncio.sleep(5)
        node.view.put(node_view(2))
        await settle()
        assert node.counts() == [4, 4]

    assert keys_of(cluster.sent)[1:] == [{REGISTER, HANDSHAKE}] * 2


async def test_a_change_that_is_undone_before_it_was_sent_is_never_sent() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.hold = asyncio.Event()
        node.view.put(node_view(2, sick=[0]))
        await settle()
        node.view.put(node_view(2))
        await settle()
        cluster.hold.set()
        await asyncio.sleep(60)

    assert len(cluster.sent) == 1
    assert cluster.given_up == 1


async def test_of_changes_that_can_not_be_sent_yet_the_newest_goes_out() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.hold = asyncio.Event()
        node.view.put(node_view(2, sick=[0]))
        await settle()
        node.view.put(node_view(2, sick=[1]))
        await settle()
        cluster.hold.set()
        await settle()

        assert node.counts() == [4, 0]
    assert len(cluster.sent) == 2


async def test_an_edit_that_shows_before_it_is_acknowledged_is_not_sent_again() -> None:
    cluster = FakeCluster()
    cluster.late = True
    async with registering(cluster) as node:
        await asyncio.sleep(5)
        node.view.put(node_view(2, sick=[0]))
        await asyncio.sleep(60)

        assert node.registered.phase is RegistrationPhase.REPORTED
        assert node.registered.told_at_ms == node.clock.now() - 60_000
    assert len(cluster.sent) == 2


async def test_an_edit_that_shows_before_it_is_acknowledged_ends_the_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Else it would stand until the next write, on which Volcano never calls."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error, cluster.late = ForbiddenError("patch", "nodes/n1", "not allowed"), True
    async with registering(cluster) as node:
        await asyncio.sleep(60)
        cluster.error = None
        await asyncio.sleep(60)

        assert node.registered.detail == ""
    assert told(caplog) == ["node not registered", "node registered again", "node registered"]


class _LosesAnswers(FakeCluster):
    """Does what it is told, and says that it failed."""

    async def apply(self, edit: Edit) -> None:
        await super().apply(edit)
        raise ForbiddenError("patch", "nodes/n1", "not allowed")


async def test_trouble_is_over_once_the_node_says_all_it_should() -> None:
    """Whoever wrote it, and when: else it would stand until the next write."""
    async with registering(_LosesAnswers()) as node:
        await asyncio.sleep(60)

        assert node.registered.phase is RegistrationPhase.REPORTED
        assert node.registered.detail == ""


async def test_trouble_with_a_change_that_was_undone_is_over() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        await asyncio.sleep(5)
        cluster.error = ForbiddenError("patch", "nodes/n1", "not allowed")
        node.view.put(node_view(2, sick=[0]))
        await asyncio.sleep(60)
        assert "not allowed" in node.registered.detail
        node.view.put(node_view(2))
        await asyncio.sleep(60)

        assert node.registered.detail == ""


async def test_answers_are_spread_by_a_tenth() -> None:
    """SC-1: a thousand nodes that were asked at once don't answer at once."""
    factors = {Cadence(answer_s=30, offset_s=1).spread() for _ in range(100)}

    assert len(factors) > 1
    assert all(0.9 <= factor <= 1.1 for factor in factors)


@pytest.mark.parametrize("spread", [0.9, 1.1])
async def test_an_answer_is_due_as_much_earlier_or_later_as_it_is_spread(spread: float) -> None:
    async with registering(FakeCluster(), spread=spread) as node:
        node.cluster.change_annotations({HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
        await asyncio.sleep(30 * spread - 0.1)
        assert len(node.cluster.sent) == 1
        await asyncio.sleep(0.2)
        assert len(node.cluster.sent) == 2


# --- who may speak ----------------------------------------------------------------------------


async def test_nothing_is_said_while_another_agent_serves_the_node() -> None:
    cluster = FakeCluster()
    async with registering(cluster, instance=WAITING) as node:
        await asyncio.sleep(60)
        assert cluster.sent == []
        assert node.registered.phase is RegistrationPhase.WAITING
        assert node.registered.detail == "this agent does not serve the node yet"

        node.instance.put(HOLDING)
        await settle()
        assert len(cluster.sent) == 1

        cluster.change_annotations({HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
        await settle()
        node.instance.put(WAITING)
        await asyncio.sleep(60)
        assert len(cluster.sent) == 1

        node.instance.put(HOLDING)
        await settle()
        assert len(cluster.sent) == 2


async def test_nothing_is_said_before_the_configuration_is_known() -> None:
    bus, cluster = Bus([]), FakeCluster()
    bus.instance.claim("test").put(HOLDING)
    bus.node.claim("test").put(node_view(1))
    register = RegisterNode(
        editor=cluster,
        cadence=Cadence(answer_s=30, offset_s=1),
        bus=bus,
        registered=bus.registered.claim("test"),
        clock=FixedClock(),
    )
    async with running(register.run):
        await asyncio.sleep(60)

    assert cluster.asked == 0
    assert bus.registered.value == HamiRegistration(phase=RegistrationPhase.WAITING)


async def test_nothing_is_said_before_an_npu_is_known() -> None:
    """An empty list is a read error to every scheduler, and removes nothing."""
    cluster = FakeCluster(annotations={HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
    async with registering(cluster, view=node_view(0)) as node:
        await asyncio.sleep(120)
        assert cluster.sent == []
        assert node.registered.phase is RegistrationPhase.WAITING

        node.view.put(node_view(1))
        await settle()
        assert len(cluster.sent) == 1


async def test_why_nothing_is_configured_can_be_read() -> None:
    unknown = dataclasses.replace(state(), chip=None, trouble="no chip 910B3 is configured")
    async with registering(FakeCluster(), hami=unknown) as node:
        assert node.registered == HamiRegistration(
            phase=RegistrationPhase.WAITING, detail="no chip 910B3 is configured"
        )


async def test_that_a_question_stands_can_be_read() -> None:
    async with registering(FakeCluster()) as node:
        node.cluster.change_annotations({HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
        await settle()

        assert node.registered.phase is RegistrationPhase.ASKED
        assert node.registered.handshake == "Requesting_2026-01-01 00:00:12"


# --- other words ------------------------------------------------------------------------------


async def test_a_word_left_by_an_agent_of_another_configuration_is_taken_back() -> None:
    """The usual way to change a word is to edit the ConfigMap and restart."""
    both = dataclasses.replace(
        state(OTHER), config=dataclasses.replace(state().config, chips=(CHIP_910B3, OTHER))
    )
    cluster = FakeCluster()
    async with registering(cluster):
        pass
    async with registering(cluster, hami=both) as node:
        assert node.annotations[HANDSHAKE] == "Requesting_2000-01-01 00:00:00"
        assert node.registered.detail == f"taking back {WORD}"
        await asyncio.sleep(91)

        assert not node.annotations.keys() & {REGISTER, HANDSHAKE}
        assert node.registered.detail == ""


async def test_words_of_nobodys_configuration_are_none_of_ours() -> None:
    theirs = {"hami.io/node-register-iluvatar": "[...]"}
    cluster = FakeCluster(annotations=theirs)
    async with registering(cluster) as node:
        await asyncio.sleep(120)

        assert node.annotations.items() >= theirs.items()


async def test_without_a_chip_all_is_taken_back_and_after_that_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with registering(cluster) as node:
        node.hami.put(dataclasses.replace(state(), chip=None, trouble="none"))
        await settle()
        assert node.registered.phase is RegistrationPhase.LEAVING
        cluster.change_annotations({HANDSHAKE: "Deleted_2026-01-01 00:00:01"})
        await settle()

        assert not node.annotations
        assert node.registered == HamiRegistration(phase=RegistrationPhase.WAITING, detail="none")
        await asyncio.sleep(600)

    assert len(cluster.sent) == 3
    assert told(caplog) == ["node registered", "registration taken back"]


async def test_a_node_whose_npus_are_all_hidden_is_taken_back_and_comes_back() -> None:
    """CF-8: an empty list removes nothing, so pods would go on to come to hidden NPUs."""
    async with registering(FakeCluster()) as node:
        node.inventory.put(ALL_HIDDEN)
        node.hami.put(NOTHING_OFFERED)
        node.view.put(node_view(0))
        await settle()
        assert node.annotations[HANDSHAKE] == "Requesting_2000-01-01 00:00:00"
        node.cluster.change_annotations({HANDSHAKE: "Deleted_2026-01-01 00:00:01"})
        await settle()
        assert not node.annotations

        node.inventory.put(inventory(2))
        node.hami.put(state())
        node.view.put(node_view(2))
        await settle()
        assert len(node.counts()) == 2


async def test_of_npus_that_are_hidden_by_now_nothing_stays_that_an_earlier_agent_registered() -> (
    None
):
    cluster = FakeCluster()
    async with registering(cluster):
        pass
    async with registering(cluster, view=node_view(0), hami=NOTHING_OFFERED) as node:
        await asyncio.sleep(60)
        assert REGISTER in node.annotations

        node.inventory.put(ALL_HIDDEN)
        await asyncio.sleep(91)
        assert not node.annotations


async def test_a_word_that_comes_back_while_it_is_taken_back_is_registered_again() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        node.hami.put(dataclasses.replace(state(), chip=None))
        await settle()
        node.hami.put(state())
        await settle()

        assert node.annotations[HANDSHAKE].startswith("Reported_")
        await asyncio.sleep(120)
        assert REGISTER in node.annotations
        assert node.registered.phase is RegistrationPhase.REPORTED


async def test_an_agent_that_ends_says_nothing() -> None:
    """A restart within a minute is not to be noticed; nor is one in the middle of taking back."""
    cluster = FakeCluster()
    async with registering(cluster) as node:
        node.hami.put(state(CHIP_310P))
        node.view.put(node_view(2, chip="310P3"))
        await settle()
        sent = len(cluster.sent)

    assert len(cluster.sent) == sent


# --- what goes wrong --------------------------------------------------------------------------


async def test_who_writes_our_list_is_corrected_ever_more_slowly_and_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with registering(cluster) as node:

        async def insist() -> None:
            async for own in node.bus.own_node.changes():
                if own.annotations.get(REGISTER, "[]") != "[]":
                    cluster.change_annotations({REGISTER: "[]"})

        async with asyncio.TaskGroup() as group:
            stranger = group.create_task(insist())
            await asyncio.sleep(1800)
            stranger.cancel()
        times = [round(at) for at, _ in cluster.sent]
        assert len(times) < 15
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert gaps == sorted(gaps)

        node.view.put(node_view(2, sick=[0]))
        await settle()
        assert node.counts() == [0, 4]  # a quarrel is no reason to hide a fault

    assert told(caplog)[:3] == [
        "node registered",
        "registration changed by others",
        "registration disputed by others",
    ]
    assert vars(caplog.records[1])["key"] == REGISTER


async def test_another_who_changes_the_mode_is_corrected_at_once() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.change_annotations({SOFT: "true"})
        await settle()

        assert node.annotations[SOFT] == "false"
    assert keys_of(cluster.sent)[1:] == [{SOFT, HANDSHAKE}]


async def test_what_strangers_do_elsewhere_is_no_concern(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with registering(FakeCluster()) as node:
        for key, pod in (("zone", None), (SOFT, PodKey(namespace="default", name="p"))):
            node.foreign.publish(_edit(key, pod))
        await settle()

    assert told(caplog) == ["node registered"]


async def test_so_many_edits_that_some_are_lost_do_no_harm() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        for _ in range(node.bus.foreign.depth + 1):
            node.foreign.publish(_edit(SOFT, None))
        await settle()
        cluster.change_annotations({SOFT: "true"})
        await settle()

        assert node.annotations[SOFT] == "false"


async def test_a_refusal_is_said_once_and_tried_again_until_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    cluster.error = ForbiddenError("patch", "nodes/n1", "not allowed")
    async with registering(cluster) as node:
        await asyncio.sleep(60)
        asked = cluster.asked
        assert 12 <= asked <= 18, "after 1, 2 and 4 s, then every 5"
        assert "not allowed" in node.registered.detail

        cluster.error = None
        await asyncio.sleep(7)
        assert node.registered.phase is RegistrationPhase.REPORTED
        assert node.registered.detail == ""

    assert told(caplog) == ["node not registered", "node registered again", "node registered"]


async def test_what_is_wrong_with_the_api_server_can_be_read() -> None:
    cluster = FakeCluster()
    cluster.state(ApiPhase.UNREACHABLE, "nobody answers")
    async with registering(cluster) as node:
        assert node.registered.detail == "nobody answers"


async def test_how_it_stands_can_be_read_while_an_edit_is_on_its_way() -> None:
    """It is on its way for as long as nobody answers."""
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.hold = asyncio.Event()
        node.view.put(node_view(2, sick=[0]))
        await settle()
        cluster.state(ApiPhase.UNREACHABLE, "nobody answers")
        cluster.change_annotations({HANDSHAKE: "Requesting_2026-01-01 00:00:12"})
        await settle()

        assert node.registered.detail == "nobody answers"
        assert node.registered.phase is RegistrationPhase.ASKED


async def test_without_a_watch_a_report_goes_out_every_half_minute() -> None:
    cluster = FakeCluster()
    async with registering(cluster):
        cluster.live(live=False)
        await asyncio.sleep(95)

        assert keys_of(cluster.sent)[1:] == [{HANDSHAKE}] * 3
        cluster.live(live=True)
        await asyncio.sleep(95)
    assert len(cluster.sent) == 4


async def test_a_node_that_was_made_anew_is_registered_anew() -> None:
    cluster = FakeCluster()
    async with registering(cluster) as node:
        cluster.recreate()
        await settle()

        assert node.counts() == [4, 4]
    assert keys_of(cluster.sent) == [{SOFT, REGISTER, HANDSHAKE}] * 2
