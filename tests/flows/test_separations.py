"""Isolation on the Node: published, lifted there by people, and never by an accident (D36).

Health, file and Node are the real flows; the API server, the file and the driver are played.
"""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from ascend_agent import chips
from ascend_agent.bus import Bus
from ascend_agent.dialects import plain
from ascend_agent.dialects.node_annotations import REASONS, SEPARATED
from ascend_agent.errors import ClusterUnreachableError, ForbiddenError
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.keep_isolation import KeepIsolation
from ascend_agent.flows.update_annotations import NodeWants, UpdateAnnotations
from ascend_agent.model.fault import (
    Assertion,
    FaultCode,
    FaultEvent,
    FaultLevel,
    FaultNotice,
    Origin,
    Severity,
)
from ascend_agent.model.health import HealthAnswer, HealthReading, UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import (
    Isolation,
    NpuIsolation,
    OperatorEdit,
    Restored,
    Upgrade,
    UpgradeKind,
)
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher, TopicReader
from tests.fakes.cluster import FakeCluster
from tests.fakes.npus import inventory, node_view
from tests.fakes.running import running, settle
from tests.fakes.state_file import FakeStateFile

RESET = FaultCode(0x80E18005)  # three times a day, and people must look at the chip
NPUS = 6
ANNOTATIONS = NodeWants(labels=False)
ISOLATED = Isolation(
    npus={
        PhyId(3): NpuIsolation(
            upgrades=(
                Upgrade(
                    code=RESET,
                    level=FaultLevel.MANUALLY_SEPARATE_NPU,
                    kind=UpgradeKind.FREQUENCY,
                    at_ms=Millis(1),
                ),
            )
        )
    }
)
SPECS = {spec.generation: spec for spec in chips.SPECS}
READY = DriverState(phase=DriverPhase.READY, dcmi_version="24.1")
HOLDING = InstanceState(phase=InstancePhase.HOLDING)


@dataclass
class _Node:
    """One agent on a node of six NPUs whose driver says what the test says."""

    bus: Bus
    cluster: FakeCluster
    file: FakeStateFile
    operator: TopicReader[OperatorEdit | Restored]
    faults: Publisher[FaultNotice]
    readings: Publisher[HealthReading]
    clock: Clock
    turn: LatestWriter[InstanceState]

    def read(self, npus: int = NPUS) -> None:
        """Have the driver answer for so many NPUs, and list no code on any."""
        for phy in range(npus):
            self.readings.publish(
                HealthReading(
                    npu=PhyId(phy),
                    asked_after=self.faults.next_sequence - 1,
                    answered_at_ms=self.clock.now(),
                    outcome=HealthAnswer(health=0, lost=False, codes=frozenset()),
                )
            )

    async def fault(self, phy: int, *, lasts_s: float = 60) -> None:
        """Have a fault come and go."""
        self._event(phy, Assertion.OCCURRED)
        await asyncio.sleep(lasts_s)
        self._event(phy, Assertion.RECOVERED)
        self.read()
        await settle()

    async def isolate(self, phy: int) -> None:
        """Have a fault come and go so often that the NPU is separated."""
        for _ in range(3):
            await self.fault(phy, lasts_s=5)
            await asyncio.sleep(5)
        assert phy in self.separated()

    def separated(self) -> list[int]:
        """Return the NPUs that are out of service."""
        view = self.bus.node.value
        assert view is not None
        return [npu.npu.phy for npu in view.npus if not npu.healthy]

    @property
    def annotations(self) -> dict[str, str]:
        """Return what the Node says of isolation."""
        return {key: text for key, text in self.cluster.node.annotations.items() if key != "other"}

    def released(self) -> list[set[int]]:
        """Return what operators were said to have released since the last call."""
        return [set(it.released) for it in self.operator.drain() if isinstance(it, OperatorEdit)]

    def _event(self, phy: int, assertion: Assertion) -> None:
        self.faults.publish(
            FaultEvent(
                npu=PhyId(phy),
                code=RESET,
                assertion=assertion,
                severity=Severity.CRITICAL,
                received_at_ms=self.clock.now(),
                seen_ns=1,
                driver_time=None,
                origin=Origin.CALLBACK,
                sequence=self.faults.next_sequence,
            )
        )


def node_flows(
    bus: Bus, cluster: FakeCluster, clock: Clock, wants: NodeWants = ANNOTATIONS
) -> tuple[Callable[[], Awaitable[None]], ...]:
    """Return the flows between the bus and the Node."""
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    update = UpdateAnnotations(
        dialect=plain.DIALECT,
        specs=SPECS,
        wants=wants,
        editor=cluster,
        bus=bus,
        operator=bus.operator.claim("test"),
        published=bus.published.claim("test"),
        clock=clock,
    )
    return follow.run, update.run


@asynccontextmanager
async def agent(
    cluster: FakeCluster,
    file: FakeStateFile,
    *,
    wants: NodeWants = ANNOTATIONS,
    read: int = NPUS,
    instance: InstanceState = HOLDING,
) -> AsyncIterator[_Node]:
    """Run an agent; it writes no labels unless told to, so that what is sent is about isolation."""
    bus, clock = Bus([]), Clock()
    bus.inventory.claim("test").put(inventory(NPUS))
    bus.driver.claim("test").put(READY)
    turn = bus.instance.claim("test")
    turn.put(instance)
    node = _Node(
        bus=bus,
        cluster=cluster,
        file=file,
        operator=bus.operator.subscribe(),
        faults=bus.faults.claim("test"),
        readings=bus.readings.claim("test"),
        clock=clock,
        turn=turn,
    )
    rules = HealthRules(shares_required=False, restore_awaited=True)
    health = FoldHealth(
        bus=bus,
        sinks=HealthSinks.claim(bus, "fold-health"),
        ledger=Ledger.empty(fault_rules=BUILT_IN, rules=rules, specs=SPECS),
        clock=clock,
    )
    keep = KeepIsolation(
        file=file, bus=bus, restored=bus.restored.claim("keep-isolation"), clock=clock
    )
    async with running(health.run, keep.run, *node_flows(bus, cluster, clock, wants)):
        node.read(read)
        await asyncio.sleep(0.5)
        yield node


def found_separated() -> tuple[FakeCluster, Bus]:
    """Return a Node on which NPU 3 is listed, and what an agent knows that has not written yet."""
    cluster, bus = FakeCluster(), Bus([])
    cluster.change_annotations({SEPARATED: "Ascend910-3"})
    bus.driver.claim("test").put(READY)
    bus.instance.claim("test").put(HOLDING)
    bus.node.claim("test").put(node_view())
    return cluster, bus


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


# --- a day of one NPU -----------------------------------------------------------------------


async def test_w8_a_chip_that_fails_too_often_is_separated_until_an_operator_releases_it() -> None:
    """W8, with the release in the next view within a second."""
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        start = node.clock.now()
        await node.fault(0)
        assert node.separated() == []
        await asyncio.sleep(3540)
        await node.fault(0)
        assert node.separated() == []
        assert node.annotations == {}
        await asyncio.sleep(3540)
        await node.fault(0)

        view = node.bus.node.value
        assert view is not None
        assert UnhealthyReason.MANUALLY_SEPARATED in view.npus[0].reasons
        assert node.annotations[SEPARATED] == "Ascend910-0"
        assert json.loads(node.annotations[REASONS]) == {
            "Ascend910-0": [
                {
                    "upgrade_time": start + 7_200_000,
                    "fault_code": "80e18005",
                    "fault_level": "ManuallySeparateNPU",
                    "upgrade_type": "FaultFrequency",
                }
            ]
        }
        await asyncio.sleep(740)
        assert node.separated() == [0]

        cluster.change_annotations({SEPARATED: ""})
        await asyncio.sleep(1)
        assert node.separated() == []
        assert node.annotations == {}
        assert node.released() == [{0}]

        await asyncio.sleep(999)
        await node.fault(0)
        assert node.separated() == []  # the counter began anew
        assert node.annotations == {}


async def test_w28_what_the_api_server_fails_at_is_no_operators_doing() -> None:
    """A read that fails, a write that fails, a watch that breaks, a Node that was made anew."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        was = node.annotations
        for _ in range(3):
            cluster.live(live=False)
            await asyncio.sleep(5)
            cluster.live(live=True)
            await asyncio.sleep(5)
        cluster.error = ClusterUnreachableError("patch", "nodes/n1", "no answer")
        await node.isolate(5)
        cluster.recreate()
        await asyncio.sleep(400)
        assert node.annotations == {}
        cluster.error = None
        await asyncio.sleep(400)

        assert node.separated() == [3, 5]
        assert node.annotations[SEPARATED] == "Ascend910-3,Ascend910-5"
        assert was.items() <= {SEPARATED: "Ascend910-3", REASONS: was[REASONS]}.items()
        assert node.released() == []


async def test_who_was_released_while_an_agent_waited_is_not_isolated_by_it() -> None:
    """On an upgrade two agents hear of the same faults, and only one of what people do (D36)."""
    file, waits = FakeStateFile(), InstanceState(phase=InstancePhase.WAITING)
    async with agent(FakeCluster(), file, instance=waits) as second:
        cluster = FakeCluster()
        async with agent(cluster, file) as first:
            for node in (first, second):
                await node.isolate(3)
            await asyncio.sleep(5)
            cluster.change_annotations({SEPARATED: ""})
            await asyncio.sleep(5)
            assert first.separated() == []
            await second.isolate(4)  # of which the first one has not written yet
            assert second.separated() == [3, 4]
        second.turn.put(HOLDING)
        await asyncio.sleep(70)  # its view of the Node is behind the file's at first

        assert second.separated() == [4]
        assert second.annotations[SEPARATED] == "Ascend910-4"


async def test_without_isolation_nothing_is_written() -> None:
    cluster = FakeCluster(annotations={"other": "x"})
    async with agent(cluster, FakeStateFile()) as node:
        await node.fault(2)
        await asyncio.sleep(3600)

    assert cluster.sent == []


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("isolation", [True, False])
async def test_of_labels_and_annotations_each_is_written_where_it_is_wanted(
    labels: bool,  # noqa: FBT001 -- the case
    isolation: bool,  # noqa: FBT001 -- the case
) -> None:
    cluster = FakeCluster()
    wants = NodeWants(labels=labels, isolation=isolation)
    async with agent(cluster, FakeStateFile(), wants=wants) as node:
        await node.isolate(3)

    assert ("accelerator" in cluster.node.labels) is labels
    assert (SEPARATED in cluster.node.annotations) is isolation


async def test_where_no_annotation_is_wanted_none_of_another_agent_counts() -> None:
    cluster = FakeCluster(annotations={SEPARATED: "Ascend910-3"})
    wants = NodeWants(isolation=False)
    async with agent(cluster, FakeStateFile(), wants=wants) as node:
        await asyncio.sleep(60)

        assert node.separated() == []
    assert cluster.node.annotations == {SEPARATED: "Ascend910-3"}


async def test_a_flapping_npu_costs_no_write_each_time() -> None:
    """Each fault moves the reason's time; that is written when it has moved by five minutes."""
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        await node.isolate(3)
        sent = len(cluster.sent)
        for _ in range(15):
            await node.fault(3, lasts_s=5)
            await asyncio.sleep(5)

    assert len(cluster.sent) - sent <= 1


# --- edits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "released", "left"),
    [
        ({SEPARATED: "Ascend910-5"}, {3}, [5]),
        ({SEPARATED: " my-card-5 "}, {3}, [5]),
        ({SEPARATED: ""}, {3, 5}, []),
        ({SEPARATED: None}, {3, 5}, []),
        ({SEPARATED: None, REASONS: None}, {3, 5}, []),
        ({SEPARATED: "Ascend910-5,Ascend910-1"}, {3}, [5]),
    ],
)
async def test_people_release_npus_by_taking_names_off(
    edit: dict[str, str | None],
    released: set[int],
    left: list[int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        await node.isolate(3)
        await node.isolate(5)
        cluster.change_annotations(edit)
        await asyncio.sleep(1)

        assert node.separated() == left
        assert node.released() == [released]
        names = ",".join(f"Ascend910-{phy}" for phy in left)
        assert node.annotations.get(SEPARATED, "") == names
        assert list(json.loads(node.annotations.get(REASONS, "{}"))) == names.split(",") * bool(
            left
        )

    (released_by,) = [record for record in caplog.records if "by hand" in record.getMessage()]
    assert vars(released_by)["npus"] == sorted(released)
    # It is no quarrel.
    assert SEPARATED not in [getattr(record, "key", "") for record in caplog.records]


@pytest.mark.parametrize(
    "edit",
    [
        {SEPARATED: "Ascend910-3,Ascend910-1"},  # nobody can separate by adding
        {SEPARATED: "Ascend910_3"},  # a slip
        {REASONS: None},
        {REASONS: "{}"},
        {REASONS: "nonsense"},
    ],
)
async def test_anything_else_that_others_write_is_put_right(edit: dict[str, str | None]) -> None:
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        await node.isolate(3)
        was = node.annotations
        cluster.change_annotations(edit)
        await asyncio.sleep(1)

        assert node.annotations == was
        assert node.separated() == [3]
        assert node.released() == []


async def test_a_list_that_somebody_makes_where_nothing_is_isolated_is_taken_away() -> None:
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        cluster.change_annotations({SEPARATED: "Ascend910-1"})
        await asyncio.sleep(1)

        assert node.annotations == {}
        assert node.separated() == []


async def test_a_release_is_never_taken_back_by_a_write_that_was_under_way() -> None:
    """The operator edits while another change waits to be written."""
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        await node.isolate(3)
        cluster.hold = asyncio.Event()
        await node.isolate(5)
        cluster.change_annotations({SEPARATED: ""})
        await settle()
        assert node.separated() == [5]
        cluster.hold.set()
        await asyncio.sleep(1)

        assert node.annotations[SEPARATED] == "Ascend910-5"
        assert node.released() == [{3}]


async def test_a_release_counts_though_we_may_not_write() -> None:
    """The right to patch was taken away meanwhile."""
    cluster = FakeCluster()
    async with agent(cluster, FakeStateFile()) as node:
        await node.isolate(3)
        cluster.error = ForbiddenError("patch", "nodes/n1", "no")
        cluster.change_annotations({SEPARATED: None})
        await asyncio.sleep(1)

        assert node.separated() == []


async def test_nothing_is_published_while_health_has_not_followed_an_edit() -> None:
    """Else the report would take the release back. What health does not take up comes back."""
    cluster, bus = FakeCluster(), Bus([])
    bus.driver.claim("test").put(READY)
    bus.instance.claim("test").put(HOLDING)
    bus.node.claim("test").put(node_view())
    restored, isolation = bus.restored.claim("test"), bus.isolation.claim("test")
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await settle()
        isolation.put(Isolation())  # health has not taken it in yet
        await asyncio.sleep(0.5)
        assert cluster.sent == []
        isolation.put(ISOLATED)
        await settle()
        assert cluster.node.annotations[SEPARATED] == "Ascend910-3"

        cluster.change_annotations({SEPARATED: None})
        await asyncio.sleep(0.9)
        assert SEPARATED not in cluster.node.annotations
        await asyncio.sleep(0.2)
        assert cluster.node.annotations[SEPARATED] == "Ascend910-3"


async def test_a_node_that_changes_otherwise_costs_the_file_no_write() -> None:
    """The kubelet writes its Node every few minutes, and others their labels."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
        written = len(file.written)
        for number in range(20):
            cluster.change_labels({"zone": str(number)})
            await asyncio.sleep(5)

    assert len(file.written) == written


# --- a restart ------------------------------------------------------------------------------


async def test_isolation_outlives_a_restart_and_nothing_is_written_for_it() -> None:
    """W11: taken in silently, before the first list."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
        was = node.annotations
    sent, written = len(cluster.sent), len(file.written)
    notices: list[object] = []
    async with agent(cluster, file) as node:
        reader = node.bus.notices.subscribe()
        await asyncio.sleep(60)
        notices += reader.drain()

        assert node.separated() == [3]
        assert node.annotations == was

    assert (len(cluster.sent), notices) == (sent, [])
    assert len(file.written) - written <= 1  # that the driver was read may be worth a line


async def test_the_file_alone_keeps_an_npu_out_while_the_api_server_is_away() -> None:
    """A node must not offer an isolated chip, whoever answers; it is reconciled when it can be."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
    cluster.live(live=False)
    cluster.change_annotations({SEPARATED: None})
    async with agent(cluster, file) as node:
        await asyncio.sleep(600)
        assert node.separated() == [3]
        cluster.live(live=True)
        await asyncio.sleep(1)

        assert node.separated() == []
        assert node.annotations == {}


async def test_a_release_before_the_first_report_counts_too() -> None:
    """Just after a start nothing was written yet that an edit could differ from."""
    cluster, bus = found_separated()
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await settle()
        assert operator.drain() == []
        cluster.change_annotations({SEPARATED: None})
        await settle()

        assert operator.drain() == [OperatorEdit(released=frozenset({PhyId(3)}))]
        cluster.change_annotations({"other": "x"})
        await settle()
        assert operator.drain() == []


async def test_a_release_that_comes_with_a_write_is_heard_of_and_stays() -> None:
    """The list is never written over an edit that this agent has not seen yet (W28)."""
    cluster, bus = found_separated()
    bus.isolation.claim("test").put(ISOLATED)
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    cluster.overtake = {SEPARATED: None}
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await settle()

        assert operator.drain() == [OperatorEdit(released=frozenset({PhyId(3)}))]
        assert SEPARATED not in cluster.node.annotations


async def test_a_release_while_the_first_report_waits_to_be_written_counts_and_stays() -> None:
    """The report was given up as out of date, and the next one put the name back."""
    cluster, bus = found_separated()
    bus.isolation.claim("test").put(ISOLATED)
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    cluster.hold = asyncio.Event()
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await asyncio.sleep(2)
        assert cluster.asked == 1
        cluster.change_annotations({SEPARATED: None})
        await settle()
        cluster.hold.set()
        await settle()

        assert operator.drain() == [OperatorEdit(released=frozenset({PhyId(3)}))]
        assert SEPARATED not in cluster.node.annotations


async def test_a_release_that_is_told_and_seen_counts_once() -> None:
    """Another memory is held against the Node while others' changes are told already."""
    cluster, bus = found_separated()
    bus.isolation.claim("test").put(ISOLATED)
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await asyncio.sleep(2)
        cluster.hold = asyncio.Event()
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await asyncio.sleep(2)
        cluster.change_annotations({SEPARATED: None})
        await settle()
        cluster.hold.set()
        await settle()

        told = [each for each in operator.drain() if isinstance(each, OperatorEdit)]
        assert told == [OperatorEdit(released=frozenset({PhyId(3)}))]


async def test_a_name_that_our_own_first_report_takes_off_is_no_release() -> None:
    """The Node shows it before it is acknowledged."""
    cluster, bus = found_separated()
    isolation = bus.isolation.claim("test")
    isolation.put(ISOLATED)
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    cluster.hold = asyncio.Event()
    cluster.late = True
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await asyncio.sleep(2)
        isolation.put(Isolation())
        await settle()
        cluster.hold.set()
        await asyncio.sleep(2)

        assert SEPARATED not in cluster.node.annotations
        assert operator.drain() == []


async def test_once_our_report_is_acknowledged_a_view_from_before_it_is_no_release() -> None:
    """From then on we are told of others' changes, and need not guess by what the Node shows."""
    cluster, bus = found_separated()
    before = cluster.node
    bus.isolation.claim("test").put(ISOLATED)
    restored, operator = bus.restored.claim("test"), bus.operator.subscribe()
    async with running(*node_flows(bus, cluster, Clock())):
        restored.publish(Restored(isolation=ISOLATED, source="test"))
        await asyncio.sleep(2)
        operator.drain()
        cluster.show_node(dataclasses.replace(before, annotations={}))
        await asyncio.sleep(2)

        assert operator.drain() == []
        assert cluster.node.annotations[SEPARATED] == "Ascend910-3"


async def test_a_release_while_no_agent_ran_counts_at_the_next_start() -> None:
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await node.isolate(5)
        await asyncio.sleep(5)
    cluster.change_annotations({SEPARATED: "Ascend910-5"})
    async with agent(cluster, file) as node:
        await asyncio.sleep(2)

        assert node.separated() == [5]
        assert node.released() == [{3}]
        assert node.annotations[SEPARATED] == "Ascend910-5"
        assert file.saved().isolation.npus.keys() == {5}


@pytest.mark.parametrize("text", [None, '{"half'])
async def test_without_a_sound_file_the_node_says_what_is_isolated(text: str | None) -> None:
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        was = node.annotations
    file.text = text
    async with agent(cluster, file) as node:
        await asyncio.sleep(2)

        assert node.separated() == [3]
        assert node.annotations == was
        assert file.saved().isolation.npus.keys() == {3}
    async with agent(cluster, file) as node:
        assert node.separated() == [3]


async def test_a_name_without_a_reason_is_isolated_where_no_file_says_otherwise() -> None:
    """D37: somebody separated the NPU by an agent that wrote no reasons."""
    cluster = FakeCluster(annotations={SEPARATED: "Ascend910-4"})
    async with agent(cluster, FakeStateFile()) as node:
        await asyncio.sleep(2)

        assert node.separated() == [4]
        (reason,) = json.loads(node.annotations[REASONS])["Ascend910-4"]
        assert (reason["fault_code"], reason["upgrade_type"]) == (
            "AutofillFaultCode",
            "FaultAutofill",
        )


async def test_a_text_that_can_not_be_read_is_told_and_written_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = FakeCluster(annotations={SEPARATED: "Ascend910_4", REASONS: "{"})
    async with agent(cluster, FakeStateFile()) as node:
        await asyncio.sleep(2)
        assert node.annotations == {}

    assert told(caplog) == ["published isolation not understood"]
    assert "Ascend910_4" in vars(caplog.records[0])["why"]


async def test_a_node_that_was_made_anew_while_no_agent_ran_releases_nobody() -> None:
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
    cluster.recreate()
    async with agent(cluster, file) as node:
        await asyncio.sleep(2)

        assert node.separated() == [3]
        assert node.annotations[SEPARATED] == "Ascend910-3"
        assert node.released() == []


async def test_a_view_of_the_node_from_before_is_no_edit() -> None:
    """A lagging API server shows the Node without what was last acknowledged (D36)."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
    now = cluster.node
    stale = FakeCluster()  # version 1: nothing was written yet
    async with agent(stale, file) as node:
        await asyncio.sleep(30)
        assert (node.separated(), stale.sent) == ([3], [])
        stale.show_node(now)
        await asyncio.sleep(1)

        assert (node.separated(), stale.sent) == ([3], [])
        assert node.released() == []


async def test_a_cluster_that_was_set_back_is_written_to_after_a_minute() -> None:
    """Its versions stay older, since its store was restored: no edit, and no wait for ever."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
    stale = FakeCluster()
    async with agent(stale, file) as node:
        await asyncio.sleep(62)

        assert node.separated() == [3]
        assert node.annotations[SEPARATED] == "Ascend910-3"
        assert node.released() == []


async def test_what_was_published_after_the_last_write_of_the_file_is_taken_in() -> None:
    """The disk was full; of file and Node the newer one counts."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(3)
        await asyncio.sleep(5)
        kept = file.text
        await node.isolate(5)
        await asyncio.sleep(5)
    file.text = kept
    async with agent(cluster, file) as node:
        await asyncio.sleep(2)

        assert node.separated() == [3, 5]
        assert node.released() == []


async def test_an_npu_that_has_not_shown_up_yet_stays_on_the_list() -> None:
    """A card that is slow to start: its name must not come off the list meanwhile."""
    cluster, file = FakeCluster(), FakeStateFile()
    async with agent(cluster, file) as node:
        await node.isolate(5)
        await asyncio.sleep(5)
    sent = len(cluster.sent)
    async with agent(cluster, file, read=5) as node:
        await asyncio.sleep(60)
        view = node.bus.node.value
        assert view is not None
        assert [npu.npu.phy for npu in view.npus] == [0, 1, 2, 3, 4]

        assert len(cluster.sent) == sent
        assert node.released() == []
