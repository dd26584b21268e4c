"""What gets lost on the way: a pod, an answer, half of a pod, the word that a patch was made."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from ascend_agent.errors import AllocationError
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.sim.cluster.store import RefusedError
from tests.fakes.hami import container, device, pod
from tests.fakes.hami_scene import LEFT, hami_scene, of, one, phase_of, refused, repairing, two
from tests.fakes.running import running

GRANTED = "hami.io/Ascend910B3-devices-allocated"


async def test_a_pod_that_fails_halfway_keeps_its_devices_booked(tmp_path: Path) -> None:
    """HAMi A11: the container that has its devices may run; HAMi takes them from a failed pod."""
    slots = f"{device(0, 16384)};{device(99, 16384)};"
    half = pod("half", slots, containers=[container("a"), container("b")])
    async with hami_scene(tmp_path, half, lock=of("half")) as scene:
        assert (await scene.ask((7, 0))).npus == (0,)
        with pytest.raises(AllocationError, match="does not offer"):
            await scene.ask((7, 0))
        await scene.settled()

        assert scene.annotations(half)[GRANTED] == slots
        assert (phase_of(scene, half), scene.lock) == ("failed", None)


@pytest.mark.parametrize("muted", [False, True], ids=["watched", "watched late"])
async def test_a_pod_that_is_deleted_before_its_call_is_nobody_and_leaves_no_lock(
    muted: bool,  # noqa: FBT001 -- both ways
    tmp_path: Path,
) -> None:
    """The kubelet asks for it all the same; nobody else may pay for that."""
    other = pod("other", f"{device(2, 65536)}{device(3, 65536)};", bound_at=2)
    async with hami_scene(tmp_path, one("gone", 0), other, lock=of("gone")) as scene:
        if muted:
            scene.server.mute()
        scene.server.store.delete(("pods", "default", "gone"))
        if not muted:
            await scene.seen()
        repair = repairing(scene)
        scene.bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
        async with running(repair.run):
            await refused(scene, (7, 0))

            assert scene.lock is None
            assert phase_of(scene, other) == "allocating"
            assert [path for path, _ in scene.patches if path.endswith("other")] == []


async def test_a_pod_whose_answer_was_lost_is_nothing_to_repair(tmp_path: Path) -> None:
    """Its slot was taken, the kubelet never heard and fails the pod; the next one gets its own."""
    async with hami_scene(tmp_path, one("lost", 0), lock=of("lost")) as scene:
        await scene.ask((7, 0))
        await scene.settled()
        scene.since_now()
        scene.server.store.change(("pods", "default", "lost"), {"status": {"phase": "Failed"}})
        scene.set_lock(of("next"))
        scene.add(one("next", 2, bound_at=2))
        await scene.seen()

        assert (await scene.ask((7, 0))).npus == (2,)
        await scene.settled()
        assert [path for path, _ in scene.patches if path.endswith("lost")] == []
        assert (phase_of(scene, one("lost", 0)), scene.lock) == ("success", None)


async def test_a_patch_that_was_made_and_not_acknowledged_takes_one_slot(tmp_path: Path) -> None:
    """The API server dies between the two: sent again, it says the same."""
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        store, key = scene.server.store, ("pods", "default", "a")
        lose = [True]

        async def trouble(request: web.Request) -> web.StreamResponse | None:
            if request.method == "PATCH" and request.path.endswith("/pods/a") and lose:
                lose.clear()
                store.change_by_steps(key, await request.json())
                return web.Response(status=503)
            return None

        scene.server.troubles.append(trouble)
        first, second = await scene.ask((7, 0)), await scene.ask((7, 0))

        assert [grant.npus for grant in (first, second)] == [(0,), (1,)]
        assert not lose
        assert scene.annotations(two("a", 0, 1))[LEFT] == ";;"
        assert phase_of(scene, two("a", 0, 1)) == "success"


async def test_what_an_api_server_that_hung_carries_out_late_undoes_nothing(
    tmp_path: Path,
) -> None:
    """HAMi A10: the pod was given up by then; its slot and phase stay as they were written since.

    A stopped API server carries out what it was sent in any order when it goes on, whether or not
    somebody still waits for it.
    """
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        store, key = scene.server.store, ("pods", "default", "a")
        unanswered: list[object] = []

        async def hang(request: web.Request) -> web.StreamResponse | None:
            if request.method == "PATCH" and request.path.endswith("/pods/a"):
                unanswered.append(await request.json())
                await asyncio.Event().wait()
            return None

        scene.server.troubles.append(hang)
        await refused(scene, (7, 0))
        scene.server.troubles.clear()
        await asyncio.sleep(60)

        assert phase_of(scene, two("a", 0, 1)) == "failed"
        late = [body for body in unanswered if isinstance(body, list)]
        for body in late:
            with pytest.raises(RefusedError):
                store.change_by_steps(key, body)
        assert late
