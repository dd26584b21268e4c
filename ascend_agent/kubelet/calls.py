"""The calls a server answers: bytes in, bytes out, and what becomes of failures.

Decided here: which gRPC status and text the other side sees, and how calls in flight end when
the agent stops. Handlers know neither gRPC nor each other; their answers are ``service``'s.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping

from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Stream
from h2.exceptions import H2Error

from ascend_agent.errors import AllocationError, BadMessageError, OversizeMessageError
from ascend_agent.kubelet.texts import shown

log = logging.getLogger(__name__)

Unary = Callable[[bytes], Coroutine[None, None, bytes]]
Streaming = Callable[[bytes], AsyncGenerator[bytes, None]]
_Stream = Stream[bytes, bytes]

_STOPPING = "ascend-agent is stopping; it takes new calls when it has registered again"


class Calls:
    """A gRPC service made of handlers, which can be drained.

    Keys are method paths, ``/<package>.<service>/<method>``.
    """

    def __init__(self, *, unary: Mapping[str, Unary], streaming: Mapping[str, Streaming]) -> None:
        self._unary = unary
        self._streaming = streaming
        self._draining = False
        self._running: set[asyncio.Task[bytes]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def __mapping__(self) -> dict[str, Handler]:
        """Return what grpclib wants to know."""
        one, many = Cardinality.UNARY_UNARY, Cardinality.UNARY_STREAM
        answer = {
            path: Handler(functools.partial(self._answer, path, handler), one, bytes, bytes)
            for path, handler in self._unary.items()
        }
        stream = {
            path: Handler(functools.partial(self._stream, path, handler), many, bytes, bytes)
            for path, handler in self._streaming.items()
        }
        return answer | stream

    async def drain(self, *, grace_s: float, undo_s: float) -> float:
        """Refuse new calls; give running ones *grace_s*, then cancel them.

        Return how much of *grace_s* running ones have left over; 0 where there was none.

        A cancelled call has *undo_s* to undo what it did; its caller is told UNAVAILABLE. The
        same happens at once where the drain itself is cancelled.
        """
        self._draining = True
        if not self._running:
            return 0
        clock = asyncio.get_running_loop().time
        until = clock() + grace_s
        try:
            await self._becomes_idle(grace_s)
        finally:
            if self._running:
                await self._cancel(undo_s)
        return max(until - clock(), 0)

    async def _cancel(self, undo_s: float) -> None:
        log.warning("calls cancelled at shutdown", extra={"missed": len(self._running)})
        for task in self._running:
            _cancel_once(task)
        if not await self._becomes_idle(undo_s):
            names = sorted(task.get_name() for task in self._running)
            log.warning("cancelled calls do not end", extra={"call": names, "took_s": undo_s})

    async def _becomes_idle(self, limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def _answer(self, path: str, handler: Unary, stream: _Stream) -> None:
        with _statuses(path):
            body = await _receive(stream)
            answer = await self._run(path, handler, body)
            await stream.send_message(answer)

    async def _stream(self, path: str, handler: Streaming, stream: _Stream) -> None:
        with _statuses(path):
            body = await _receive(stream)
            self._refuse_if_draining()
            # Closed here, whatever happens: a cancelled send would leave the generator's own
            # clean-up to the garbage collector.
            async with contextlib.aclosing(handler(body)) as answers:
                async for answer in answers:
                    await stream.send_message(answer)

    async def _run(self, path: str, handler: Unary, body: bytes) -> bytes:
        """Run a handler in a task of its own, cancelled once when its caller has gone.

        Grpclib cancels twice at the same moment, and the second one would end an undo at its
        first await.
        """
        self._refuse_if_draining()
        task = asyncio.get_running_loop().create_task(handler(body), name=path)
        self._running.add(task)
        self._idle.clear()
        task.add_done_callback(self._ended)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.add_done_callback(_note_unheard)
            _cancel_once(task)
            raise
        if task.cancelled():
            raise GRPCError(Status.UNAVAILABLE, _STOPPING)
        return task.result()

    def _refuse_if_draining(self) -> None:
        if self._draining:
            raise GRPCError(Status.UNAVAILABLE, _STOPPING)

    def _ended(self, task: asyncio.Task[bytes]) -> None:
        self._running.discard(task)
        if not self._running:
            self._idle.set()


def _cancel_once(task: asyncio.Task[bytes]) -> None:
    if not task.cancelling():
        task.cancel()


def _note_unheard(task: asyncio.Task[bytes]) -> None:
    """Log what went wrong after the caller had gone; nobody else would hear of it."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("call failed unexpectedly", extra={"call": task.get_name()}, exc_info=error)


async def _receive(stream: _Stream) -> bytes:
    """Return the request's bytes, or raise the status that says what is wrong with it."""
    try:
        body = await stream.recv_message()
    except OversizeMessageError as error:
        raise GRPCError(Status.RESOURCE_EXHAUSTED, str(error)) from error
    except NotImplementedError as error:
        raise GRPCError(Status.UNIMPLEMENTED, "compressed requests are not understood") from error
    except AssertionError as error:  # grpclib's way to say so
        raise GRPCError(
            Status.INVALID_ARGUMENT, "the request ends before its own length"
        ) from error
    if body is None:
        raise GRPCError(Status.INVALID_ARGUMENT, "the call carries no request message")
    return body


@contextlib.contextmanager
def _statuses(path: str) -> Iterator[None]:
    """Turn what a call raises into a gRPC status; the text ends up in the pod's event."""
    try:
        yield
    except GRPCError:
        raise
    except BadMessageError as error:
        raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error
    except AllocationError as error:
        raise GRPCError(Status.FAILED_PRECONDITION, str(error)) from error
    except H2Error as error:  # the peer reset the stream while we answered
        raise GRPCError(Status.UNAVAILABLE, "the stream is closed") from error
    except Exception as error:  # the edge: whatever is wrong in the agent, the kubelet gets a text
        log.exception("call failed unexpectedly", extra={"call": path})
        text = f"ascend-agent failed in {path}: {type(error).__name__}: {shown(str(error))}"
        raise GRPCError(Status.INTERNAL, f"{text}; its log has the details") from error
