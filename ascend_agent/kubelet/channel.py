"""A grpclib client for the kubelet's sockets.

Decided here: ``:authority``, limits, and which of our errors a broken connection becomes. What a
gRPC status means is left to the caller.
"""

import asyncio
from pathlib import Path

from grpclib.client import Channel
from grpclib.const import Cardinality
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError
from grpclib.protocol import H2Protocol
from h2.exceptions import H2Error

from ascend_agent.errors import BadMessageError, KubeletError, KubeletGoneError
from ascend_agent.kubelet.protocol import BytesCodec, GuardedProtocol
from ascend_agent.kubelet.sockets import denied
from ascend_agent.kubelet.texts import shown


class KubeletChannel(Channel):
    """Calls to one Unix socket over one connection, made when needed and made again when lost.

    ``connections`` counts how often it was made. Close it, or it warns.
    """

    def __init__(self, *, path: Path, largest_answer: int) -> None:
        super().__init__(path=str(path), codec=BytesCodec())
        # Strict servers refuse a socket path here (PY-1); grpclib would send 127.0.0.1:50051.
        self._authority = "localhost"
        self._socket = path
        self._largest_answer = largest_answer
        self.connections = 0

    async def call(self, method: str, body: bytes, *, timeout_s: float) -> bytes:
        """Return the answer to one unary call.

        Raises:
            GRPCError: the kubelet answered with a status.
            KubeletGoneError: nobody answers within *timeout_s*.
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
        where = shown(str(self._socket), limit=120)
        try:
            async with self.request(
                method, Cardinality.UNARY_UNARY, bytes, bytes, timeout=timeout_s
            ) as stream:
                await stream.send_message(body, end=True)
                answer = await stream.recv_message()
        except (GRPCError, BadMessageError) as error:
            return error
        except TimeoutError:
            return KubeletGoneError(f"nobody answered on {where} within {timeout_s:g} s")
        except PermissionError as error:
            return denied("connect to", self._socket, error)
        except OSError as error:
            return KubeletGoneError(f"nobody answers on {where}: {error.strerror or error}")
        except (StreamTerminatedError, ProtocolError, H2Error, AssertionError) as error:
            return KubeletGoneError(f"the connection to {where} broke: {shown(str(error))}")
        return BadMessageError(f"an empty answer from {where}") if answer is None else answer

    def _protocol_factory(self) -> H2Protocol:
        # Nobody keeps count: grpclib's channel looks at its connection before each call.
        return GuardedProtocol(
            super()._protocol_factory(),
            limit=self._largest_answer,
            made=_nobody_cares,
            gone=_nobody_cares,
        )

    async def _create_connection(self) -> H2Protocol:
        protocol = await super()._create_connection()
        self.connections += 1
        return protocol


def _nobody_cares(protocol: GuardedProtocol) -> None:
    """Do nothing."""
