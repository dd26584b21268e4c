"""In HAMi's dialect sharing follows the soft mode, which comes and goes while the agent runs."""

import asyncio
import dataclasses

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError
from ascend_agent.flows.enable_shares import EnableShares, SoftShares
from ascend_agent.flows.own_shares import OwnShares
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.fault import Resync
from ascend_agent.model.hami import HamiConfig, HamiState
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import PhyId
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.wakeup import Wakeup
from tests.fakes.cluster import granted
from tests.fakes.hami import CHIP_910B3
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle
from tests.fakes.shares import FakeShareRecord, FakeShares

HARD = HamiState(config=HamiConfig(chips=()), chip=CHIP_910B3)
SOON = dataclasses.replace(HARD, wants_soft=True, soft_trouble="being prepared")
SOFT = dataclasses.replace(HARD, wants_soft=True, soft=True)
BUSY = DriverError("share_enable", -8020)


def using(*phys: int) -> Pods:
    npus = inventory(2).npus
    pods = (granted("p", *(npus[phy] for phy in phys)),) if phys else ()
    return Pods(pods=pods, live=True)


def used(*phys: int) -> Allocations:
    pod = Holder(namespace="default", pod="p", container="c")
    return Allocations(known=True, holders={PhyId(phy): (pod,) for phy in phys})


class Scene:
    """Two NPUs that nobody uses; ``changes`` are the calls that changed a flag."""

    def __init__(self, *, hami: HamiState | None = SOFT) -> None:
        bus = Bus([])
        self.bus = bus
        self.driver = FakeShares()
        self.record = FakeShareRecord()
        self.hami = bus.hami.claim("test")
        self.inventory = bus.inventory.claim("test")
        self.faults = bus.faults.claim("test")
        self.allocations = bus.allocations.claim("test")
        self.pods = bus.pods.claim("test")
        own = OwnShares(switch=self.driver, processes=self.driver, record=self.record)
        self.flow = EnableShares(
            share=self.driver,
            inventory=bus.inventory,
            faults=bus.faults,
            readings=bus.readings,
            shares=bus.shares.claim("enable-shares"),
            soft=SoftShares(hami=bus.hami, allocations=bus.allocations, pods=bus.pods, own=own),
        )
        self.inventory.put(inventory(2))
        self.use()
        if hami is not None:
            self.hami.put(hami)

    def use(self, *phys: int) -> None:
        """Have a pod on these NPUs, as the API server and then the account have it."""
        self.pods.put(using(*phys))
        self.allocations.put(used(*phys))

    @property
    def said(self) -> ShareStates | None:
        return self.bus.shares.value

    @property
    def changes(self) -> list[tuple[str, int]]:
        return [call for call in self.driver.calls if call[0] in {"enable", "disable"}]


class _Watch(Wakeup):
    """Keeps every value of a channel, those as well that stood for a moment only."""

    def __init__(self, channel: Latest[ShareStates]) -> None:
        super().__init__()
        self.seen: list[ShareStates | None] = []
        self._channel = channel
        channel.attach(self)

    def set(self) -> None:
        self.seen.append(self._channel.value)


def states(enabled: dict[int, bool], *, required: bool) -> ShareStates:
    return ShareStates(enabled={PhyId(phy): on for phy, on in enabled.items()}, required=required)


async def test_nothing_is_asked_before_the_configuration_is_known() -> None:
    """An agent that just started must not take back what the files ask for."""
    scene = Scene(hami=None)
    async with running(scene.flow.run):
        await asyncio.sleep(1000)

        assert scene.driver.calls == []
        assert scene.said is None


async def test_in_hard_mode_no_npu_needs_the_flag() -> None:
    scene = Scene(hami=HARD)
    scene.driver.on.add(0)
    async with running(scene.flow.run):
        assert scene.said == states({}, required=False)
        assert scene.changes == []


async def test_in_soft_mode_every_npu_is_switched_on_and_noted() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        assert scene.said == states({0: True, 1: True}, required=True)
        assert scene.driver.on == {0, 1}
        assert len(scene.record.dies) == 2


async def test_a_flag_that_is_on_already_is_read_and_not_ours() -> None:
    """HAMi E12: after a restart under load it could not be set."""
    scene = Scene()
    scene.driver.on |= {0, 1}
    scene.driver.refuses |= {0: BUSY, 1: BUSY}
    async with running(scene.flow.run):
        assert scene.said == states({0: True, 1: True}, required=True)
        assert scene.changes == []
        assert scene.record.dies == frozenset()


async def test_one_that_refuses_keeps_no_other_from_being_shared() -> None:
    """HAMi E10: it ended the older plugin, and with it all NPUs of the node."""
    scene = Scene()
    scene.driver.refuses[0] = BUSY
    async with running(scene.flow.run):
        assert scene.said == states({0: False, 1: True}, required=True)

        scene.driver.refuses.clear()
        await asyncio.sleep(29.9)
        assert scene.said == states({0: False, 1: True}, required=True)
        await asyncio.sleep(0.2)
        assert scene.said == states({0: True, 1: True}, required=True)


async def test_one_that_refused_is_asked_again_when_its_last_container_has_ended() -> None:
    scene = Scene()
    scene.use(0, 1)
    scene.driver.refuses[0] = BUSY
    async with running(scene.flow.run):
        await asyncio.sleep(1)
        scene.driver.refuses.clear()
        scene.use(0, 1)
        await settle()
        assert scene.said == states({0: False, 1: True}, required=True)

        scene.use(1)
        await settle()
        assert scene.said == states({0: True, 1: True}, required=True)


async def test_the_end_of_containers_is_no_news_where_nothing_waits_for_it() -> None:
    scene = Scene()
    scene.use(0)
    async with running(scene.flow.run):
        calls = len(scene.driver.calls)
        scene.use()
        await settle()

        assert len(scene.driver.calls) == calls


async def test_until_the_host_is_prepared_flags_are_only_read() -> None:
    """NPUs that are shared already need not leave while that is confirmed."""
    scene = Scene(hami=SOON)
    scene.driver.on.add(1)
    async with running(scene.flow.run):
        assert scene.said == states({}, required=False)
        assert scene.changes == []

        watch = _Watch(scene.bus.shares)
        scene.hami.put(SOFT)
        await settle()
        assert watch.seen == [
            states({1: True}, required=True),
            states({0: True, 1: True}, required=True),
        ]


async def test_what_can_not_be_read_ahead_is_not_taken_to_be_on() -> None:
    scene = Scene(hami=SOON)
    scene.driver.on |= {0, 1}
    async with running(scene.flow.run):
        scene.driver.mute[0] = BUSY
        scene.driver.on.discard(1)
        scene.faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        scene.driver.refuses[1] = BUSY
        scene.hami.put(SOFT)
        await settle()

        assert scene.said == states({0: False, 1: False}, required=True)


async def test_a_host_that_lost_the_library_changes_no_flag() -> None:
    """It may be repaired in a minute, and containers go on sharing meanwhile."""
    scene = Scene()
    async with running(scene.flow.run):
        scene.hami.put(SOON)
        await settle()

        assert scene.driver.on == {0, 1}
        assert scene.said is not None
        assert scene.said.required is False


async def test_whoever_leaves_soft_mode_gets_the_flags_back_as_they_were() -> None:
    """HAMi E13: only of NPUs that nobody uses, and of the others once nobody does."""
    scene = Scene()
    scene.use(1)
    async with running(scene.flow.run):
        scene.hami.put(HARD)
        await settle()
        assert scene.said == states({}, required=False)
        assert scene.driver.on == {1}

        scene.use()
        await settle()
        assert scene.driver.on == set()
        assert scene.record.dies == frozenset()


async def test_the_flag_of_a_card_that_joins_late_stays_while_a_pod_has_it() -> None:
    """The account by NPU knows that card only some seconds later."""
    scene = Scene()
    async with running(scene.flow.run):
        assert scene.driver.on == {0, 1}
    scene.hami.put(HARD)
    scene.inventory.put(inventory(1))
    scene.pods.put(using(1))
    async with running(scene.flow.run):
        assert scene.driver.on == {1}

        scene.inventory.put(inventory(2))
        await settle()
        assert scene.driver.on == {1}


async def test_a_process_that_outlives_its_container_is_waited_for() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        scene.driver.busy.add(0)
        scene.hami.put(HARD)
        await settle()
        assert scene.driver.on == {0}

        scene.driver.busy.clear()
        await asyncio.sleep(30.1)
        assert scene.driver.on == set()


async def test_soft_mode_may_come_back_before_all_flags_are_taken_back() -> None:
    scene = Scene()
    scene.use(1)
    async with running(scene.flow.run):
        scene.hami.put(HARD)
        await settle()
        scene.hami.put(SOFT)
        await settle()
        assert scene.said == states({0: True, 1: True}, required=True)

        calls = len(scene.driver.calls)
        await asyncio.sleep(200)
        assert len(scene.driver.calls) == calls


@pytest.mark.parametrize("trouble", ["", "read-only file system"])
async def test_a_record_that_fails_keeps_no_npu_from_being_shared(trouble: str) -> None:
    scene = Scene()
    scene.record.trouble = trouble
    async with running(scene.flow.run):
        assert scene.said == states({0: True, 1: True}, required=True)


async def test_no_flag_is_taken_back_before_it_is_known_which_mode_is_meant() -> None:
    """A restart with a file that can't be used looks as if the node had left soft mode."""
    scene = Scene()
    async with running(scene.flow.run):
        scene.hami.put(dataclasses.replace(HARD, chip=None))
        await settle()
        assert scene.driver.on == {0, 1}

        scene.hami.put(HARD)
        await settle()
        assert scene.driver.on == set()
