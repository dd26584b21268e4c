"""The agent's end of one worker: requests out, answers and events in, a deadline on each call.

What is decided here: when a call is too late, and that a worker which talks nonsense is not
listened to any more. When workers are started and replaced is decided in ``process``.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping

from ascend_agent.driver.child import Child, Spawn
from ascend_agent.driver.frames import (
    ALONE,
    BESIDE,
    NODE_LANE,
    RC_OCCUPIED,
    BrokenFrameError,
    Splitter,
    pack,
)
from ascend_agent.driver.news import Complaints, ContinuityLost, News, parse_event
from ascend_agent.driver.turns import Answer, Call, Lane, Turns
from ascend_agent.errors import DriverBusyError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.model.npu import LaneId

log = logging.getLogger(__name__)

RC_TIMEOUT = -8006
"""The driver's code for "timed out", used for calls that missed our deadline."""

_KILL_S = 2.0


class BlockedError(DriverBusyError):
    """A hung lane keeps a call from running that must run alone."""


class WorkerLink(asyncio.Protocol):
    """One worker, from its start until it ended or was closed.

    ``hear`` gets its news; ``changed`` is called when a lane was parked or released, and once
    when the worker ended. ``ended`` says why it did, None while it lives.
    """

    def __init__(
        self,
        child: Child,
        *,
        hear: Callable[["WorkerLink", News], None],
        changed: Callable[["WorkerLink"], None],
    ) -> None:
        self.child = child
        self.ended: str | None = None
        self.listed: Answer | None = None
        """The last list of chips: as long as it stands, nothing but an init changes it."""
        self._hear = hear
        self._changed = changed
        self._transport: asyncio.Transport | None = None
        self._splitter = Splitter()
        self._turns = Turns()
        self._complaints = Complaints()
        self._numbers = 0
        self._unsent = b""
        self._loop = asyncio.get_running_loop()

    @property
    def parked(self) -> tuple[LaneId, ...]:
        """Return the lanes that hang, ascending."""
        return tuple(sorted(lane for lane in self._turns.parked if isinstance(lane, int)))

    async def call(
        self, lane: Lane, op: str, args: tuple[int, ...] = (), *, deadline_s: float
    ) -> Answer:
        """Return the worker's answer; the deadline counts from when the lane is free for it.

        Raises:
            NpuUnresponsiveError: the deadline passed, now or for an earlier call of the lane.
            BlockedError: the call must run alone and a lane hangs.
            DriverUnavailableError: the worker ended.

        """
        if self.ended is not None:
            raise DriverUnavailableError(self.ended)
        if lane in self._turns.parked:
            raise _unresponsive(op, lane, "an earlier call has not returned yet")
        if op in ALONE and self._turns.blocking:
            raise self._blocked(op)
        self._numbers += 1
        call = Call(
            number=self._numbers,
            lane=lane,
            op=op,
            args=args,
            deadline_s=deadline_s,
            answer=self._loop.create_future(),
        )
        self._turns.add(call)
        self._send_due()
        return await call.answer

    async def list_chips(self, *, reinitialise: bool, deadline_s: float) -> Answer:
        """Return the driver's list of chips; raises as ``call`` does."""
        args = (int(reinitialise),)
        answer = await self.call(NODE_LANE, "enumerate", args, deadline_s=deadline_s)
        if answer.get("kind") == "blocked":
            raise self._blocked("enumerate")
        if answer["rc"] == 0:
            self.listed = answer
        return answer

    async def close(self) -> bool:
        """End the worker; False where it survives SIGKILL, stuck inside the kernel.

        Cancelled meanwhile, it waits for that all the same: no process is left behind.
        """
        self._end("the agent ended it")
        self.child.kill()
        try:
            await self._dead()
        except asyncio.CancelledError:
            await self._dead()
            raise
        finally:
            self.child.release()
        return self.child.gone

    async def _dead(self) -> None:
        """Wait for the end of a worker that was killed, for as long as that can take."""
        try:
            async with asyncio.timeout(_KILL_S):
                await self.child.wait()
        except TimeoutError:
            pass  # its kernel does not let it go

    # --- what the event loop calls ---------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 -- narrows the type
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what came; what is no frame of ours ends the worker."""
        try:
            for frame in self._splitter.feed(data):
                self._receive(frame)
        except BrokenFrameError as error:
            self._end(f"the driver worker sent nonsense: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the worker closed its end, which it does by ending."""
        del exc  # however it was cut: the worker is gone
        self._end("the driver worker ended")

    # --- frames ----------------------------------------------------------------------------

    def send_hello(self, hello: bytes) -> None:
        """Tell the worker which driver to run."""
        self._write(hello)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None  # noqa: S101 -- start_link connects before it returns
        self._transport.write(data)

    def _write_soon(self, data: bytes) -> None:
        """Write *data* with all else that is asked in this pass of the loop.

        NPUs are asked in groups, and each write wakes the worker for itself.
        """
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent += data

    def _flush(self) -> None:
        data, self._unsent = self._unsent, b""
        self._write(data)  # the transport drops it where the worker has just ended

    def _receive(self, frame: Mapping[str, object]) -> None:
        match frame:
            case {"id": int(number), "result": dict(answer)} if isinstance(answer.get("rc"), int):
                self._finish(number, answer)
            case {"event": dict(body), "seen_ns": int(seen_ns)}:
                self._hear(self, parse_event(body, seen_ns, self._complaints))
            case {"lost": int(lost)}:
                log.warning("driver events lost", extra={"missed": lost})
                reason = f"{lost} driver events were lost in the worker"
                self._hear(self, ContinuityLost(lane=None, reason=reason))
            case _:
                raise BrokenFrameError(f"a frame of unknown shape: {sorted(frame)}")

    def _send_due(self) -> None:
        for call in self._turns.due():
            call.sent_at = self._loop.time()
            call.timer = self._loop.call_later(call.deadline_s, self._miss, call)
            request: dict[str, object] = {"id": call.number, "lane": call.lane, "op": call.op}
            request["args"] = call.args
            self._write_soon(pack(request))

    def _finish(self, number: int, answer: Answer) -> None:
        parked = {call.number for call in self._turns.parked.values()}
        call = self._turns.finish(number)
        if call is None:
            raise BrokenFrameError(f"an answer to call {number}, which is not open")
        took_s = round(self._loop.time() - call.sent_at, 4)
        log.debug(
            "driver call",
            extra={"lane": call.lane, "call": call.op, "rc": answer["rc"], "took_s": took_s},
        )
        if call.timer is not None:
            call.timer.cancel()
        if not call.answer.done():  # a caller that was cancelled no longer waits
            call.answer.set_result(answer)
        if number in parked and isinstance(call.lane, int):
            self._release(call.lane, call.op, took_s)
        self._send_due()

    # --- deadlines -------------------------------------------------------------------------

    def _miss(self, call: Call) -> None:
        why = f"no answer within {call.deadline_s:g} s"
        if call.lane == NODE_LANE:
            # Without this lane nothing can be re-enumerated: only a new worker helps.
            self._end(f"the driver worker hangs: {call.op} gave {why}")
            return
        held = self._turns.park(call)
        if call.op not in BESIDE:  # of another library its only caller tells
            log.warning(
                "driver lane hangs",
                extra={"lane": call.lane, "call": call.op, "took_s": call.deadline_s},
            )
        _fail(call, _unresponsive(call.op, call.lane, why))
        for other in held:
            blocked = other.op in ALONE
            error = self._blocked(other.op) if blocked else _unresponsive(other.op, call.lane, why)
            _fail(other, error)
        self._changed(self)
        self._send_due()

    def _release(self, lane: int, op: str, took_s: float) -> None:
        log.info("driver lane answers again", extra={"lane": lane, "call": op, "took_s": took_s})
        self._changed(self)
        reason = f"lane {lane} answers again after {took_s:.1f} s"
        self._hear(self, ContinuityLost(lane=lane, reason=reason))

    def _end(self, reason: str) -> None:
        if self.ended is not None:
            return
        self.ended = reason
        if self._transport is not None:
            self._transport.abort()
        for call in self._turns.clear():
            if call.timer is not None:
                call.timer.cancel()
            _fail(call, DriverUnavailableError(reason))
        self._changed(self)

    def _blocked(self, op: str) -> BlockedError:
        lanes = ", ".join(str(lane) for lane in self._turns.blocking)
        return BlockedError(op, RC_OCCUPIED, NODE_LANE, f"lane {lanes} hangs")


async def start_link(
    spawn: Spawn,
    *,
    hello: bytes,
    environment: Mapping[str, str],
    hear: Callable[[WorkerLink, News], None],
    changed: Callable[[WorkerLink], None],
) -> WorkerLink:
    """Start a worker and return the link to it; raises OSError where that fails."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            child = await spawn(theirs, environment)
        except BaseException:
            ours.close()
            raise
    link = WorkerLink(child, hear=hear, changed=changed)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=ours)
    except BaseException:
        ours.close()
        await link.close()
        raise
    link.send_hello(hello)
    return link


def _unresponsive(op: str, lane: Lane, why: str) -> NpuUnresponsiveError:
    return NpuUnresponsiveError(op, RC_TIMEOUT, f"lane {lane}", why)


def _fail(call: Call, error: Exception) -> None:
    if not call.answer.done():
        call.answer.set_exception(error)
