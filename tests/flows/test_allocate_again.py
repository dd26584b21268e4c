"""A kubelet that dies within an answer's milliseconds asks again, and nobody else pays for that."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from ascend_agent.errors import AllocationError, KubeletAbsentError, KubeletGoneError
from ascend_agent.model.allocation import ContainerGrant
from ascend_agent.model.hami import HamiRules
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.pods import ContainerKind, Pod
from ascend_agent.sim.cluster import Json
from tests.fakes.hami import container, device, pod, state
from tests.fakes.hami_scene import LEFT, HamiScene, hami_scene, of, one, phase_of, repairing, two
from tests.fakes.kubelet_list import FakeKubeletList
from tests.fakes.running import running


@pytest.fixture(params=[True, False], ids=["up to 1.33", "since 1.34"])
def kubelet(request: pytest.FixtureRequest) -> FakeKubeletList:
    return FakeKubeletList(keeps_failed=request.param)


GONE = KubeletGoneError("nobody answers on pods.sock")


async def ask(
    scene: HamiScene, kubelet: FakeKubeletList, whose: Pod, name: str = "main"
) -> ContainerGrant:
    """Ask as a kubelet that takes the pod up and writes the answer down."""
    grant = await lose(scene, kubelet, whose)
    kubelet.write_down(whose.key, name)
    return grant


async def lose(scene: HamiScene, kubelet: FakeKubeletList, whose: Pod) -> ContainerGrant:
    """Ask as one that dies before it has written the answer down."""
    kubelet.take_up(whose.key)
    return await scene.ask((7, 0))


async def refused(scene: HamiScene, kubelet: FakeKubeletList, whose: Pod) -> str:
    kubelet.take_up(whose.key)
    with pytest.raises(AllocationError) as caught:
        await scene.ask((7, 0))
    kubelet.fail(whose.key)
    await scene.settled()
    return str(caught.value)


async def bind(scene: HamiScene, waiting: Pod, *, locked: bool) -> Pod:
    """Bind another pod, as soon as the lock of the one before is given back."""
    await scene.settled()
    if locked:
        assert scene.lock is None
        scene.set_lock(of(waiting.key.name))
    scene.add(waiting)
    await scene.seen()
    return waiting


async def forget(scene: HamiScene, kubelet: FakeKubeletList, whose: Pod) -> Pod:
    """Have the kubelet die as it is answered for that pod; return one that was bound meanwhile."""
    await lose(scene, kubelet, whose)
    other = await bind(scene, one("other", 2, bound_at=2), locked=True)
    kubelet.begin_anew()
    return other


def npus(grants: Sequence[ContainerGrant]) -> list[tuple[int, ...]]:
    return [grant.npus for grant in grants]


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "no lock"])
async def test_a_pod_is_served_again_and_the_next_one_gets_its_own(
    kubelet: FakeKubeletList,
    locked: bool,  # noqa: FBT001 -- both ways
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    first = one("first", 0)
    lock = of("first") if locked else None
    async with hami_scene(tmp_path, first, lock=lock, kubelet=kubelet) as scene:
        before = await lose(scene, kubelet, first)
        other = await bind(scene, one("other", 2, bound_at=2), locked=locked)
        kubelet.begin_anew()
        scene.since_now()

        again = await ask(scene, kubelet, first)
        await scene.settled()
        assert scene.patches == []
        assert again == before
        (line,) = [each for each in caplog.records if getattr(each, "again", False)]
        assert getattr(line, "pod", "") == "default/first"
        assert (await ask(scene, kubelet, other)).npus == (2,)
        await scene.settled()
        assert scene.lock is None
        assert phase_of(scene, first) == phase_of(scene, other) == "success"


async def test_whoever_the_kubelet_takes_up_first_is_served_first(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """It takes pods up by age, while they are bound in any order."""
    first, other = one("first", 0), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, first, kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        await bind(scene, other, locked=False)
        kubelet.begin_anew()

        assert (await ask(scene, kubelet, other)).npus == (2,)
        assert (await ask(scene, kubelet, first)).npus == (0,)


@pytest.mark.parametrize("written", [0, 1, 2, 3])
async def test_each_container_that_was_not_written_down_is_answered_again(
    written: int, kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """The kubelet goes through a pod from its first container on, and passes over what it has."""
    names = ["c0", "c1", "c2"]
    whole = two("whole", 0, 1, 2)
    async with hami_scene(tmp_path, whole, lock=of("whole"), kubelet=kubelet) as scene:
        for name in names[:written]:
            await ask(scene, kubelet, whole, name)
        if written < len(names):
            await lose(scene, kubelet, whole)
        kubelet.begin_anew()

        for number, name in list(enumerate(names))[written:]:
            assert (await ask(scene, kubelet, whole, name)).npus == (number,)
            await scene.settled()
            assert scene.lock == (of("whole") if number < 2 and written < 2 else None)
        await refused(scene, kubelet, one("nobody", 7))
        assert scene.annotations(whole)[LEFT] == ";;;"
        assert (phase_of(scene, whole), scene.lock) == ("success", None)


async def test_a_request_that_is_another_pods_is_not_blamed_on_the_owner_of_the_lock(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """It wants another number of devices, and nobody has asked for it yet."""
    first = pod("first", ";", allocated=f"{device(0, 16384)};", annotations=_failed())
    other = pod("other", f"{device(2, 16384)}{device(3, 16384)};")
    async with hami_scene(tmp_path, first, other, lock=of("other"), kubelet=kubelet) as scene:
        await refused(scene, kubelet, first)

        assert (phase_of(scene, other), scene.lock) == ("allocating", of("other"))


async def test_what_an_older_plugin_wrote_is_left_as_it_is(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """It drops empty slots, so that places differ, and its lock may still be there."""
    slots = [f"{device(number, 16384)};" for number in range(2)]
    both = [container("a"), container("b")]
    half = pod("half", slots[1], allocated="".join(slots), containers=both)
    async with hami_scene(tmp_path, half, lock=of("half"), kubelet=kubelet) as scene:
        assert (await ask(scene, kubelet, half, "a")).npus == (0,)
        await scene.settled()
        assert scene.annotations(half)[LEFT] == slots[1]
        assert scene.lock == of("half")
        assert (await ask(scene, kubelet, half, "b")).npus == (1,)


async def test_a_lock_that_a_killed_agent_left_goes_with_the_last_container(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    done = {"hami.io/bind-phase": "success"}
    first = pod("first", ";", allocated=f"{device(0, 16384)};", annotations=done)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        assert (await ask(scene, kubelet, first)).npus == (0,)
        await scene.settled()
        assert scene.lock is None


async def test_a_kubelet_that_lost_all_it_wrote_is_answered_all_again(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """Its checkpoint was removed, as with a node's directory of device plugins."""
    names = ["c0", "c1", "c2"]
    whole = two("whole", 0, 1, 2)
    async with hami_scene(tmp_path, whole, lock=of("whole"), kubelet=kubelet) as scene:
        for name in names:
            await ask(scene, kubelet, whole, name)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        kubelet.begin_anew()
        kubelet.forget(whole.key)

        grants = [await ask(scene, kubelet, whole, name) for name in names]
        assert npus(grants) == [(0,), (1,), (2,)]
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_a_pod_that_failed_with_its_call_is_refused_again_and_nobody_else_served(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """The call was cancelled with the kubelet's connection; the pod has failed by its phase."""
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        scene.server.store.change(
            ("pods", "default", "first"), {"metadata": {"annotations": _failed()}}
        )
        scene.set_lock(None)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        kubelet.begin_anew()

        why = await refused(scene, kubelet, first)
        assert "it was told already, before pods that wait: default/other (1)" in why
        assert scene.lock == of("other")
        assert phase_of(scene, other) == "allocating"
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_a_pod_that_was_deleted_meanwhile_is_refused_and_nobody_else_served(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """HAMi A8: the kubelet asks for it all the same."""
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        going = {"metadata": {"deletionTimestamp": "2026-11-29T10:00:30Z"}}
        scene.server.store.change(("pods", "default", "first"), going)
        await scene.seen()
        kubelet.begin_anew()

        await refused(scene, kubelet, first)
        assert phase_of(scene, other) == "allocating"
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_another_agent_serves_again_as_well(kubelet: FakeKubeletList, tmp_path: Path) -> None:
    """Nothing of it is remembered: kubelet and agent may end together."""
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        other = await forget(scene, kubelet, first)
        scene.allocate = scene.renewed()

        assert (await ask(scene, kubelet, first)).npus == (0,)
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_an_agent_that_ended_before_it_answered_leaves_its_pod_to_the_kubelet(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """That kubelet is the same and has failed the pod, of which the API server may hear late."""
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        kubelet.fail(first.key)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        scene.allocate = scene.renewed()

        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_pods_that_the_kubelet_has_are_looked_at_once(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """They may pull their images for an hour."""
    first, second = one("first", 0), one("second", 1, bound_at=2)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        await ask(scene, kubelet, first)
        await bind(scene, second, locked=True)
        assert kubelet.reads == 0
        kubelet.begin_anew()
        kubelet.take_up(first.key)

        assert (await ask(scene, kubelet, second)).npus == (1,)
        third = await bind(scene, one("third", 2, bound_at=3), locked=True)
        assert (await ask(scene, kubelet, third)).npus == (2,)
        assert kubelet.reads == 1


async def test_a_pod_that_failed_for_this_kubelet_is_in_no_doubt(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    far = one("far", 99)
    async with hami_scene(tmp_path, far, lock=of("far"), kubelet=kubelet) as scene:
        assert "does not offer" in await refused(scene, kubelet, far)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        assert (await ask(scene, kubelet, other)).npus == (2,)
        assert kubelet.reads == 0


@pytest.mark.parametrize("ago_s", [297, 301])
async def test_who_vanished_with_the_lock_may_be_asked_for_still(
    ago_s: int, kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """AL-1: a pod that is deleted at once leaves nothing but the request of a kubelet that hung.

    Without the kubelet's list the next pod's devices were given for it, and that pod failed.
    """
    gone = one("gone", 0)
    async with hami_scene(tmp_path, gone, lock=of("gone"), kubelet=kubelet) as scene:
        repair = repairing(scene)
        scene.bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
        async with running(repair.run):
            scene.server.store.delete(("pods", "default", "gone"))
            other = await bind(scene, one("other", 2, bound_at=2), locked=True)
            await asyncio.sleep(ago_s)
            if ago_s < 300:
                await refused(scene, kubelet, gone)

            assert (await ask(scene, kubelet, other)).npus == (2,)
            assert (kubelet.reads > 0) is (ago_s < 300)


async def test_nobody_is_served_while_the_kubelet_does_not_tell(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        other = await forget(scene, kubelet, first)
        kubelet.trouble = GONE

        why = await refused(scene, kubelet, first)
        assert "may ask again for default/first" in why
        assert "nobody answers on pods.sock" in why
        assert (phase_of(scene, other), scene.lock) == ("allocating", of("other"))
        kubelet.trouble = None
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_where_the_list_is_not_even_mounted_it_is_as_without_one(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """In the manifest of another plugin; one pod that pulls its image must not stop all others."""
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        await ask(scene, kubelet, first)
        other = await bind(scene, one("other", 2, bound_at=2), locked=True)
        scene.allocate = scene.renewed()
        kubelet.trouble = KubeletAbsentError("nobody answers on pods.sock")

        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_where_nobody_was_answered_the_list_is_not_needed(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    first = one("first", 0)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        kubelet.trouble = GONE
        kubelet.begin_anew()

        assert (await ask(scene, kubelet, first)).npus == (0,)


async def test_an_init_container_of_which_the_kubelet_tells_nothing_is_not_guessed_at(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """It lists no init containers, so whether it asks for the first or the second is not known.

    With the second one's devices for the first, two containers would share them.
    """
    containers = [container("i", kind=ContainerKind.INIT), container("main")]
    slots = f"{device(0, 16384)};{device(1, 16384)};"
    first = pod("first", slots, containers=containers)
    async with hami_scene(tmp_path, first, lock=of("first"), kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        kubelet.begin_anew()

        await refused(scene, kubelet, first)
        assert scene.annotations(first)[LEFT] == f";{device(1, 16384)};"
        failed: Json = {"status": {"phase": "Failed"}}
        scene.server.store.change_part(("pods", "default", "first"), "status", failed)
        scene.set_lock(of("other"))
        scene.add(other := one("other", 2, bound_at=2))
        await scene.seen()
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_without_a_lock_the_list_tells_pods_of_one_size_apart(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """AL-1, as with Volcano: the kubelet need not take them up in the order they were bound."""
    first, other = one("first", 0), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, first, other, kubelet=kubelet) as scene:
        assert (await ask(scene, kubelet, other)).npus == (2,)
        assert (await ask(scene, kubelet, first)).npus == (0,)


async def test_without_a_lock_and_a_list_the_order_of_binding_tells(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    first, other = one("first", 0), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, first, other, kubelet=kubelet) as scene:
        kubelet.trouble = GONE

        assert (await ask(scene, kubelet, first)).npus == (0,)
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_the_next_container_of_the_pod_served_last_needs_no_list(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """The kubelet goes through one pod before it begins with another."""
    both, other = two("both", 0, 1), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, both, other, kubelet=kubelet) as scene:
        await ask(scene, kubelet, both, "c0")
        reads, requests = kubelet.reads, len(scene.requests)

        assert (await ask(scene, kubelet, both, "c1")).npus == (1,)
        assert kubelet.reads == reads
        assert len([each for each in scene.requests[requests:] if each.startswith("GET")]) == 0


async def test_after_a_lock_was_taken_over_the_list_tells_who_is_meant(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """AL-3: HAMi takes a lock over after five minutes, though its pod still waits."""
    first, other = one("first", 0), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, first, other, lock=of("other"), kubelet=kubelet) as scene:
        assert (await ask(scene, kubelet, first)).npus == (0,)
        await scene.settled()
        assert scene.lock == of("other")
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_a_pod_that_is_gone_and_still_shown_takes_nobodys_place(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    gone, other = one("gone", 0), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, gone, other, lock=of("gone"), kubelet=kubelet) as scene:
        scene.server.mute()
        scene.server.store.delete(("pods", "default", "gone"))
        scene.set_lock(of("other"))

        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_without_a_lock_the_list_tells_a_pod_that_is_being_deleted_apart(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """The one bound after it does not pay for it, whichever the kubelet asks for first."""
    going, other = one("going", 0, bound_at=1), one("other", 2, bound_at=2)
    async with hami_scene(tmp_path, going, other, kubelet=kubelet) as scene:
        item = {"metadata": {"deletionTimestamp": "2026-11-29T10:00:30Z"}}
        scene.server.store.change(("pods", "default", "going"), item)
        await scene.seen()

        assert (await ask(scene, kubelet, other)).npus == (2,)
        assert "default/going, which is being deleted" in await refused(scene, kubelet, going)


async def test_a_request_that_may_be_a_deleted_pods_is_not_answered_as_asked_again(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """Only a pod that nobody else can stand for is served twice."""
    first, going = one("first", 0), one("going", 1, bound_at=2)
    async with hami_scene(tmp_path, first, kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        await bind(scene, going, locked=False)
        item = {"metadata": {"deletionTimestamp": "2026-11-29T10:00:30Z"}}
        scene.server.store.change(("pods", "default", "going"), item)
        await scene.seen()
        kubelet.begin_anew()
        kubelet.take_up(first.key)

        assert "default/going, which is being deleted" in await refused(scene, kubelet, going)
        assert (await ask(scene, kubelet, first)).npus == (0,)


async def test_a_strict_lock_lets_nobody_be_served_again_either(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    """Annotations can be forged: while another has the lock nobody else is served."""
    first = one("first", 0)
    strict = state(rules=HamiRules(strict_lock=True))
    async with hami_scene(tmp_path, first, lock=of("first"), hami=strict, kubelet=kubelet) as scene:
        other = await forget(scene, kubelet, first)

        await refused(scene, kubelet, first)
        assert phase_of(scene, other) == "allocating"
        assert (await ask(scene, kubelet, other)).npus == (2,)


async def test_a_strict_lock_that_nobody_has_lets_a_pod_be_served_again(
    kubelet: FakeKubeletList, tmp_path: Path
) -> None:
    first = one("first", 0)
    strict = state(rules=HamiRules(strict_lock=True))
    async with hami_scene(tmp_path, first, lock=of("first"), hami=strict, kubelet=kubelet) as scene:
        await lose(scene, kubelet, first)
        await scene.settled()
        kubelet.begin_anew()

        assert scene.lock is None
        assert (await ask(scene, kubelet, first)).npus == (0,)


def _failed() -> dict[str, str]:
    return {"hami.io/bind-phase": "failed"}
