"""A server that dies like a process."""

import asyncio
import contextlib
import socket
import tempfile
from pathlib import Path

import pytest
from grpclib.client import Channel
from grpclib.exceptions import StreamTerminatedError

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent.sim.kubelet.server import serve
from tests.sim.kubelet.plugins import FakePlugin


async def test_a_kill_cuts_who_is_connected() -> None:
    """A plain close tells the peer nothing, and on newer Pythons waits for it for ever."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        path = Path(name) / "x.sock"
        server = await serve([FakePlugin({"a": True})], path)
        channel = Channel(path=str(path))
        stream = api.DevicePluginStub(channel).list_and_watch(api.Empty())
        first = await anext(stream)
        assert [device.id for device in first.devices] == ["a"]

        await server.kill()

        with pytest.raises((StreamTerminatedError, ConnectionError)):
            await anext(stream)
        channel.close()


async def test_a_kill_leaves_nobody_to_connect_to() -> None:
    with tempfile.TemporaryDirectory(prefix="k") as name:
        path = Path(name) / "x.sock"
        server = await serve([FakePlugin({})], path)

        await server.kill()
        await server.kill()

        channel = Channel(path=str(path))
        with pytest.raises(OSError, match=r"refused|No such file"):
            await api.DevicePluginStub(channel).get_device_plugin_options(api.Empty(), timeout=1)
        channel.close()


async def test_a_kill_cuts_who_is_just_connecting() -> None:
    """Accepted by the kernel and not yet by us: on newer Pythons it kept the server for ever."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        path = Path(name) / "x.sock"
        server = await serve([FakePlugin({})], path)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            await asyncio.sleep(0)

            await server.kill()

            client.setblocking(True)
            client.settimeout(1)
            with contextlib.suppress(ConnectionResetError):
                while client.recv(1000):
                    pass


async def test_the_socket_of_a_dead_server_is_taken_over() -> None:
    with tempfile.TemporaryDirectory(prefix="k") as name:
        path = Path(name) / "x.sock"
        await (await serve([FakePlugin({})], path)).kill()

        second = await serve([FakePlugin({})], path)

        assert path.is_socket()
        await second.kill()
