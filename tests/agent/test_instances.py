"""One serving instance a node, its orderly end, and what a signal means."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.agent.scene import WRONG_OPTIONS, Node, node
from tests.peer.client import Facts, PeerError
from tests.too_slow import in_time

pytestmark = pytest.mark.peer

FOUR = "preset 910B3 4"
TAKEOVER_S = 5.0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_a_second_instance_waits_and_takes_over_when_the_first_ends(
    fake_dcmi: Path, ending: signal.Signals
) -> None:
    """KL-4: within 5 s, however the first one ends."""
    async with node(fake_dcmi, FOUR) as there, there.agent() as first:
        await there.kubelet.event("list")
        worker = there.worker
        async with there.agent() as second:
            waits = await second.logged("another instance serves this node")
            there.kubelet.forget()
            first.send(ending)
            with in_time(TAKEOVER_S):
                await there.kubelet.event("registered")
                listed = await there.kubelet.event("list")
            await second.until(lambda now: now["ready"])

            assert f"pid {first.pid} on " in waits["holder"]
            assert listed["healthy"] == 4
            assert await first.ended() == (0 if ending is signal.SIGTERM else -9)
            await there.gone(worker)


async def test_a_hangup_registers_anew(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        before = (there.plugins / "Ascend910.sock").stat().st_ctime_ns
        agent.send(signal.SIGHUP)
        await there.kubelet.event("registered")
        listed = await there.kubelet.event("list")

        assert listed["healthy"] == 4
        assert (there.plugins / "Ascend910.sock").stat().st_ctime_ns != before


async def test_the_end_takes_sockets_and_worker_along(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        await agent.logged("driver ready")
        worker = there.worker
        agent.send(signal.SIGTERM)

        assert await agent.ended() == 0
        assert [path.name for path in there.plugins.iterdir()] == ["kubelet.sock"]
        assert (await there.kubelet.event("stream_end"))["code"] == "OK"
        await there.gone(worker)


@pytest.mark.parametrize("call", ["dcmi_get_device_health", "dcmi_init"])
async def test_a_library_that_hangs_holds_up_no_end(fake_dcmi: Path, call: str) -> None:
    async with node(fake_dcmi, FOUR, f"hang {call} *") as there, there.agent() as agent:
        await there.in_library()
        worker = there.worker
        agent.send(signal.SIGTERM)

        assert await agent.ended() == 0
        await there.gone(worker)


def slow_file(there: Node) -> Path:
    """Make the file that each Allocate reads on this node one that answers when it is told to."""
    fifo = there.home / "root" / "etc" / "ascend-docker-runtime.d" / "base.list"
    fifo.parent.mkdir(parents=True)
    os.mkfifo(fifo)
    nodes = there.home / "root" / "dev"
    nodes.mkdir()
    for name in ("davinci_manager", "davinci1"):
        (nodes / name).touch()
    return fifo


DEVICES = ("--inject", "devices")
"""The way in that reads the host's mount list."""


async def allocate(there: Node) -> Facts:
    """Ask for one device."""
    return await there.kubelet.do(
        "allocate", endpoint="Ascend910.sock", containers=[["Ascend910-1"]]
    )


async def refused(there: Node) -> str:
    """Ask for one device and return what the refusal says."""
    with pytest.raises(PeerError) as refusal:
        await allocate(there)
    return refusal.value.text


async def test_an_allocate_in_flight_is_answered_before_the_end(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there:
        fifo = slow_file(there)
        async with there.serving(*DEVICES, "--host-root", str(there.home / "root")) as agent:
            async with asyncio.TaskGroup() as group:
                asked = group.create_task(allocate(there))
                # Opening it returns when somebody reads it: then the call is under way.
                writer = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
                agent.send(signal.SIGTERM)
                os.close(writer)
            assert await agent.ended() == 0

        (container,) = asked.result()["containers"]
        assert "/dev/davinci1" in str(container["devices"])


async def test_a_host_whose_files_hang_holds_up_no_end(fake_dcmi: Path) -> None:
    """The Allocate is refused with the reason, and the thread that hangs ends with the process."""
    async with node(fake_dcmi, FOUR) as there:
        fifo = slow_file(there)
        async with there.serving(*DEVICES, "--host-root", str(there.home / "root")) as agent:
            async with asyncio.TaskGroup() as group:
                asked = group.create_task(refused(there))
                writer = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)
                agent.send(signal.SIGTERM)
            code = await agent.ended()
            os.close(writer)

        assert code == 0
        assert "the host's files did not answer within 2 s" in asked.result()
        assert "look for a hung mount" in asked.result()


async def test_a_wrong_option_ends_it_at_once_with_2(fake_dcmi: Path) -> None:
    """Everything that is wrong is said, each with its remedy, and nothing is registered."""
    async with node(fake_dcmi, FOUR) as there:
        options = ("--shares", "0", "--inject=cdi", "--inject=devices", "--volcanoType=true")
        async with there.agent(*options) as agent:
            code = await agent.ended()
        said = "\n".join(agent.noise)

        assert code == WRONG_OPTIONS
        for part in ("--shares", "--inject=cdi", "contradict", "--volcanoType", "not built yet"):
            assert part in said
        assert "Traceback" not in said
        assert there.kubelet.seen("registered") == []
