"""A grpclib client for the kubelet's sockets.

Decided here: ``:authority``, limits, and which of our errors a broken connection becomes. What a
gRPC status means is left to the caller.
"""

import asyncio
import errno
import os
from pathlib import Path

from grpclib.client import Channel
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError
from grpclib.protocol import Connection, H2Protocol
from h2.exceptions import H2Error

from ascend_agent.errors import (
    BadMessageError,
    KubeletAbsentError,
    KubeletError,
    KubeletGoneError,
)
from ascend_agent.kubelet.protocol import BytesCodec, GuardedProtocol
from ascend_agent.kubelet.sockets import denied
from ascend_agent.kubelet.texts import shown

_GOING = frozenset({Status.UNAVAILABLE, Status.CANCELLED, Status.DEADLINE_EXCEEDED})
_PATH_SHOWN = 120  # longer than any socket's path
_FAILURES = (
    GRPCError,
    BadMessageError,
    OSError,
    StreamTerminatedError,
    ProtocolError,
    H2Error,
    AssertionError,  # grpclib's word for an answer that ends before its own length
)


class KubeletChannel(Channel):
    """Calls to one Unix socket over one connection, made when needed and made again when lost.

    ``connections`` counts how often it was made. Close it, or it warns.
    """

    def __init__(self, *, path: Path, largest_answer: int) -> None:
        super().__init__(path=str(path), codec=BytesCodec())
        # Strict servers refuse a socket path here (PY-1); grpclib would send 127.0.0.1:50051.
        self._authority = "localhost"
        self._socket = path
        self._where = shown(str(path), limit=_PATH_SHOWN)
        self._largest_answer = largest_answer
        self.connections = 0

    async def call(self, method: str, body: bytes, *, timeout_s: float) -> bytes:
        """Return the answer to one unary call.

        Raises:
            GRPCError: the kubelet refused, with a status.
            KubeletGoneError: nobody answers within *timeout_s*, or it is going.
            BadMessageError: the answer is too long or missing.
            KubeletError: we may not connect; the text says what to change.

        """
        # In a task of its own: grpclib ends a call by cancelling the task that waits for it and
        # does not take that back, which would make this task's next TaskGroup misbehave.
        async with asyncio.TaskGroup() as group:
            attempt = group.create_task(
                self._attempt(method, body, timeout_s), name=f"call {method}"
            )
        outcome = attempt.result()
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    async def _attempt(
        self, method: str, body: bytes, timeout_s: float
    ) -> bytes | GRPCError | KubeletError:
        try:
            async with self.request(
                method, Cardinality.UNARY_UNARY, bytes, bytes, timeout=timeout_s
            ) as stream:
                await stream.send_message(body, end=True)
                answer = await stream.recv_message()
        except _FAILURES as error:
            return self._explain(error, timeout_s)
        return BadMessageError(f"an empty answer from {self._where}") if answer is None else answer

    def _explain(self, error: Exception, timeout_s: float) -> GRPCError | KubeletError:
        """Return what the caller is told of a failed attempt."""
        match error:
            case PermissionError():
                return denied("connect to", self._socket, error)
            case GRPCError() if error.status not in _GOING:
                return error
            case BadMessageError():
                return error
            # Either side's clock may be the first to say so.
            case TimeoutError() | GRPCError(status=Status.DEADLINE_EXCEEDED):
                text = f"nobody answered on {self._where} within {timeout_s:g} s"
            case GRPCError():
                text = f"nobody answers on {self._where}: {shown(error.message or '')}"
            case FileNotFoundError():
                return KubeletAbsentError(f"nobody answers on {self._where}: {error.strerror}")
            case OSError():
                text = f"nobody answers on {self._where}: {error.strerror or error}"
            case _:
                text = f"the connection to {self._where} broke: {shown(str(error))}"
        return KubeletGoneError(text)

    def _protocol_factory(self) -> H2Protocol:
        # Nobody keeps count: grpclib's channel looks at its connection before each call.
        return GuardedProtocol(
            super()._protocol_factory(),
            limit=self._largest_answer,
            made=_nobody_cares,
            gone=_nobody_cares,
        )

    async def __connect__(self) -> H2Protocol:
        """Return a connection that stands; grpclib would trip over what it tore down itself."""
        protocol = await super().__connect__()
        connection: Connection = protocol.connection
        if connection.is_closing():
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        return protocol

    async def _create_connection(self) -> H2Protocol:
        protocol = await super()._create_connection()
        self.connections += 1
        return protocol


def _nobody_cares(protocol: GuardedProtocol) -> None:
    """Do nothing."""
