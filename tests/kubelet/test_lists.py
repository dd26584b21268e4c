import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from ascend_agent.kubelet import codec
from ascend_agent.kubelet.lists import DeviceLists, ListEncoder
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import ListSent
from ascend_agent.runtime.topic import Topic, TopicReader
from tests.kubelet.fakes import RESOURCE, group, offer
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google
from tests.too_slow import TooSlowError


def lists() -> tuple[DeviceLists, TopicReader[ListSent]]:
    sent: Topic[ListSent] = Topic("sent")
    return DeviceLists(resource=RESOURCE, sent=sent.claim("endpoint")), sent.subscribe()


def healths(data: bytes) -> dict[str, str]:
    return {d.ID: d.health for d in google.ListAndWatchResponse.FromString(data).devices}


async def settle(stream: AsyncGenerator[bytes, None]) -> asyncio.Task[bytes]:
    """Return the wait for the stream's next list, begun and found to be a wait."""
    task = asyncio.get_running_loop().create_task(anext(stream))
    await asyncio.sleep(1)
    assert not task.done()
    return task


# --- bytes -----------------------------------------------------------------------------------


def test_the_list_is_the_groups_in_their_order() -> None:
    groups = [group(3, shares=2), group(1, healthy=False)]

    assert ListEncoder().encode(groups) == b"".join(map(codec.format_group, groups))
    assert ListEncoder().encode([]) == b""


def test_an_unchanged_group_is_not_encoded_again() -> None:
    """One changed NPU of 64 with 100 shares each is a hundredth of the work (budget: 1 ms).

    The bound is between the two by a wide margin: this is no benchmark.
    """
    encoder = ListEncoder()
    started = time.perf_counter()
    encoder.encode([group(npu, shares=100) for npu in range(64)])
    all_s = time.perf_counter() - started

    changed = [group(npu, shares=100, healthy=npu != 7) for npu in range(64)]
    started = time.perf_counter()
    data = encoder.encode(changed)
    one_s = time.perf_counter() - started

    assert data == ListEncoder().encode(changed)
    if one_s >= all_s / 4:
        text = f"one of 64 took {one_s * 1e3:.1f} ms, all {all_s * 1e3:.1f}"
        raise TooSlowError(text)


def test_shares_that_are_let_go_are_encoded_anew() -> None:
    """The remembered bytes are those of what was kept then."""
    encoder = ListEncoder()
    healthy = []
    for kept in ({0, 1}, {1}, set[int](), None):
        data = encoder.encode([group(0, shares=3, kept=kept)])
        healthy.append([name for name, health in healths(data).items() if health == "Healthy"])

    assert healthy == [
        ["Ascend910-0-0", "Ascend910-0-1"],
        ["Ascend910-0-1"],
        [],
        ["Ascend910-0-0", "Ascend910-0-1", "Ascend910-0-2"],
    ]


def test_the_memory_of_the_encoder_is_bounded() -> None:
    """NPUs that change their share count a hundred times leave no trace."""
    encoder = ListEncoder()

    for shares in range(1, 100):
        encoder.encode([group(0, shares=shares)])
        encoder.encode([group(0, shares=shares, kept={shares - 1})])

    assert len(encoder._pieces) <= 4


# --- streams ---------------------------------------------------------------------------------


async def test_a_stream_waits_for_the_first_offer() -> None:
    board, _ = lists()
    stream = board.watch()
    first = await settle(stream)

    board.publish(offer(2))

    assert healths(await first) == {"Ascend910-0": "Healthy", "Ascend910-1": "Healthy"}
    await stream.aclose()


async def test_a_new_stream_gets_the_full_list_at_once() -> None:
    board, _ = lists()
    board.publish(offer(3, sick=[1]))
    stream = board.watch()

    assert healths(await anext(stream))["Ascend910-1"] == "Unhealthy"
    await stream.aclose()


async def test_an_empty_list_is_sent_too() -> None:
    """All NPUs gone is news."""
    board, _ = lists()
    board.publish(offer(0))
    stream = board.watch()

    assert await anext(stream) == b""
    await stream.aclose()


async def test_every_stream_sees_each_change() -> None:
    """Two streams at once are a kubelet's reconnect: an update must not go to one alone."""
    board, _ = lists()
    board.publish(offer(1))
    streams = [board.watch(), board.watch()]
    for stream in streams:
        await anext(stream)
    waits = [await settle(stream) for stream in streams]

    board.publish(offer(1, sick=[0]))

    for wait in waits:
        assert healths(await wait) == {"Ascend910-0": "Unhealthy"}
    for stream in streams:
        await stream.aclose()


async def test_a_slow_stream_skips_to_the_newest_list() -> None:
    board, reader = lists()
    board.publish(offer(2))
    stream = board.watch()
    await anext(stream)

    for generation in range(2, 100):
        board.publish(offer(2, sick=[generation % 2], generation=generation))

    assert healths(await anext(stream)) == {"Ascend910-0": "Healthy", "Ascend910-1": "Unhealthy"}
    await settle_and_close(stream)
    assert [sent.generation for sent in reader.drain()] == [1, 99]


async def settle_and_close(stream: AsyncGenerator[bytes, None]) -> None:
    """Let the stream find that there is nothing new, and end it there."""
    wait = await settle(stream)
    wait.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait


async def test_a_list_that_would_say_the_same_is_not_sent() -> None:
    """Identical lists every 30 s are the older plugin's habit, and cost the kubelet work."""
    board, _ = lists()
    board.publish(offer(2, generation=1))
    stream = board.watch()
    await anext(stream)

    board.publish(offer(2, generation=2))

    await settle_and_close(stream)


async def test_streams_end_when_told_and_new_ones_begin_again() -> None:
    board, _ = lists()
    board.publish(offer(1))
    stream = board.watch()
    await anext(stream)
    wait = await settle(stream)

    board.end_streams()

    with pytest.raises(StopAsyncIteration):
        await wait
    again = board.watch()
    assert healths(await anext(again)) == {"Ascend910-0": "Healthy"}
    await again.aclose()


async def test_open_streams_are_counted() -> None:
    board, _ = lists()
    board.publish(offer(1))
    assert board.streams.value == 0
    first, second = board.watch(), board.watch()
    await anext(first)
    await anext(second)
    assert board.streams.value == 2

    await first.aclose()

    assert board.streams.value == 1
    await second.aclose()
    assert board.streams.value == 0


# --- word of what left -----------------------------------------------------------------------


async def test_a_list_that_left_says_what_it_held_and_what_caused_it() -> None:
    board, reader = lists()
    board.publish(offer(4, shares=10, causes={3: 1}))
    stream = board.watch()
    await anext(stream)
    board.publish(offer(4, sick=[1, 2], shares=10, generation=2, causes={2: 777, 3: 1}))
    before_ns = time.monotonic_ns()
    await anext(stream)
    await settle_and_close(stream)

    first, second = reader.drain()
    assert (first.total, first.healthy, first.generation, first.causes) == (40, 40, 1, ())
    assert (second.resource, second.total, second.healthy) == (RESOURCE, 40, 20)
    assert second.causes == ((PhyId(1), None), (PhyId(2), 777))
    assert before_ns <= second.sent_ns <= time.monotonic_ns()


async def test_a_list_that_left_says_which_npus_are_back() -> None:
    """How long a recovery took is another question than how long a fault did."""
    board, reader = lists()
    board.publish(offer(4, sick=[1]))
    stream = board.watch()
    await anext(stream)
    board.publish(offer(4, sick=[2], generation=2, causes={1: 5, 2: 7}))
    await anext(stream)
    await settle_and_close(stream)

    _, sent = reader.drain()
    assert sent.causes == ((PhyId(1), 5), (PhyId(2), 7))
    assert sent.recovered == {PhyId(1)}


async def test_shares_that_close_are_counted_and_are_no_fault_of_the_npu() -> None:
    """The NPU's health has not changed: no driver event is behind it whose latency would count."""
    board, reader = lists()
    board.publish(offer(1, shares=4))
    stream = board.watch()
    await anext(stream)
    closing = replace(offer(1, causes={0: 1}), groups=(group(0, shares=4, kept={3}),))
    board.publish(closing)
    await anext(stream)
    await settle_and_close(stream)

    _, sent = reader.drain()
    assert (sent.total, sent.healthy, sent.causes) == (4, 1, ())


async def test_what_changed_is_told_for_each_stream_by_what_it_showed() -> None:
    """A stream that skipped a fault and its recovery has nothing to tell of it."""
    board, reader = lists()
    board.publish(offer(2))
    fast, slow = board.watch(), board.watch()
    await anext(fast)
    await anext(slow)
    board.publish(offer(2, sick=[0], generation=2, causes={0: 5}))
    await anext(fast)
    board.publish(offer(2, sick=[1], generation=3, causes={0: 9, 1: 8}))
    await anext(fast)
    await anext(slow)
    await settle_and_close(fast)
    await settle_and_close(slow)

    told = [(sent.generation, sent.causes) for sent in reader.drain()]
    assert told == [
        (1, ()),
        (2, ((PhyId(0), 5),)),
        (1, ()),
        (3, ((PhyId(0), 9), (PhyId(1), 8))),
        (3, ((PhyId(1), 8),)),
    ]


async def test_an_npu_that_appears_or_goes_is_no_change_of_health() -> None:
    board, reader = lists()
    board.publish(offer(1))
    stream = board.watch()
    await anext(stream)
    board.publish(offer(3, sick=[2], generation=2))
    await anext(stream)
    await settle_and_close(stream)

    assert [sent.causes for sent in reader.drain()] == [(), ()]


async def test_nothing_is_told_of_a_list_that_never_left() -> None:
    """The stream was closed while the list was being sent."""
    board, reader = lists()
    board.publish(offer(1))
    stream = board.watch()
    await anext(stream)

    await stream.aclose()

    assert reader.drain() == []
