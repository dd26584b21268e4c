"""SwitchReader: a library of its own, which tells of the node's switches and of no NPU."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from ascend_agent.errors import DriverError, NotSupportedError, NpuUnresponsiveError
from ascend_agent.model.fault import Assertion
from ascend_agent.model.surroundings import SwitchFault
from tests.contract.drivers import Driver, FakeDriver, patient
from tests.contract.node import Node
from tests.contract.steps import Fault, SwitchEvent

CHIP = "910C"
DOWN = 0x08520003


@asynccontextmanager
async def listening(node: Node) -> AsyncIterator["asyncio.Queue[object]"]:
    """Open and subscribe, and keep what is told."""
    told: asyncio.Queue[object] = asyncio.Queue()
    news = cast("AsyncIterator[object]", node.switches.switch_news())

    async def listen() -> None:
        async for item in news:
            told.put_nowait(item)

    async with asyncio.TaskGroup() as group:
        listener = group.create_task(listen())
        await node.switches.open_switches()
        await node.switches.subscribe_switches()
        yield told
        listener.cancel()


async def next_fault(told: "asyncio.Queue[object]") -> SwitchFault:
    item = await told.get()
    assert isinstance(item, SwitchFault)
    return item


@patient
async def test_what_stands_is_listed_and_what_happens_is_told(switched: Driver) -> None:
    steps = (
        SwitchEvent(port=7),
        SwitchEvent(port=9, assertion=2),
        SwitchEvent(port=7, assertion=0),
    )
    async with switched.open(*steps, chip=CHIP) as node, listening(node) as told:
        assert await node.switches.read_switch_faults() == ()
        await node.happen()
        raised = await next_fault(told)
        (listed,) = await node.switches.read_switch_faults()
        await node.happen()
        noticed = await next_fault(told)
        await node.happen()
        cleared = await next_fault(told)

        assert raised == listed
        assert (raised.event_type, raised.sub_type) == (DOWN, 0xFFFFFFFF)
        assert (raised.chip, raised.port, raised.peer, raised.peer_port) == (0, 7, 2, 7)
        assert raised.severity == 2
        assert raised.raised_ms > 1_600_000_000_000
        assert [each.port for each in (raised, noticed, cleared)] == [7, 9, 7]
        assert [each.assertion for each in (raised, noticed, cleared)] == [
            Assertion.OCCURRED,
            Assertion.ONE_OFF,
            Assertion.RECOVERED,
        ]
        assert await node.switches.read_switch_faults() == ()


@patient
async def test_what_was_there_before_is_listed_and_not_told(switched: Driver) -> None:
    """So the list is read before and after the subscription."""
    async with switched.open(SwitchEvent(port=1), SwitchEvent(port=2), chip=CHIP) as node:
        await node.switches.open_switches()
        await node.happen()
        async with listening(node) as told:
            await node.happen()

            assert (await next_fault(told)).port == 2
            assert [f.port for f in await node.switches.read_switch_faults()] == [1, 2]


@patient
async def test_asking_twice_changes_nothing(switched: Driver) -> None:
    steps = (SwitchEvent(port=1), SwitchEvent(port=2))
    async with switched.open(*steps, chip=CHIP) as node, listening(node) as told:
        await node.switches.open_switches()
        await node.switches.subscribe_switches()
        await node.happen()
        await node.happen()

        assert [(await next_fault(told)).port for _ in range(2)] == [1, 2]


@patient
async def test_news_of_switches_and_of_npus_do_not_mix(switched: Driver) -> None:
    steps = (SwitchEvent(port=1), Fault(npu=1, code=DOWN))
    async with switched.open(*steps, chip=CHIP) as node, listening(node) as told:
        logic = (await node.address(1)).logic
        await node.happen()
        assert (await next_fault(told)).port == 1
        await node.happen()

        assert (await node.next_fault()).logic == logic
        assert told.empty()


async def test_a_node_without_switches_says_so_and_works(any_chip: Driver) -> None:
    async with any_chip.open(chip="910B3", npus=2) as node:
        with pytest.raises(DriverError):
            await node.switches.open_switches()

        assert len(await node.identities()) == 2


async def test_a_library_that_is_not_there_is_not_supported(faked: FakeDriver) -> None:
    async with faked.open_host(npus=2) as (node, host):
        (host.directory / "liblingqu-dcmi.so").unlink()

        with pytest.raises(NotSupportedError, match="does not exist; correct --switch-library"):
            await node.switches.open_switches()


@pytest.mark.slow
async def test_a_switch_library_that_hangs_holds_up_nothing_else(faked: FakeDriver) -> None:
    """Cards are found and read as before, by the same worker, and no lane of theirs is parked."""
    async with faked.open_host(chip="910C") as (node, host):
        await node.switches.open_switches()
        host.hang("lq_dcmi_get_fault_info")
        with pytest.raises(NpuUnresponsiveError):
            await node.switches.read_switch_faults()

        identities = await node.identities(reinitialise=True)
        assert len(identities) == 4
        assert (await node.health.read_health(identities[0].address)).health == 0
        assert (node.state.starts, node.state.parked_lanes) == (1, ())
        with pytest.raises(NpuUnresponsiveError):
            await node.switches.read_switch_faults()

        host.release()
        await wait_for_answer(node)


async def wait_for_answer(node: Node) -> None:
    """Return when the lane is free again: the late answer is on its way."""
    while True:
        try:
            assert await node.switches.read_switch_faults() == ()
        except NpuUnresponsiveError:
            await asyncio.sleep(0)
        else:
            return


async def test_its_calls_never_run_beside_each_other(faked: FakeDriver) -> None:
    async with faked.open_host(chip="910C") as (node, host):
        host.run("trace on", library="liblingqu-dcmi.so")
        await node.switches.open_switches()
        await asyncio.gather(*[node.switches.read_switch_faults() for _ in range(5)])
        await node.switches.subscribe_switches()

        statistics = host.statistics("liblingqu-dcmi.so").values()
        assert [each["most_in_flight"] for each in statistics] == [1]
