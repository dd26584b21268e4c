"""The simulated driver on virtual time: the real agent side, from adapters to restarts."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from looptime import LoopTimeProxy

from ascend_agent.driver.news import ContinuityLost, News
from ascend_agent.driver.simulated.driver import SimulatedDriver
from ascend_agent.errors import NotSupportedError, NpuUnresponsiveError
from ascend_agent.interfaces import (
    DeviceShare,
    DriverNews,
    HealthReader,
    InventoryReader,
    ShareSwitch,
    SwitchReader,
    UsageReader,
    VnpuReader,
    VnpuRemover,
)
from ascend_agent.model.fault import Assertion, DriverFault, FaultCode
from ascend_agent.model.npu import DriverApi, DriverPhase, DriverState, NpuAddress
from ascend_agent.model.surroundings import SwitchFault
from ascend_agent.model.vnpu import VnpuId
from ascend_agent.runtime.latest import Latest
from tests.fakes.running import running, settle

_CODE = FaultCode(0x80E01801)


class Node:
    """A running simulated driver, and what it published."""

    def __init__(self, *steps: object, chip: str = "910C", npus: int = 4) -> None:
        self.states: Latest[DriverState] = Latest("driver")
        self.driver = SimulatedDriver(
            config={"chip": chip, "npus": npus, "seed": 7, "steps": list(steps)},
            state=self.states.claim("test"),
        )

    @property
    def state(self) -> DriverState:
        assert self.states.value is not None
        return self.states.value

    async def addresses(self, *, reinitialise: bool = False) -> tuple[NpuAddress, ...]:
        return (await self.driver.enumerate(reinitialise=reinitialise)).addresses


async def _next(news: AsyncIterator[News]) -> News:
    return await anext(news)


def _faults(news: Sequence[News]) -> list[tuple[int, int, Assertion]]:
    return [(n.logic, n.code, n.assertion) for n in news if isinstance(n, DriverFault)]


async def test_it_is_every_reader_a_flow_may_ask_for() -> None:
    """A type checker proves it: each name below is a Protocol."""
    node = Node()
    readers: tuple[InventoryReader, HealthReader, DriverNews, UsageReader, DeviceShare] = (
        node.driver,
        node.driver,
        node.driver,
        node.driver,
        node.driver,
    )
    switches: SwitchReader = node.driver
    async with running(node.driver.run):
        await switches.open_switches()
        assert await switches.read_switch_faults() == ()
        inventory, health, _, usage, share = readers
        address = (await inventory.enumerate(reinitialise=False)).addresses[3]
        assert (await inventory.read_identity(address)).phy == 3
        assert (await health.read_health(address)).health == 0
        assert (await usage.read_usage(address)).memory_mib == 65536
        assert await usage.read_processes(address) == ()
        assert await share.enable_share(address)
        vnpus: tuple[ShareSwitch, VnpuReader, VnpuRemover] = (node.driver,) * 3
        await vnpus[0].disable_share(address)
        assert not await vnpus[0].read_share(address)
        assert await vnpus[1].read_vnpus(address) == ()
        with pytest.raises(NotSupportedError):
            await vnpus[2].destroy_vnpu(address, VnpuId(100))


@pytest.mark.parametrize(
    ("chip", "api", "callbacks"),
    [
        ("910B3", DriverApi.V1, True),
        ("310", DriverApi.V1, False),
        ("950", DriverApi.V2, False),
    ],
)
async def test_a_node_is_ready_at_once(chip: str, api: DriverApi, callbacks: bool) -> None:  # noqa: FBT001 -- a column of the table
    node = Node(chip=chip)
    async with running(node.driver.run):
        assert (node.state.phase, node.state.api) == (DriverPhase.READY, api)
        assert node.state.callbacks is callbacks


async def test_faults_are_told_at_their_time(looptime: LoopTimeProxy) -> None:
    node = Node(
        {"at_s": 4, "npu": 3, "fault": _CODE},
        {"at_s": 8, "npu": 3, "recover": _CODE},
        {"at_s": 9, "npu": 2, "pulse": _CODE},
    )
    async with running(node.driver.run):
        news = node.driver.news()
        assert await anext(news) == ContinuityLost(lane=None, reason="a new driver worker")
        address = (await node.addresses())[3]
        for at_s, logic, assertion in ((4, 3, 1), (8, 3, 0), (9, 2, 2)):
            told = await anext(news)
            assert looptime == at_s
            assert _faults([told]) == [(logic, _CODE, assertion)]
            standing = frozenset({_CODE} if at_s == 4 else ())
            assert (await node.driver.read_health(address)).codes == standing


async def test_a_lost_card_is_seen_lost_then_unlisted_then_back() -> None:
    node = Node({"at_s": 10, "card": 0, "drop": True}, {"at_s": 12, "card": 0, "drop": False})
    async with running(node.driver.run):
        first = (await node.addresses())[0]
        await asyncio.sleep(10)
        assert (await node.driver.read_health(first)).lost
        listed = await node.driver.enumerate(reinitialise=True)
        assert (len(listed.addresses), listed.cards, listed.lost_cards) == (2, 2, 1)
        await asyncio.sleep(2)
        assert len(await node.addresses(reinitialise=True)) == 4


async def test_a_hung_card_is_parked_and_the_others_are_not_even_late(
    looptime: LoopTimeProxy,
) -> None:
    """HL-3, HL-4: and when the card answers again, it is read again."""
    node = Node({"at_s": 1, "card": 1, "call": "health", "hang_s": 20})
    async with running(node.driver.run):
        addresses = await node.addresses()
        await asyncio.sleep(1)
        async with asyncio.TaskGroup() as group:
            hung = group.create_task(_is_unresponsive(node, addresses[2]), name="hung")
            await settle()
            for address in addresses[:2]:
                await node.driver.read_health(address)
            assert looptime == 1
        assert hung.result()
        assert looptime == 4
        assert node.state.parked_lanes == (1,)
        assert await _is_unresponsive(node, addresses[3])
        assert looptime == 4

        news = node.driver.news()
        assert await anext(news) == ContinuityLost(lane=None, reason="a new driver worker")
        assert await anext(news) == ContinuityLost(
            lane=1, reason="lane 1 answers again after 20.0 s"
        )
        assert looptime == 21
        assert not node.state.parked_lanes
        assert (await node.driver.read_health(addresses[2])).health == 0


async def _is_unresponsive(node: Node, address: NpuAddress) -> bool:
    try:
        await node.driver.read_health(address)
    except NpuUnresponsiveError:
        return True
    return False


async def test_a_hang_of_the_list_itself_is_ended_by_a_new_worker(
    looptime: LoopTimeProxy,
) -> None:
    node = Node({"at_s": 1, "call": "enumerate", "hang_s": 45})
    async with running(node.driver.run):
        await asyncio.sleep(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(_swallow(node), name="enumerate")
        assert looptime == 31
        await settle()
        assert (node.state.phase, node.state.starts) == (DriverPhase.READY, 2)


async def test_a_library_that_hangs_as_it_is_opened_is_opened_again(
    looptime: LoopTimeProxy,
) -> None:
    node = Node({"at_s": 0, "call": "open", "hang_s": 45})
    async with running(node.driver.run):
        await asyncio.sleep(44)
        assert node.state.phase is DriverPhase.UNAVAILABLE
        await node.addresses()

        assert looptime == 45
        assert node.state.starts == 2


async def _swallow(node: Node) -> None:
    with pytest.raises(Exception, match="enumerate gave no answer within 30 s"):
        await node.addresses(reinitialise=True)


async def test_a_second_worker_finds_the_node_as_it_is() -> None:
    """Past a hung card, with a fault that stands since before it started."""
    node = Node(
        {"at_s": 1, "npu": 0, "fault": _CODE},
        {"at_s": 2, "card": 1, "call": "health", "hang_s": 60},
        {"at_s": 9, "npu": 0, "recover": _CODE},
    )
    async with running(node.driver.run):
        addresses = await node.addresses()
        await asyncio.sleep(2)
        assert await _is_unresponsive(node, addresses[2])

        assert len(await node.addresses(reinitialise=True)) == 4

        assert (node.state.starts, node.state.parked_lanes) == (2, ())
        assert (await node.driver.read_health(addresses[0])).codes == frozenset({_CODE})
        news = node.driver.news()
        told = [await anext(news) for _ in range(4)]
        assert _faults(told) == [(0, _CODE, 1), (0, _CODE, 0)]
        resync = ContinuityLost(lane=None, reason="a new driver worker")
        assert (told[0], told[2]) == (resync, resync)


async def test_a_crash_of_the_worker_costs_no_time_and_happens_once(
    looptime: LoopTimeProxy,
) -> None:
    node = Node({"at_s": 14, "worker": "die"}, {"at_s": 14.5, "npu": 0, "fault": _CODE})
    async with running(node.driver.run):
        await asyncio.sleep(14)
        await settle()
        assert (node.state.phase, node.state.starts) == (DriverPhase.READY, 2)
        assert looptime == 14
        news = node.driver.news()
        resyncs = [await anext(news), await anext(news)]
        assert _faults(resyncs) == []
        assert _faults([await anext(news)]) == [(0, _CODE, 1)]
        await asyncio.sleep(60)
        assert node.state.starts == 2


async def test_a_scenario_that_cannot_be_played_is_a_driver_that_says_why() -> None:
    node = Node({"at_s": 1, "npu": 77, "fault": _CODE})
    async with running(node.driver.run):
        assert node.state.phase is DriverPhase.UNAVAILABLE
        assert "step 1: npu: 77 does not exist" in node.state.detail


async def test_a_hung_switch_library_hangs_alone(looptime: LoopTimeProxy) -> None:
    """Cards are found and read as before, and no second worker is started."""
    node = Node({"at_s": 0, "call": "switches_read", "hang_s": 60})
    async with running(node.driver.run):
        await node.driver.open_switches()
        with pytest.raises(NpuUnresponsiveError):
            await node.driver.read_switch_faults()
        assert looptime == 3

        addresses = await node.addresses(reinitialise=True)
        assert (await node.driver.read_health(addresses[0])).health == 0
        assert looptime == 3
        assert (node.state.starts, node.state.parked_lanes) == (1, ())

        await asyncio.sleep(60)
        assert await node.driver.read_switch_faults() == ()


async def test_a_new_worker_starts_the_news_of_switches_anew() -> None:
    """What was subscribed to has ended with the old one."""
    down = {"switch": {"chip": 0, "port": [7], "peer": "L2"}, "fault": 0x08520003}
    node = Node({"at_s": 1, **down}, {"at_s": 2, "worker": "die"}, {"at_s": 4, **down})
    news, of_npus = node.driver.switch_news(), node.driver.news()
    async with running(node.driver.run), asyncio.TaskGroup() as group:
        first = group.create_task(_next(news))  # as a flow does, before it asks for anything
        await node.driver.open_switches()
        await node.driver.subscribe_switches()

        told = await first
        assert isinstance(told, SwitchFault)
        assert (told.port, told.assertion) == (7, Assertion.OCCURRED)
        assert isinstance(await anext(news), ContinuityLost)
        await asyncio.sleep(5)
        await node.driver.open_switches()
        assert [fault.port for fault in await node.driver.read_switch_faults()] == [7]
        for _ in range(2):
            assert isinstance(await anext(of_npus), ContinuityLost)
