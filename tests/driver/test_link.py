import asyncio
from collections.abc import AsyncIterator

import pytest
from looptime import LoopTimeProxy

from ascend_agent.driver.frames import Splitter, pack
from ascend_agent.driver.link import BlockedError, WorkerLink, start_link
from ascend_agent.driver.news import ContinuityLost
from ascend_agent.driver.turns import Answer, Lane
from ascend_agent.errors import DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.model.fault import Assertion, DriverFault, Severity
from tests.driver.scripted import HEALTHY, LISTED, Ear, Script, ScriptedWorker
from tests.fakes.running import settle

_DEADLINE_S = 3.0


@pytest.fixture
def script() -> Script:
    """Return workers that answer nothing by themselves."""
    return Script(health=None, enumerate=None, subscribe=None, share_enable=None)


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
async def link(script: Script, ear: Ear) -> AsyncIterator[WorkerLink]:
    link = await start_link(
        script.spawn, hello=b"\0\0\0\2{}", environment={}, hear=ear.hear, changed=ear.changed
    )
    yield link
    await link.close()


@pytest.fixture
def worker(script: Script, link: WorkerLink) -> ScriptedWorker:
    return script.worker


class Asking:
    """Calls in the background of a test."""

    def __init__(self, group: asyncio.TaskGroup, link: WorkerLink) -> None:
        self._group = group
        self._link = link

    async def __call__(
        self, lane: Lane, op: str = "health", *, deadline_s: float = _DEADLINE_S
    ) -> asyncio.Future[Answer | Exception]:
        task = self._group.create_task(self._ask(lane, op, deadline_s), name=f"{op} {lane}")
        await settle()
        return task

    async def _ask(self, lane: Lane, op: str, deadline_s: float) -> Answer | Exception:
        try:
            return await self._link.call(lane, op, deadline_s=deadline_s)
        except (NpuUnresponsiveError, DriverUnavailableError, BlockedError) as error:
            return error


@pytest.fixture
async def ask(link: WorkerLink) -> AsyncIterator[Asking]:
    async with asyncio.TaskGroup() as group:
        yield Asking(group, link)


async def test_the_first_frame_is_the_hello(worker: ScriptedWorker) -> None:
    await settle()

    assert worker.hello == {}


async def test_lanes_run_beside_each_other_and_one_lane_in_order(
    ask: Asking, worker: ScriptedWorker
) -> None:
    first, second, other = await ask(0), await ask(0, "usage"), await ask(1)

    assert [(r["lane"], r["op"]) for r in worker.requests] == [(0, "health"), (1, "health")]
    worker.answer(worker.requests[1], HEALTHY)
    assert (await other) == HEALTHY
    assert not first.done()
    worker.answer(worker.requests[0], HEALTHY)
    await first
    await settle()
    assert worker.requests[2]["op"] == "usage"
    worker.answer(worker.requests[2], {"rc": 0})
    assert (await second) == {"rc": 0}


class Wire(asyncio.Transport):
    """Keeps what was written, each write for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))


async def test_what_is_asked_at_once_is_one_write(ear: Ear) -> None:
    """An Allocate asks eight NPUs, and each write wakes the worker for itself."""
    wire = Wire()
    child = ScriptedWorker({}, immortal=False)
    link = WorkerLink(child, hear=ear.hear, changed=ear.changed)
    link.connection_made(wire)
    async with asyncio.TaskGroup() as group:
        for lane in range(8):
            group.create_task(link.call(lane, "health", deadline_s=_DEADLINE_S), name=f"{lane}")
        await settle()
        requests = Splitter().feed(b"".join(wire.writes))
        for request in requests:
            link.data_received(pack({"id": request["id"], "result": HEALTHY}))

    assert [request["lane"] for request in requests] == list(range(8))
    assert len(wire.writes) == 1


async def test_a_deadline_counts_from_when_the_lane_is_free(
    ask: Asking, worker: ScriptedWorker, looptime: LoopTimeProxy
) -> None:
    """A slow call must not make the next one of its lane look hung."""
    first, second = await ask(0), await ask(0)

    await asyncio.sleep(2.9)
    worker.answer(worker.requests[0], HEALTHY)
    await first
    await asyncio.sleep(2.9)
    worker.answer(worker.requests[1], HEALTHY)

    assert await second == HEALTHY
    assert looptime == pytest.approx(5.8)


async def test_a_lane_that_misses_its_deadline_is_parked(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, ear: Ear, looptime: LoopTimeProxy
) -> None:
    """HL-4: unhealthy at once; one stuck thread at most, since nothing is queued behind it."""
    hung, waiting, other = await ask(0), await ask(0), await ask(1)
    worker.answer(worker.requests[1], HEALTHY)

    assert isinstance(await hung, NpuUnresponsiveError)
    assert isinstance(await waiting, NpuUnresponsiveError)
    assert await other == HEALTHY
    assert looptime == 3
    assert isinstance(await (await ask(0)), NpuUnresponsiveError)
    assert looptime == 3
    assert len(worker.requests) == 2
    assert link.parked == (0,)
    assert ear.changes == [(0,)]


async def test_a_late_answer_opens_the_lane_and_asks_for_a_resync(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, ear: Ear
) -> None:
    await (await ask(0))
    await asyncio.sleep(9)
    worker.answer(worker.requests[0], HEALTHY)
    await settle()

    assert link.parked == ()
    assert ear.changes == [(0,), ()]
    assert ear.news == [ContinuityLost(lane=0, reason="lane 0 answers again after 12.0 s")]
    again = await ask(0)
    worker.answer(worker.requests[1], HEALTHY)
    assert await again == HEALTHY


async def test_an_answer_at_the_very_deadline_leaves_no_lane_parked_for_ever(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker
) -> None:
    """Whichever of the two is first, the lane is open afterwards."""
    asked = await ask(0)
    loop = asyncio.get_running_loop()
    loop.call_later(_DEADLINE_S, worker.answer, worker.requests[0], HEALTHY)

    await asked
    await settle()

    assert link.parked == ()


async def test_a_cancelled_caller_leaves_its_lane_busy(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker
) -> None:
    """The call still runs in the worker: a second one beside it would be queued behind it."""
    cancelled = await ask(0)
    cancelled.cancel()
    waiting = await ask(0)
    assert len(worker.requests) == 1
    worker.answer(worker.requests[0], HEALTHY)
    await settle()
    worker.answer(worker.requests[1], HEALTHY)
    assert await waiting == HEALTHY

    hung = await ask(0)
    hung.cancel()
    await asyncio.sleep(3.1)
    assert link.parked == (0,)


async def test_a_call_that_runs_alone_waits_and_holds_back(
    ask: Asking, worker: ScriptedWorker
) -> None:
    before, alone, after = await ask(0), await ask("node", "enumerate"), await ask(1)
    assert worker.ops == ["health"]
    worker.answer(worker.requests[0], HEALTHY)
    await before
    await settle()
    assert worker.ops == ["health", "enumerate"]
    worker.answer(worker.requests[1], LISTED)
    await alone
    await settle()
    assert worker.ops == ["health", "enumerate", "health"]
    worker.answer(worker.requests[2], HEALTHY)
    assert await after == HEALTHY


async def test_waiting_for_a_long_init_parks_nobody(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker
) -> None:
    """An init may take seconds; the cards that wait for it are not to blame."""
    alone, waiting = await ask("node", "enumerate", deadline_s=30), await ask(1)

    await asyncio.sleep(20)
    worker.answer(worker.requests[0], LISTED)
    await alone
    await settle()
    worker.answer(worker.requests[1], HEALTHY)

    assert await waiting == HEALTHY
    assert link.parked == ()


async def test_a_hung_switch_library_concerns_nobody_else(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, caplog: pytest.LogCaptureFixture
) -> None:
    """Its caller says what that means; no card is parked, and none waits."""
    hung = await ask("switches", "switches_read")
    assert isinstance(await hung, NpuUnresponsiveError)

    alone = await ask("node", "enumerate")
    worker.answer(worker.requests[1], LISTED)
    assert await alone == LISTED
    assert isinstance(await (await ask("switches", "switches_read")), NpuUnresponsiveError)
    assert len(worker.requests) == 2
    assert link.parked == ()
    assert link.ended is None
    assert caplog.records == []


async def test_a_hung_lane_blocks_what_must_run_alone_but_nothing_else(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker
) -> None:
    hung, alone, other = await ask(0), await ask("node", "enumerate"), await ask(1)

    assert isinstance(await hung, NpuUnresponsiveError)
    assert isinstance(await alone, BlockedError)
    await settle()
    worker.answer(worker.requests[1], HEALTHY)
    assert await other == HEALTHY
    assert isinstance(await (await ask("node", "enumerate")), BlockedError)


async def test_a_worker_that_finds_itself_blocked_says_so(
    link: WorkerLink, worker: ScriptedWorker
) -> None:
    """A call whose caller was cancelled may hang unseen by the agent."""
    worker.answers["enumerate"] = {"rc": -8020, "call": "enumerate", "kind": "blocked"}

    with pytest.raises(BlockedError):
        await link.list_chips(reinitialise=True, deadline_s=30)
    assert link.listed is None


async def test_the_last_list_is_kept(link: WorkerLink, worker: ScriptedWorker) -> None:
    worker.answers["enumerate"] = LISTED

    assert await link.list_chips(reinitialise=True, deadline_s=30) == LISTED
    assert link.listed == LISTED
    assert worker.requests[0]["args"] == [1]


async def test_a_list_that_failed_is_not_kept(link: WorkerLink, worker: ScriptedWorker) -> None:
    worker.answers["enumerate"] = {"rc": -8005, "call": "dcmi_get_card_list"}

    assert (await link.list_chips(reinitialise=True, deadline_s=30))["rc"] == -8005
    assert link.listed is None


async def test_a_hung_node_lane_ends_the_worker(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, looptime: LoopTimeProxy
) -> None:
    other, asked = await ask(1, deadline_s=60), await ask("node", "subscribe", deadline_s=10)

    assert isinstance(await asked, DriverUnavailableError)
    assert isinstance(await other, DriverUnavailableError)
    assert looptime == 10
    assert link.ended == "the driver worker hangs: subscribe gave no answer within 10 s"


async def test_when_the_worker_ends_all_calls_fail_at_once(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, ear: Ear, looptime: LoopTimeProxy
) -> None:
    sent, waiting = await ask(0), await ask(0)

    worker.close()

    assert isinstance(await sent, DriverUnavailableError)
    assert isinstance(await waiting, DriverUnavailableError)
    assert isinstance(await (await ask(1)), DriverUnavailableError)
    assert looptime == 0
    assert link.ended == "the driver worker ended"
    assert ear.changes == [()]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\2[]",
        b"Segmentation fault (core dumped)",
        b"\0\0\0\2{}",
        pack({"id": 1, "result": "fine"}),
        pack({"id": 99, "result": {"rc": 0}}),
        pack({"event": {"logic": 1}, "seen_ns": 1}),
    ],
    ids=["oversize", "list", "text", "empty", "no result", "answer to nothing", "half an event"],
)
async def test_nonsense_ends_the_worker_and_nothing_else(
    ask: Asking, link: WorkerLink, worker: ScriptedWorker, data: bytes
) -> None:
    """It runs foreign code, which may write into the socket; the agent must stand it."""
    asked = await ask(0)

    worker.send(data)

    assert isinstance(await asked, DriverUnavailableError)
    assert link.ended is not None
    assert link.ended.startswith("the driver worker sent nonsense: ")


async def test_events_and_their_loss_are_heard_in_order(
    link: WorkerLink, worker: ScriptedWorker, ear: Ear
) -> None:
    worker.event()
    worker.send(pack({"lost": 7}))
    worker.event(assertion=0)
    await settle()

    assert ear.news == [
        DriverFault(
            logic=1,  # type: ignore[arg-type]
            code=0x80E01801,  # type: ignore[arg-type]
            assertion=Assertion.OCCURRED,
            severity=Severity.MAJOR,
            driver_time=1_700_000_000_000,
            seen_ns=1,
            text="HBM double-bit",
        ),
        ContinuityLost(lane=None, reason="7 driver events were lost in the worker"),
        ear.news[2],
    ]
    assert isinstance(ear.news[2], DriverFault)
    assert ear.news[2].assertion is Assertion.RECOVERED


async def test_closing_kills_and_releases(
    link: WorkerLink, worker: ScriptedWorker, looptime: LoopTimeProxy
) -> None:
    assert await link.close()
    assert worker.killed
    assert worker.released
    assert looptime == 0


async def test_a_worker_that_survives_sigkill_is_left_behind_after_two_seconds(
    script: Script, ear: Ear, looptime: LoopTimeProxy
) -> None:
    """A call stuck inside the kernel can't be ended by anybody."""
    script.immortal = True
    link = await start_link(
        script.spawn, hello=b"\0\0\0\2{}", environment={}, hear=ear.hear, changed=ear.changed
    )

    assert not await link.close()
    assert looptime == 2
    assert script.worker.released


async def test_a_close_that_is_cancelled_waits_for_the_worker_all_the_same(
    script: Script, ear: Ear, looptime: LoopTimeProxy
) -> None:
    """An agent may end while it puts a second worker in the place of a hung one."""
    script.immortal = True
    link = await start_link(
        script.spawn, hello=b"\0\0\0\2{}", environment={}, hear=ear.hear, changed=ear.changed
    )
    closing = asyncio.get_running_loop().create_task(link.close())
    await asyncio.sleep(1)
    closing.cancel()
    await asyncio.sleep(1)
    assert not script.worker.released
    script.worker.vanish()

    with pytest.raises(asyncio.CancelledError):
        await closing
    assert looptime == 2
    assert script.worker.released


async def test_a_worker_that_cannot_be_started_leaves_no_socket_behind(ear: Ear) -> None:
    """The warning of an unclosed socket would fail this test."""
    script = Script()
    script.failure = BlockingIOError(11, "Resource temporarily unavailable")

    with pytest.raises(BlockingIOError):
        await start_link(
            script.spawn, hello=b"", environment={}, hear=ear.hear, changed=ear.changed
        )
