"""What kubelets do to a plugin: restarts, lost sockets and streams, odd and excessive calls."""

import asyncio
import gc
import logging
import shutil
import socket
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, footprint, given_back, node, served
from tests.agent.stage import staged
from tests.cluster.waiting import eventually
from tests.peer.client import PeerError, peer_kubelet

pytestmark = pytest.mark.peer

log = logging.getLogger(__name__)  # the numbers: --log-cli-level=info

ENDPOINT = "Ascend910.sock"
ALLOCATE = "/v1beta1.DevicePlugin/Allocate"
GROWTH_MIB = 8.0
MOST_NEW_OBJECTS = 400  # two for each restart would show
FOUR = "preset 910B3 4"


@pytest.mark.timeout(
    120
)  # two hundred times four processes: seconds, and a minute where all is busy
async def test_two_hundred_restarts_leave_nothing_behind(fake_dcmi: Path) -> None:
    """Descriptors, threads, memory of both processes; and no storm of warnings (KL-7, OB-2)."""
    async with node(fake_dcmi, "preset 910B3 8") as there, there.serving() as agent:
        await agent.logged("driver ready")
        worker = there.worker
        for _ in range(10):
            await there.restart_kubelet()
        await agent.until(lambda now: served(now)["streams"] == 1)
        before, worker_before = footprint(agent.pid), footprint(worker)

        for _ in range(200):
            assert (await there.restart_kubelet())["healthy"] == 8

        await agent.until(lambda now: served(now)["streams"] == 1)
        after, worker_after = footprint(agent.pid), footprint(worker)
        log.info("agent: %s, then %s", before, after)
        log.info("worker: %s, then %s", worker_before, worker_after)
        warned = [line["msg"] for line in agent.lines if line["level"] != "info"]
        assert len(warned) == len(set(warned))
        await given_back(agent.pid, before)
        assert after.rss_mib - before.rss_mib < GROWTH_MIB
        assert worker_after.descriptors == worker_before.descriptors
        assert worker_after.rss_mib - worker_before.rss_mib < GROWTH_MIB


async def test_two_hundred_restarts_leave_no_task_and_no_object_behind() -> None:
    """What only shows from within, so here the agent runs in the test's own process."""
    async with staged() as stage:
        stage.plugins.mkdir()
        async with peer_kubelet(stage.plugins) as kubelet, stage.agent() as agent:
            await kubelet.do("serve")
            await kubelet.event("list")

            async def restarts(times: int) -> None:
                for _ in range(times):
                    await kubelet.do("stop")
                    kubelet.forget()
                    await kubelet.do("serve")
                    assert (await kubelet.event("list"))["healthy"] == 8

            async def at_rest() -> bool | None:
                return len(asyncio.all_tasks()) <= tasks or None

            await restarts(20)
            gc.collect()
            tasks, objects = len(asyncio.all_tasks()), len(gc.get_objects())
            await restarts(200)
            # A list may be here before the answer to the registration that led to it.
            await eventually(at_rest, what=f"{tasks} tasks, as after twenty restarts")
            gc.collect()
            objects_after = len(gc.get_objects())

            log.info("objects: %s, then %s", objects, objects_after)
            assert objects_after - objects < MOST_NEW_OBJECTS
            assert {task.restarts for task in agent.bus.tasks.value or ()} == {0}


async def test_a_replaced_kubelet_socket_is_enough_of_a_sign(fake_dcmi: Path) -> None:
    """KL-1, also where the kubelet wipes nothing, so that our own socket is still in its place."""
    async with node(fake_dcmi, FOUR) as there, there.serving():
        ours = (there.plugins / ENDPOINT).stat()
        again = await there.restart_kubelet(wipe=False)

        assert again["healthy"] == 4
        assert (there.plugins / ENDPOINT).stat().st_ino == ours.st_ino


async def test_our_own_socket_is_made_anew_when_somebody_removes_it(fake_dcmi: Path) -> None:
    """KL-2. The old stream ends then: its socket is nobody's any more."""
    async with node(fake_dcmi, FOUR) as there, there.serving():
        (there.plugins / ENDPOINT).unlink()
        await there.kubelet.event("registered")
        again = await there.kubelet.event("list")

        assert again["healthy"] == 4
        assert (there.plugins / ENDPOINT).is_socket()


async def test_a_device_plugin_directory_made_anew_is_found(fake_dcmi: Path) -> None:
    """Removed with all that was in it while the kubelet was away, as on a reinstallation."""
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        await there.kubelet.do("stop")
        there.kubelet.forget()
        # All at once: an agent that sees its socket go makes another one beside what is left.
        shutil.rmtree(there.plugins.rename(there.home / "removed"))
        gone = await agent.logged("device-plugin directory not usable")
        ready, why = await agent.get("/readyz")
        there.plugins.mkdir()
        await there.kubelet.do("serve")
        again = await there.kubelet.event("list")

        assert str(there.plugins) in gone["why"]
        assert (ready, str(there.plugins) in why) == (503, True)
        assert again["healthy"] == 4


async def test_a_kubelet_socket_that_refuses_is_an_absent_kubelet(fake_dcmi: Path) -> None:
    """KL-5: said once, retried, and registered with as soon as the socket answers."""
    async with node(fake_dcmi, FOUR) as there:
        await there.kubelet.do("stop")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(there.plugins / "kubelet.sock"))
        async with there.agent() as agent:
            said = await agent.logged("not registered with the kubelet")
            await there.kubelet.do("serve")
            listed = await there.kubelet.event("list")

            assert "nobody answers on" in said["why"]
            assert "kubelet.sock" in said["why"]
            assert listed["healthy"] == 4
            assert len(agent.told("not registered with the kubelet")) == 1


async def test_a_kubelet_of_another_version_is_quoted(fake_dcmi: Path) -> None:
    refusal = "requested API version v1beta1 is not supported by kubelet; supported: v2"
    async with node(fake_dcmi, FOUR) as there:
        await there.kubelet.do("stop")
        await there.kubelet.do("serve", refuse=refusal)
        async with there.agent() as agent:
            said = await agent.logged("not registered with the kubelet")
            listed = await there.restart_kubelet()

            assert "v1beta1" in said["why"]
            assert refusal in said["why"]
            assert listed["healthy"] == 4


async def test_a_kubelet_that_dies_without_an_answer_is_not_waited_for(fake_dcmi: Path) -> None:
    """Whatever is in its place then is registered with, long before the deadline of the call."""
    async with node(fake_dcmi, FOUR) as there:
        await there.kubelet.do("stop")
        await there.kubelet.do("serve", hang=True)
        async with there.agent(), peer_kubelet(there.plugins) as other:
            await there.kubelet.event("registering")
            await there.kubelet.kill()
            await other.do("serve")
            listed = await other.event("list")

            assert listed["healthy"] == 4


async def test_a_stream_that_the_kubelet_cancels_brings_a_registration(fake_dcmi: Path) -> None:
    """A kubelet that wants no stream has forgotten us, or will call all devices unhealthy."""
    async with node(fake_dcmi, FOUR) as there, there.agent():
        first = await there.kubelet.event("list")
        await there.kubelet.event("registered")
        await there.kubelet.do("hang_up", stream=first["stream"])
        await there.kubelet.event("registered")
        again = await there.kubelet.event("list")

        assert again["healthy"] == 4


async def test_the_streams_of_several_kubelets_say_the_same(fake_dcmi: Path) -> None:
    """Forty readers; when all but one have gone, nothing is kept for them."""
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        async with peer_kubelet(there.plugins) as other:
            await other.do("dial", endpoint=ENDPOINT, streams=40)
            for _ in range(40):
                assert (await other.event("list"))["healthy"] == 4
            there.host.inject(2, FAULT)
            told = [await other.event("list", healthy=3) for _ in range(40)]
            await there.kubelet.event("list", healthy=3)
            status = await agent.status()

        assert {event["stream"] for event in told} == set(range(1, 41))
        assert served(status)["streams"] == 41
        await agent.until(lambda now: served(now)["streams"] == 1)
        there.host.recover(2, FAULT)
        await there.kubelet.event("list", healthy=4)


async def test_a_reader_that_stops_reading_holds_up_nobody_and_skips_to_the_truth(
    fake_dcmi: Path,
) -> None:
    """KL-7 with 6,400 devices: what a frozen kubelet does not take is not kept for it."""
    model, shares = "preset 910B3 64", ("--shares", "100")
    async with node(fake_dcmi, model) as there, there.agent(*shares) as agent:
        await there.kubelet.event("list", total=6400, healthy=6400)
        async with peer_kubelet(there.plugins) as other:
            await other.do("dial", endpoint=ENDPOINT)
            await other.event("list", healthy=6400)
            there.kubelet.freeze()
            for phy in range(64):
                there.host.inject(phy, FAULT)
                await other.event("list", healthy=6300 - 100 * phy)
                if phy == 15:  # what a start and a first fault bring along is there by now
                    await agent.status()
                    before = footprint(agent.pid)
            for phy in range(63):
                there.host.recover(phy, FAULT)
            await other.event("list", healthy=6300)
            after = footprint(agent.pid)
            there.kubelet.forget()
            there.kubelet.thaw()
            await there.kubelet.event("list", healthy=6300)

        assert after.rss_mib - before.rss_mib < GROWTH_MIB
        assert len(there.kubelet.seen("list")) < 64
        assert there.kubelet.seen("stream_end") == []


async def test_odd_and_excessive_calls_are_refused_and_the_stream_goes_on(fake_dcmi: Path) -> None:
    """20 MB, no protobuf, an unknown method; PY-1: older kubelets name the socket as authority."""
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        kubelet = there.kubelet
        await agent.status()  # what serves the pages comes last, after the first list
        before = footprint(agent.pid)
        with pytest.raises(PeerError) as huge:
            await kubelet.do("raw", endpoint=ENDPOINT, method=ALLOCATE, zeros=20 * 1024 * 1024)
        with pytest.raises(PeerError) as broken:
            await kubelet.do("raw", endpoint=ENDPOINT, method=ALLOCATE, body="0aff")
        with pytest.raises(PeerError) as unknown:
            await kubelet.do("raw", endpoint=ENDPOINT, method="/v1beta1.DevicePlugin/Reset")
        for authority in ("%2Fvar%2Flib%2Fkubelet%2Fa.sock", "/var/lib/kubelet/a.sock", "[::1]"):
            options = await kubelet.do("options", endpoint=ENDPOINT, authority=authority)
            assert options == {"pre_start": False, "preferred": True}
        after = footprint(agent.pid)
        there.host.inject(2, FAULT)
        await kubelet.event("list", healthy=3)

        assert (huge.value.code, "at most 4194304 are accepted" in huge.value.text) == (
            "RESOURCE_EXHAUSTED",
            True,
        )
        assert (broken.value.code, "malformed protobuf" in broken.value.text) == (
            "INVALID_ARGUMENT",
            True,
        )
        assert unknown.value.code == "UNIMPLEMENTED"
        assert after.rss_mib - before.rss_mib < GROWTH_MIB
        assert kubelet.seen("stream_end") == []
