"""Where nobody but the owner of the node lock is served, whatever a pod writes about itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ascend_agent.errors import AllocationError
from ascend_agent.model.hami import HamiRules
from tests.fakes.hami import device, pod, state
from tests.fakes.hami_scene import LEFT, HamiScene, hami_scene, of, one, phase_of

STRICT = state(rules=HamiRules(strict_lock=True))


def claim(scene: HamiScene, name: str, npu: int) -> None:
    """Have a pod that was served write that it waits for that NPU."""
    notes = {
        LEFT: f"{device(npu, 16384)};",
        "hami.io/Ascend910B3-devices-allocated": f"{device(npu, 16384)};",
        "hami.io/bind-phase": "allocating",
    }
    scene.server.store.change(("pods", "default", name), {"metadata": {"annotations": notes}})


@asynccontextmanager
async def greedy_scene(folder: Path) -> AsyncIterator[HamiScene]:
    """Give a node on which the pod that was served last claims more than it was to get."""
    async with hami_scene(folder, one("greedy", 0), hami=STRICT, lock=of("greedy")) as scene:
        await scene.ask((7, 0))
        await scene.settled()
        await scene.allocate.prefer([])  # by now it is seen that it has all it was to get
        claim(scene, "greedy", 3)
        yield scene


async def test_a_pod_served_last_that_claims_more_takes_nothing_from_the_owner(
    tmp_path: Path,
) -> None:
    """It was asked for first for a minute, and the owner's container got what it had written."""
    async with greedy_scene(tmp_path) as scene:
        scene.set_lock(of("owner"))
        scene.add(one("owner", 1, bound_at=2))
        await scene.seen()

        assert (await scene.ask((7, 0))).npus == (1,)


async def test_a_pod_served_last_that_claims_more_does_not_beat_a_lock_that_is_seen_late(
    tmp_path: Path,
) -> None:
    """Where the watches show no lock there may be one by now, and its owner."""
    async with greedy_scene(tmp_path) as scene:
        await scene.seen()
        scene.server.mute()
        scene.set_lock(of("owner"))
        scene.add(one("owner", 1, bound_at=2))

        assert (await scene.ask((7, 0))).npus == (1,)


async def test_the_owner_is_not_failed_for_a_request_that_is_another_pods(tmp_path: Path) -> None:
    """The one that it fits gets nothing, which is the operator's will; the owner waits on."""
    owner = pod("owner", f"{device(0, 65536)}{device(1, 65536)};", bound_at=2)
    pods = (one("other", 3), owner)
    async with hami_scene(tmp_path, *pods, hami=STRICT, lock=of("owner")) as scene:
        with pytest.raises(AllocationError, match="--hami-strict-lock lets nobody but the owner"):
            await scene.ask((7, 0))
        await scene.settled()

        assert scene.lock == of("owner")
        assert phase_of(scene, owner) == "allocating"
        assert (await scene.ask((7, 0), (7, 1))).npus == (0, 1)


async def test_a_pod_without_a_lock_is_served_once_it_is_sure_that_there_is_none(
    tmp_path: Path,
) -> None:
    async with hami_scene(tmp_path, one("p1", 2), hami=STRICT) as scene:
        assert (await scene.ask((7, 0))).npus == (2,)

        assert "GET /api/v1/nodes" in scene.requests
