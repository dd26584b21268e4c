"""Both ends of a call in one process, over a real Unix socket and on virtual time."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import grpclib.client
from grpclib.const import Cardinality

from ascend_agent.kubelet import sockets
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.channel import KubeletChannel
from ascend_agent.kubelet.server import KubeletServer
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google

PLUGIN = "/v1beta1.DevicePlugin"
OPTIONS = f"{PLUGIN}/GetDevicePluginOptions"
WATCH = f"{PLUGIN}/ListAndWatch"
ALLOCATE = f"{PLUGIN}/Allocate"

ClientStream = grpclib.client.Stream[bytes, bytes]


@contextlib.asynccontextmanager
async def served(calls: Calls, path: Path) -> AsyncIterator[KubeletServer]:
    """Yield a server of *calls* on *path*, shut down at the end if the test did not."""
    listener, _ = sockets.bind(path)
    server = KubeletServer(calls)
    await server.serve(listener)
    try:
        yield server
    finally:
        await server.shutdown(settle_s=0.1)


@contextlib.asynccontextmanager
async def connected(path: Path) -> AsyncIterator[KubeletChannel]:
    """Yield a client for *path*."""
    channel = KubeletChannel(path=path, largest_answer=1024 * 1024)
    try:
        yield channel
    finally:
        channel.close()


@contextlib.asynccontextmanager
async def watching(
    channel: KubeletChannel, method: str = WATCH, body: bytes = b""
) -> AsyncIterator[ClientStream]:
    """Yield an open stream of answers, cancelled at the end."""
    async with channel.request(method, Cardinality.UNARY_STREAM, bytes, bytes) as stream:
        await stream.send_message(body, end=True)
        yield stream
        if stream._stream.closable:
            await stream.cancel()


async def healths(stream: ClientStream) -> dict[str, str]:
    """Return the next list of a stream: health by id."""
    data = await stream.recv_message()
    assert data is not None
    return {d.ID: d.health for d in google.ListAndWatchResponse.FromString(data).devices}


def allocate_request(*devices: str) -> bytes:
    """Return the bytes of an Allocate for one container."""
    request = google.AllocateRequest()
    request.container_requests.add(devices_ids=devices)
    body: bytes = request.SerializeToString()
    return body


async def echo(body: bytes) -> bytes:
    """Answer a call with its request."""
    return body


async def count(body: bytes) -> AsyncGenerator[bytes, None]:
    """Answer with each byte of the request."""
    for number in body:
        yield bytes((number,))
