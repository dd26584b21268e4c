"""A resource's whole life over a real socket, on virtual time."""

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from looptime import LoopTimeProxy

from ascend_agent.errors import KubeletError, KubeletGoneError
from ascend_agent.kubelet import sockets
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.channel import KubeletChannel
from ascend_agent.kubelet.endpoint import KubeletEndpoint
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import ListSent
from ascend_agent.runtime.topic import Topic
from tests.kubelet.fakes import FILE_NAME, FakeAllocator, endpoint, offer, open_descriptors
from tests.kubelet.inprocess import (
    ALLOCATE,
    OPTIONS,
    WATCH,
    allocate_request,
    connected,
    healths,
    served,
    watching,
)
from tests.kubelet.raw import headers, message, raw_peer
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google

REGISTER = "/v1beta1.Registration/Register"
CYCLES = 200


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def remove(path: Path) -> None:
    path.unlink()


def occupy(path: Path) -> None:
    path.write_text("precious")


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / FILE_NAME


@pytest.fixture
async def ours(plugin_dir: Path) -> AsyncIterator[KubeletEndpoint]:
    """Return an open endpoint that offers two NPUs."""
    one = endpoint(plugin_dir)
    one.publish(offer(2))
    await one.open()
    yield one
    await one.close()


# --- open, in place, close -------------------------------------------------------------------


async def test_an_open_endpoint_is_in_place(plugin_dir: Path, path: Path) -> None:
    one = endpoint(plugin_dir)
    assert not one.in_place()

    identity = await one.open()

    assert identity == sockets.identify(path)
    assert one.in_place()
    await one.close()
    assert not one.in_place()
    assert names(plugin_dir) == []


async def test_a_removed_socket_is_not_in_place_until_it_is_opened_anew(
    ours: KubeletEndpoint, path: Path
) -> None:
    """KL-2: the kubelet removes our socket when it starts."""
    remove(path)
    assert not ours.in_place()
    assert not ours.displaced()

    await ours.open()

    assert ours.in_place()
    assert not ours.displaced()
    async with connected(path) as channel, watching(channel) as stream:
        assert await healths(stream) == {"Ascend910-0": "Healthy", "Ascend910-1": "Healthy"}


async def test_a_replaced_socket_is_left_to_its_owner(ours: KubeletEndpoint, path: Path) -> None:
    listener, _ = sockets.bind(path)
    with listener:
        assert not ours.in_place()
        assert ours.displaced()

        await ours.close()

        assert path.name in names(path.parent)


async def test_every_cycle_has_a_socket_of_its_own(ours: KubeletEndpoint, path: Path) -> None:
    """KL-3: a burst of restarts must never meet a used server."""
    first = sockets.identify(path)

    identities = {first} | {await ours.open() for _ in range(5)}

    assert len(identities) == 6
    assert ours.in_place()


async def test_what_is_not_open_may_be_closed(plugin_dir: Path) -> None:
    """KL-3: in any order, any number of times."""
    one = endpoint(plugin_dir)
    await one.close()
    await one.open()
    await one.close()
    await one.close()
    await one.open()
    await one.close()


async def test_a_socket_that_cant_be_made_is_an_error_with_a_remedy(
    plugin_dir: Path, path: Path
) -> None:
    occupy(path)
    one = endpoint(plugin_dir)

    with pytest.raises(KubeletError, match="is no socket: find out whose it is"):
        await one.open()

    await one.close()
    assert path.name in names(path.parent)


async def test_an_open_that_is_cancelled_can_be_closed(plugin_dir: Path, path: Path) -> None:
    one = endpoint(plugin_dir)
    before = open_descriptors()
    opening = asyncio.get_running_loop().create_task(one.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    await one.close()

    assert open_descriptors() == before
    assert path.name not in names(path.parent)


# --- registration ----------------------------------------------------------------------------


async def test_the_endpoint_registers_its_own_socket(
    ours: KubeletEndpoint, plugin_dir: Path
) -> None:
    heard = []

    async def listen(body: bytes) -> bytes:
        heard.append(google.RegisterRequest.FromString(body))
        return b""

    kubelet = Calls(unary={REGISTER: listen}, streaming={})
    async with served(kubelet, plugin_dir / "kubelet.sock"):
        await ours.register()

    assert [request.endpoint for request in heard] == [FILE_NAME]


async def test_a_kubelet_that_hangs_is_given_up_after_10_s(
    ours: KubeletEndpoint, plugin_dir: Path, looptime: LoopTimeProxy
) -> None:
    async def hang(body: bytes) -> bytes:
        await asyncio.sleep(1000)
        return body

    async with served(Calls(unary={REGISTER: hang}, streaming={}), plugin_dir / "kubelet.sock"):
        with pytest.raises(KubeletGoneError):
            await ours.register()
        assert 9.9 < looptime < 10.1


# --- streams ---------------------------------------------------------------------------------


async def test_a_change_reaches_every_stream(ours: KubeletEndpoint, path: Path) -> None:
    """Two kubelets' worth of streams: the old one's may still be open."""
    async with (
        connected(path) as old,
        connected(path) as new,
        watching(old) as first,
        watching(new) as second,
    ):
        for stream in (first, second):
            assert await healths(stream) == {"Ascend910-0": "Healthy", "Ascend910-1": "Healthy"}
        assert ours.streams.value == 2

        ours.publish(offer(2, sick=[1], generation=2))

        for stream in (first, second):
            assert await healths(stream) == {"Ascend910-0": "Healthy", "Ascend910-1": "Unhealthy"}


async def test_the_count_of_streams_follows_their_peers(ours: KubeletEndpoint, path: Path) -> None:
    """KL-7: a stream whose peer has gone is over."""
    async with raw_peer(path) as peer:
        await peer.begun(peer.call(headers(WATCH), message(b"")))
        assert ours.streams.value == 1
        peer.abort()
        await asyncio.sleep(0.1)

    assert ours.streams.value == 0


async def test_a_list_that_left_is_told(plugin_dir: Path, path: Path) -> None:
    sent: Topic[ListSent] = Topic("sent")
    reader = sent.subscribe()
    one = endpoint(plugin_dir, sent=sent)
    one.publish(offer(2))
    await one.open()
    async with connected(path) as channel, watching(channel) as stream:
        await healths(stream)
        one.publish(offer(2, sick=[0], generation=2, causes={0: 99}))
        await healths(stream)
        await asyncio.sleep(0.1)
    await one.close()

    told = [(event.generation, event.healthy, event.causes) for event in reader.drain()]
    assert told == [(1, 2, ()), (2, 1, ((PhyId(0), 99),))]


async def test_a_reader_that_stopped_holds_up_nobody(ours: KubeletEndpoint, path: Path) -> None:
    """PY-4: its stream waits alone, and what it missed is skipped, not queued."""
    async with raw_peer(path) as stuck, connected(path) as channel, watching(channel) as stream:
        stuck.call(headers(WATCH), message(b""))
        await healths(stream)
        for generation in range(2, 50):
            sick = {generation % 2}
            ours.publish(offer(64, sick=sick, shares=100, generation=generation))
            listed = await healths(stream)
            assert len(listed) == 6400
            assert {name.split("-")[1] for name, is_ in listed.items() if is_ != "Healthy"} == {
                str(one) for one in sick
            }
            assert await channel.call(OPTIONS, b"", timeout_s=1)
        assert ours.streams.value == 2


# --- calls -----------------------------------------------------------------------------------


async def test_an_allocate_over_the_socket(plugin_dir: Path, path: Path) -> None:
    one = endpoint(plugin_dir)
    await one.open()
    async with connected(path) as channel:
        body = await channel.call(ALLOCATE, allocate_request("Ascend910-1"), timeout_s=1)
    await one.close()

    (answer,) = google.AllocateResponse.FromString(body).container_responses
    assert dict(answer.envs) == {"IDS": "Ascend910-1"}


async def test_other_calls_are_answered_while_an_allocate_hangs(
    plugin_dir: Path, path: Path, looptime: LoopTimeProxy
) -> None:
    """KL-8."""
    held = asyncio.Event()
    one = endpoint(plugin_dir, allocator=FakeAllocator(held=held))
    one.publish(offer(1))
    await one.open()
    async with connected(path) as channel, asyncio.TaskGroup() as group:
        group.create_task(channel.call(ALLOCATE, allocate_request("a"), timeout_s=60))
        await asyncio.sleep(1)
        assert await channel.call(OPTIONS, b"", timeout_s=0.2)
        async with watching(channel) as stream:
            assert await healths(stream) == {"Ascend910-0": "Healthy"}
        assert looptime == 1
        held.set()
    await one.close()


# --- the end ---------------------------------------------------------------------------------


async def test_the_end_without_an_allocate_takes_no_time(
    ours: KubeletEndpoint, path: Path, looptime: LoopTimeProxy
) -> None:
    async with raw_peer(path) as peer:
        stream = peer.call(headers(WATCH), message(b""))
        await peer.begun(stream)

        await ours.close()

        assert (await peer.answer(stream)).status == 0
        await peer.closed()
        assert peer.goodbye
    assert looptime == 0
    assert path.name not in names(path.parent)
    assert ours.streams.value == 0


async def test_an_allocate_in_flight_is_finished_before_the_end(
    plugin_dir: Path, path: Path, looptime: LoopTimeProxy
) -> None:
    held = asyncio.Event()
    one = endpoint(plugin_dir, allocator=FakeAllocator(held=held))
    await one.open()
    asyncio.get_running_loop().call_later(3, held.set)
    async with connected(path) as channel, asyncio.TaskGroup() as group:
        call = group.create_task(channel.call(ALLOCATE, allocate_request("a"), timeout_s=60))
        await asyncio.sleep(1)
        await one.close()

    assert google.AllocateResponse.FromString(call.result()).container_responses
    assert looptime == 3


@pytest.mark.parametrize(("leaves_s", "ends_s"), [(2.6, 2.6), (None, 3)], ids=["leaves", "stays"])
async def test_who_was_answered_at_the_last_moment_has_time_to_read_it(
    plugin_dir: Path, path: Path, looptime: LoopTimeProxy, leaves_s: float | None, ends_s: float
) -> None:
    """A kubelet on a busy machine was cut after 0.1 s, and one that still wrote lost the answer."""
    held = asyncio.Event()
    one = endpoint(plugin_dir, allocator=FakeAllocator(held=held))
    await one.open()
    async with raw_peer(path) as peer:
        peer.call(headers(ALLOCATE), message(allocate_request("a")))
        await asyncio.sleep(1)
        asyncio.get_running_loop().call_later(1, held.set)
        if leaves_s is not None:
            asyncio.get_running_loop().call_later(leaves_s - 1, peer.abort)

        await one.close()

        assert ends_s - 0.01 < looptime < ends_s + 0.01


async def test_an_allocate_that_hangs_is_undone_and_the_kubelet_told(
    plugin_dir: Path, path: Path, looptime: LoopTimeProxy
) -> None:
    """PY-2: at most 5 s in all."""
    allocator = FakeAllocator(held=asyncio.Event(), undo_s=0.5)
    one = endpoint(plugin_dir, allocator=allocator)
    await one.open()
    async with connected(path) as channel, asyncio.TaskGroup() as group:
        call = group.create_task(_refusal(channel))
        await asyncio.sleep(1)
        await one.close()

    assert call.result() == "ascend-agent is stopping"
    assert allocator.undone == 1
    assert looptime == 1 + 3 + 0.5


async def _refusal(channel: KubeletChannel) -> str:
    with pytest.raises(KubeletGoneError) as gone:
        await channel.call(ALLOCATE, allocate_request("a"), timeout_s=60)
    return str(gone.value).partition(": ")[2].partition(";")[0]


async def test_the_end_does_not_wait_for_a_reader_that_stopped(
    ours: KubeletEndpoint, path: Path, looptime: LoopTimeProxy
) -> None:
    """PY-2; on Python 3.12 and later it used to wait for ever."""
    async with raw_peer(path) as stuck, connected(path) as channel:
        stuck.call(headers(WATCH), message(b""))
        async with watching(channel) as stream:
            for generation in range(2, 40):
                ours.publish(offer(64, sick={generation % 2}, shares=100, generation=generation))
                await healths(stream)

        await ours.close()

        assert 0.39 < looptime < 0.51
    assert path.name not in names(path.parent)


async def test_a_cancelled_end_cuts_and_cleans_up_all_the_same(
    plugin_dir: Path, path: Path, looptime: LoopTimeProxy
) -> None:
    allocator = FakeAllocator(held=asyncio.Event())
    one = endpoint(plugin_dir, allocator=allocator)
    await one.open()
    async with raw_peer(path) as peer:
        peer.call(headers(ALLOCATE), message(allocate_request("a")))
        await asyncio.sleep(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await one.close()
        await peer.closed()

    assert allocator.undone == 1
    assert looptime < 2
    assert path.name not in names(path.parent)


async def test_a_call_after_the_end_finds_nobody(ours: KubeletEndpoint, path: Path) -> None:
    async with connected(path) as channel:
        await channel.call(OPTIONS, b"", timeout_s=1)
        await ours.close()
        with pytest.raises(KubeletGoneError):
            await channel.call(OPTIONS, b"", timeout_s=1)


async def test_a_refused_allocate_shows_its_status(plugin_dir: Path, path: Path) -> None:
    one = endpoint(plugin_dir, allocator=FakeAllocator(refusal="Ascend910-9 is not offered"))
    await one.open()
    async with connected(path) as channel:
        with pytest.raises(GRPCError) as refused:
            await channel.call(ALLOCATE, allocate_request("Ascend910-9"), timeout_s=1)
    await one.close()

    assert refused.value.status is Status.FAILED_PRECONDITION
    assert refused.value.message == "Ascend910-9 is not offered"


@pytest.mark.slow
@pytest.mark.stalls  # it collects garbage
async def test_200_cycles_leave_no_task_no_descriptor_and_no_memory(
    plugin_dir: Path, path: Path
) -> None:
    """KL-3, PY-3: with a client that keeps its connection and its stream each time."""
    allocator = FakeAllocator()
    one = endpoint(plugin_dir, allocator=allocator)
    one.publish(offer(16))

    async def cycle() -> None:
        allocator.asked.clear()
        await one.open()
        async with raw_peer(path) as peer:
            stream = peer.call(headers(WATCH), message(b""))
            call = peer.call(headers(ALLOCATE), message(allocate_request("a")))
            assert (await peer.answer(call)).status == 0
            await one.close()
            assert (await peer.answer(stream)).status == 0

    for _ in range(10):
        await cycle()
    gc.collect()
    before = (open_descriptors(), len(asyncio.all_tasks()), len(gc.get_objects()))
    for _ in range(CYCLES):
        await cycle()
    gc.collect()
    descriptors, tasks, objects = open_descriptors(), len(asyncio.all_tasks()), gc.get_objects()

    assert (descriptors, tasks) == before[:2]
    assert len(objects) < before[2] + CYCLES  # less than one object a cycle
