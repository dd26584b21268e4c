"""Two pods, one lock, late watches, lost answers: nobody gets what is another's."""

import asyncio
import dataclasses
from pathlib import Path

import pytest
from aiohttp import web

from ascend_agent.errors import AllocationError
from ascend_agent.sim.cluster import Trouble
from tests.fakes.hami import asks, container, device, pod, state
from tests.fakes.hami_scene import (
    LEFT,
    hami_scene,
    of,
    one,
    phase_of,
    refused,
    two,
)

# --- two pods at once ----------------------------------------------------------------------


async def test_without_a_lock_pods_of_different_sizes_get_their_own(tmp_path: Path) -> None:
    """AL-1: both got the slice of one of them."""
    pair = pod("pair", f"{device(4, 65536)}{device(5, 65536)};", bound_at=1)
    async with hami_scene(tmp_path, pair, one("single", 0, bound_at=2)) as scene:
        single = await scene.ask((7, 0))
        both = await scene.ask((7, 0), (7, 1))

        assert (single.npus, both.npus) == ((0,), (4, 5))


async def test_without_a_lock_pods_of_one_size_go_in_the_order_they_were_bound(
    tmp_path: Path,
) -> None:
    """It can't be told whose request it is; what Volcano can do about that is documented."""
    async with hami_scene(tmp_path, one("b", 1, bound_at=2), one("a", 0, bound_at=1)) as scene:
        first, second = await scene.ask((7, 0)), await scene.ask((7, 0))

        assert (first.npus, second.npus) == ((0,), (1,))


async def test_without_a_lock_what_the_kubelet_was_advised_tells_them_apart(
    tmp_path: Path,
) -> None:
    """The kubelet asks for ids of the devices of the pod that it admits."""
    async with hami_scene(tmp_path, one("b", 1, bound_at=2), one("a", 0, bound_at=1)) as scene:
        first, second = await scene.ask((1, 0)), await scene.ask((0, 3))

        assert (first.npus, second.npus) == ((1,), (0,))


async def test_calls_at_once_queue_and_each_pod_is_served_once(tmp_path: Path) -> None:
    """AL-9, HAMi A7: the same pod was handed out twice."""
    pods = [one(f"p{npu}", npu, bound_at=npu) for npu in range(8)]
    async with hami_scene(tmp_path, *pods) as scene:
        grants = await asyncio.gather(*(scene.ask((7, 0)) for _ in pods))

        assert sorted(grant.npus[0] for grant in grants) == list(range(8))
        assert {phase_of(scene, each) for each in pods} == {"success"}


async def test_a_lock_that_was_handed_over_does_not_take_the_waiting_pods_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After five minutes another pod owns it, though the first one's Allocate is still to come."""
    caplog.set_level("INFO")
    async with hami_scene(tmp_path, one("first", 0), lock=of("heir")) as scene:
        heir = one("heir", 1, bound_at=2)
        scene.add(dataclasses.replace(heir, node=None))

        assert (await scene.ask((7, 0))).npus == (0,)
        await scene.settled()

        assert scene.lock == of("heir"), "the lock is another pod's"
        (line,) = [each for each in caplog.records if each.message == "allocated"]
        assert vars(line)["kept_lock"] == of("heir")
        assert phase_of(scene, heir) == "allocating"


async def test_the_second_container_gets_its_own_though_another_pod_was_bound(
    tmp_path: Path,
) -> None:
    """HAMi A1: it took the devices of the pod that had the lock by then."""
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        first = await scene.ask((7, 0))
        scene.set_lock(of("b"))
        scene.add(one("b", 2, bound_at=2))
        await scene.seen()
        second, third = await scene.ask((7, 0)), await scene.ask((7, 0))

        assert [grant.npus for grant in (first, second, third)] == [(0,), (1,), (2,)]


async def test_a_pod_that_was_served_is_remembered_for_a_minute(tmp_path: Path) -> None:
    """Then its second container has had its chance, and the lock says more."""
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        await scene.ask((7, 0))
        scene.set_lock(of("b"))
        scene.add(one("b", 2, bound_at=2))
        await scene.seen()
        await asyncio.sleep(61)

        assert (await scene.ask((7, 0))).npus == (2,)


async def test_a_pod_that_pulls_its_image_is_left_alone(tmp_path: Path) -> None:
    """HAMi A5."""
    async with hami_scene(tmp_path, one("slow", 0), lock=of("slow")) as scene:
        await scene.ask((7, 0))
        await scene.settled()
        for lock, name, npu in ((of("next"), "next", 1), (None, "third", 2)):
            scene.set_lock(lock)
            scene.add(one(name, npu, bound_at=npu + 5))
            await scene.seen()
            assert (await scene.ask((7, 0))).npus == (npu,)

        await scene.settled()
        assert scene.annotations(one("slow", 0))[LEFT] == ";"
        assert phase_of(scene, one("slow", 0)) == "success"


@pytest.mark.parametrize("muted", [False, True], ids=["watched", "watched late"])
async def test_a_pod_that_failed_takes_nothing_from_the_next_one(
    muted: bool,  # noqa: FBT001 -- both ways
    tmp_path: Path,
) -> None:
    """The kubelet goes on with the next pod before anybody is told that this one has failed."""
    far = pod("far", f"{device(99, 16384)};", bound_at=1)
    async with hami_scene(tmp_path, far, one("next", 2, bound_at=2)) as scene:
        if muted:
            scene.server.mute()
        with pytest.raises(AllocationError, match="does not offer"):
            await scene.ask((7, 0))

        assert (await scene.ask((7, 0))).npus == (2,)


async def test_a_pod_whose_second_container_failed_takes_nothing_from_the_next_one(
    tmp_path: Path,
) -> None:
    """It was served last, and yet the kubelet does not come back to it."""
    slots = f"{device(0, 16384)};{device(99, 16384)};"
    half = pod("half", slots, bound_at=1, containers=[container("a"), container("b")])
    async with hami_scene(tmp_path, half, one("next", 2, bound_at=2)) as scene:
        assert (await scene.ask((7, 0))).npus == (0,)
        with pytest.raises(AllocationError, match="does not offer"):
            await scene.ask((7, 0))

        assert (await scene.ask((7, 0))).npus == (2,)
        await scene.settled()
        assert phase_of(scene, half) == "failed"


# --- an API server in trouble --------------------------------------------------------------


def fails(method: str, path: str, *codes: int) -> Trouble:
    """Return a trouble that answers the next requests to that path with these codes."""
    left = list(codes)

    async def trouble(request: web.Request) -> web.StreamResponse | None:
        if left and request.method == method and request.path.endswith(path):
            code = left.pop(0)
            status = {"kind": "Status", "code": code, "reason": "Test", "message": "trouble"}
            return web.json_response(status, status=code)
        return None

    return trouble


@pytest.mark.parametrize("code", [409, 500, 503, 429])
async def test_a_patch_that_fails_is_tried_again(code: int, tmp_path: Path) -> None:
    async with hami_scene(tmp_path, one("p1", 0), lock=of("p1")) as scene:
        scene.server.troubles.append(fails("PATCH", "/pods/p1", *([code] * 2)))

        assert (await scene.ask((7, 0))).npus == (0,)
        assert phase_of(scene, one("p1", 0)) == "success"


async def test_no_answer_leaves_before_the_patch_is_acknowledged(tmp_path: Path) -> None:
    """The slot would be given twice otherwise. The pod is failed, as soon as that can be said."""
    async with hami_scene(tmp_path, one("p1", 0), lock=of("p1"), timeout_s=2) as scene:
        scene.server.troubles.append(fails("PATCH", "/pods/p1", *([500] * 4)))

        assert "no answer within 2 s" in await refused(scene, (7, 0))
        await asyncio.sleep(30)
        assert phase_of(scene, one("p1", 0)) == "failed"
        assert scene.lock is None


async def test_an_api_server_that_can_not_be_read_fails_nobody(tmp_path: Path) -> None:
    """Not known is not nobody: the owner of the lock may fit all the same."""
    pair = pod("pair", f"{device(4, 65536)}{device(5, 65536)};")
    async with hami_scene(tmp_path, pair, lock=of("pair")) as scene:
        scene.server.troubles.append(fails("GET", "/api/v1/pods", *([500] * 50)))

        assert "could not be asked" in await refused(scene, (7, 0))
        assert phase_of(scene, pair) == "allocating"
        assert scene.lock == of("pair")


async def test_a_namesake_is_another_pod(tmp_path: Path) -> None:
    """Deleted and made anew between the watch and the patch: nothing of it is taken."""
    async with hami_scene(tmp_path, one("p1", 0), lock=of("p1")) as scene:
        scene.server.mute()
        scene.server.store.delete(("pods", "default", "p1"))
        scene.add(one("p1", 5))

        await refused(scene, (7, 0))

        assert scene.annotations(one("p1", 5))[LEFT] == f"{device(5, 16384)};"


# --- every way out -------------------------------------------------------------------------


async def test_a_call_that_is_cancelled_fails_its_pod(tmp_path: Path) -> None:
    """A kubelet that hangs up, an agent that ends: the lock must not stay for five minutes."""
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=state(soft=True)) as scene:
        scene.server.troubles.append(fails("PATCH", "/pods/p1", *([500] * 2)))
        asking = asyncio.get_running_loop().create_task(scene.ask((7, 0)))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.wait({asking})
        await asyncio.sleep(10)

        assert asking.cancelled()
        assert [what for what, _ in scene.directories.done] == ["make", "remove"]
        assert (phase_of(scene, soft), scene.lock) == ("failed", None)


async def test_several_containers_in_one_call_are_one_patch(tmp_path: Path) -> None:
    """Kubelets ask for one at a time, but need not (AL-5)."""
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        grants = await scene.allocate.allocate([asks((7, 0)), asks((7, 1))])
        await scene.settled()

        assert [grant.npus for grant in grants] == [(0,), (1,)]
        assert scene.annotations(two("a", 0, 1))[LEFT] == ";;"
        assert len([path for path, _ in scene.patches if "/pods/" in path]) == 1
        assert scene.lock is None


async def test_of_several_containers_in_one_call_all_are_served_or_none(tmp_path: Path) -> None:
    far = pod(
        "a",
        f"{device(0, 16384)};{device(99, 16384)};",
        containers=[container("a"), container("b")],
    )
    async with hami_scene(tmp_path, far, lock=of("a")) as scene:
        with pytest.raises(AllocationError):
            await scene.allocate.allocate([asks((7, 0)), asks((7, 1))])
        await scene.settled()

        assert scene.annotations(far)[LEFT] == far.annotations[LEFT]
        assert (phase_of(scene, far), scene.lock) == ("failed", None)


async def test_whose_call_it_was_is_told_with_what_its_owner_should_know(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1")) as scene:
        await scene.ask((7, 0))

        (served,) = scene.served.drain()
        assert served.pod is not None
        assert served.pod.key == soft.key
        assert "not in soft mode" in served.remarks[0]
        (line,) = [each for each in caplog.records if each.message == "allocated"]
        assert vars(line)["remarks"] == list(served.remarks)


async def test_an_id_that_exists_may_be_started_and_no_other(tmp_path: Path) -> None:
    """The kubelet's ids name arbitrary NPUs, so their health says nothing (KL-10)."""
    async with hami_scene(tmp_path) as scene:
        await scene.allocate.check(asks((0, 0), (7, 3)).devices)

        with pytest.raises(AllocationError, match="not offered"):
            await scene.allocate.check(asks((0, 4)).devices)
