"""Entries in order, each with the time the kubelet needed to see its consequence."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from ascend_agent.bus import Bus
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, PhyId, PluginDeviceId, ResourceName
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.sim.device_names import by_number
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.kubelet import EmbeddedKubelet, Happening, Listed, Registered, Started
from ascend_agent.sim.observer import Observer
from tests.fakes.npus import node_view, view
from tests.fakes.running import running, settle
from tests.sim.views import CODE, faulty, node

RESOURCE = ResourceName("huawei.com/Ascend910")
READY = DriverState(phase=DriverPhase.READY, starts=1, callbacks=True)


class Theatre:
    """A bus, a kubelet that never starts, and an observer between them."""

    def __init__(self) -> None:
        self.bus = Bus([RESOURCE])
        kubelet = EmbeddedKubelet(plugin_dir=Path("/none"), pod_resources_socket=Path("/none/s"))
        self.told: list[Entry] = []
        self.observer = Observer(
            bus=self.bus, kubelet=kubelet, npus_of=by_number(1), tell=self.told.append
        )
        self._kubelet = kubelet._publisher
        self._node = self.bus.node.claim("test")
        self.driver = self.bus.driver.claim("test")

    async def view(self, *views: NodeView) -> None:
        for one in views:
            self._node.put(one)
            await settle()

    async def happen(self, *happenings: Happening) -> None:
        for happening in happenings:
            self._kubelet.publish(happening)
        await settle()

    @property
    def events(self) -> list[str]:
        return [entry.event for entry in self.told]


@asynccontextmanager
async def theatre() -> AsyncIterator[Theatre]:
    one = Theatre()
    async with running(one.observer.run):
        yield one


def listed(*changed: tuple[str, bool], at_ns: int) -> Listed:
    return Listed(
        resource=RESOURCE,
        total=8,
        healthy=7,
        changed=tuple((PluginDeviceId(device), healthy) for device, healthy in changed),
        at_ns=at_ns,
    )


async def test_a_fault_and_the_list_that_follows_carry_the_milliseconds_between() -> None:
    cause_ns = time.monotonic_ns()
    async with theatre() as stage:
        await stage.view(node(view(3)), node(faulty(3, cause_ns=cause_ns)))
        assert stage.events == []

        await stage.happen(listed(("Ascend910-3", False), at_ns=cause_ns + 1_500_000))

        assert [(entry.event, entry.latency_ms) for entry in stage.told] == [
            ("fault", 1.5),
            ("devices", 1.5),
        ]


async def test_a_list_about_another_npu_settles_nothing() -> None:
    cause_ns = time.monotonic_ns()
    async with theatre() as stage:
        await stage.view(node(view(3)), node(faulty(3, cause_ns=cause_ns)))

        await stage.happen(
            listed(("Ascend910-4", False), at_ns=cause_ns + 1), listed(at_ns=cause_ns + 2)
        )

        assert stage.events == []


async def test_the_kubelet_must_see_the_same_health() -> None:
    cause_ns = time.monotonic_ns()
    async with theatre() as stage:
        await stage.view(node(view(3)), node(faulty(3, cause_ns=cause_ns)))

        await stage.happen(listed(("Ascend910-3", True), at_ns=cause_ns + 1))

        assert stage.events == []


async def test_what_comes_later_waits_so_that_entries_stay_in_order() -> None:
    cause_ns = time.monotonic_ns()
    async with theatre() as stage:
        await stage.view(node(view(3)), node(faulty(3, cause_ns=cause_ns)))
        await stage.happen(Started(starts=2, at_ns=cause_ns + 1))

        await stage.happen(listed(("Ascend910-3", False), at_ns=cause_ns + 2))

        assert stage.events == ["fault", "kubelet_restarted", "devices"]


async def test_a_consequence_that_never_comes_is_not_waited_for_long() -> None:
    """The kubelet may be down just then. The time is the event's own, not the loop's."""
    async with theatre() as stage:
        long_ago_ns = time.monotonic_ns() - 1_000_000_000
        await stage.view(node(view(3)), node(faulty(3, cause_ns=long_ago_ns)))

        await asyncio.sleep(0.3)

        assert [(entry.event, entry.latency_ms) for entry in stage.told] == [("fault", None)]


async def test_the_return_of_the_kubelet_is_measured_to_the_registration() -> None:
    registered = Registered(resource=RESOURCE, endpoint="x.sock", prefers=True, at_ns=5_000_000)
    async with theatre() as stage:
        await stage.happen(replace(registered, at_ns=1), Started(starts=2, at_ns=2_000_000))
        await stage.happen(registered)

        assert [(entry.event, entry.latency_ms) for entry in stage.told] == [
            ("registered", None),
            ("kubelet_restarted", None),
            ("registered", 3.0),
        ]


async def test_the_driver_is_told_with_the_time_it_was_gone() -> None:
    async with theatre() as stage:
        for state in (
            READY,
            replace(READY, phase=DriverPhase.STARTING, detail="killed"),
            replace(READY, starts=2),
        ):
            stage.driver.put(state)
            await settle()

        assert stage.events == ["driver_ready", "driver_lost", "driver_restarted"]
        assert stage.told[2].latency_ms is not None


async def test_what_happened_only_once_is_told_though_no_view_shows_it() -> None:
    async with theatre() as stage:
        faults = stage.bus.faults.claim("test")
        event = FaultEvent(
            npu=PhyId(3),
            code=FaultCode(0x80E01801),
            assertion=Assertion.ONE_OFF,
            severity=None,
            received_at_ms=Millis(0),
            seen_ns=1,
            driver_time=None,
            origin=Origin.CALLBACK,
            sequence=1,
        )
        faults.publish(replace(event, assertion=Assertion.OCCURRED))
        faults.publish(event)
        await settle()

        assert [(entry.event, entry.facts["npu"]) for entry in stage.told] == [("pulse", 3)]


async def test_rules_are_told_and_spell_the_codes_of_what_follows() -> None:
    spelled = FaultRules(catalog=Catalog(levels={}, spellings={CODE: "080E01801"}), source="d")
    async with theatre() as one:
        one.bus.fault_config.claim("test").put(FaultConfigState(rules=spelled, version=1))
        await settle()
        assert one.events == ["rules"]
        await one.view(node(view(0)), node(faulty(0)))

    assert one.events == ["rules", "fault"]
    assert one.told[1].facts["fault"] == "080E01801"


async def test_others_can_have_their_entries_told_too() -> None:
    async with theatre() as stage:
        stage.observer.add(Entry(at_ns=1, event="admission_failed"))
        await settle()

        assert stage.events == ["admission_failed"]


async def test_a_view_that_says_nothing_new_is_not_told() -> None:
    async with theatre() as stage:
        await stage.view(node_view(8), node_view(8, generation=2))

        assert stage.events == []


def test_no_directory_is_made_for_a_kubelet_that_is_not_entered() -> None:
    with tempfile.TemporaryDirectory() as name:
        EmbeddedKubelet(
            plugin_dir=Path(name) / "plugins", pod_resources_socket=Path(name) / "pods" / "s"
        )

        assert list(Path(name).iterdir()) == []
