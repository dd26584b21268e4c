"""What the watches don't show is read live, so often and no longer; what was said counts on."""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ascend_agent.bus import Bus
from ascend_agent.chips import ascend910b
from ascend_agent.dialects import load_dialect
from ascend_agent.flows.decide import Decide, Decided
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.flows.heard_pods import HeardPods
from ascend_agent.model.allocation import Refused
from ascend_agent.model.cluster import NodeObject, PodEdit
from ascend_agent.model.ids import ObjectVersion, PodUid, ResourceName
from ascend_agent.model.pods import Pod, PodKey, PodPhase, Pods
from ascend_agent.runtime.clock import Clock
from ascend_agent.slicing.by_die import MODE
from tests.fakes.hami import NODE, asks, node_view, state
from tests.fakes.hami_scene import (
    LEFT,
    HamiScene,
    hami_scene,
    of,
    one,
    phase_of,
    refused,
    two,
)
from tests.fakes.kubelet_list import FakeKubeletList


async def test_a_pod_that_the_watch_shows_late_is_found_by_a_live_read(tmp_path: Path) -> None:
    """The cache lags two seconds behind the kubelet."""
    async with hami_scene(tmp_path) as scene:
        scene.server.mute()
        scene.set_lock(of("p1"))
        scene.add(one("p1", 3))

        assert (await scene.ask((7, 0))).npus == (3,)
        assert (
            sorted(scene.requests)
            == [
                "GET /api/v1/namespaces/default/pods/p1",
                "GET /api/v1/nodes",
                "GET /api/v1/pods",
                "PATCH /api/v1/namespaces/default/pods/p1",
            ]
            or "GET /api/v1/namespaces/default/pods/p1" not in scene.requests
        )


async def test_a_pod_that_is_annotated_while_its_request_waits_is_served(tmp_path: Path) -> None:
    waits = one("p1", 3)
    notes = {**waits.annotations, "hami.io/bind-phase": "failed"}
    async with hami_scene(tmp_path, dataclasses.replace(waits, annotations=notes)) as scene:
        asking = asyncio.get_running_loop().create_task(scene.ask((7, 0)))
        await asyncio.sleep(1.7)
        item = {"metadata": {"annotations": dict(waits.annotations)}}
        scene.server.store.change(("pods", "default", "p1"), item)
        came = asyncio.get_running_loop().time()

        assert (await asking).npus == (3,)
        assert asyncio.get_running_loop().time() - came < 0.5, "news bring the next look at once"


async def test_a_pod_that_is_bound_while_a_request_waits_has_its_own_to_come(
    tmp_path: Path,
) -> None:
    """AL-1: a pod was deleted at once, and the kubelet asks for it all the same."""
    async with hami_scene(tmp_path) as scene:
        asking = asyncio.get_running_loop().create_task(refused(scene, (7, 0)))
        await asyncio.sleep(0.5)
        scene.set_lock(of("p1"))
        scene.add(one("p1", 3))

        await asking
        assert (phase_of(scene, one("p1", 3)), scene.lock) == ("allocating", of("p1"))
        assert (await scene.ask((7, 0))).npus == (3,)


async def test_the_owner_of_the_lock_that_came_after_the_request_is_not_failed_for_it(
    tmp_path: Path,
) -> None:
    """A pod was deleted as it was asked for, and came again: its own request is to come."""
    heir = two("heir", 3, 4)
    async with hami_scene(tmp_path, lock=of("gone")) as scene:
        asking = asyncio.get_running_loop().create_task(refused(scene, (7, 0), (6, 0)))
        await asyncio.sleep(0.5)
        scene.set_lock(of("heir"))
        scene.add(heir)

        await asking
        assert (phase_of(scene, heir), scene.lock) == ("allocating", of("heir"))
        assert [(await scene.ask((7, 0))).npus for _ in range(2)] == [(3,), (4,)]


async def test_who_waits_for_a_pod_that_never_comes_is_told_within_three_seconds(
    tmp_path: Path,
) -> None:
    """AL-8: what is missing, and what to check. Nothing is patched for it."""
    async with hami_scene(tmp_path, lock=of("gone")) as scene:
        started = asyncio.get_running_loop().time()
        text = await refused(scene, (7, 0))

        assert asyncio.get_running_loop().time() - started < 5
        assert "schedulerName" in text
        assert "gone" in text
        assert scene.patches == []
        assert len([each for each in scene.requests if each == "GET /api/v1/pods"]) <= 5


@pytest.mark.parametrize("name", ["..", "p1/binding", "P 1"])
async def test_a_lock_of_a_pod_that_can_not_be_keeps_nobody_waiting(
    name: str, tmp_path: Path
) -> None:
    """To ask for it would be to ask for something else than a pod, and prove nothing."""
    async with hami_scene(tmp_path, one("p1", 3), lock=of(name)) as scene:
        assert (await scene.ask((7, 0))).npus == (3,)
        await scene.settled()

        assert scene.lock == of(name)
        assert not [each for each in scene.requests if each.startswith("GET") and name in each]


async def test_a_slot_that_was_taken_is_not_given_again_by_a_late_watch(tmp_path: Path) -> None:
    """What was acknowledged counts, whatever the watch still shows."""
    async with hami_scene(tmp_path, two("a", 0, 1), lock=of("a")) as scene:
        scene.server.mute()

        assert [(await scene.ask((7, 0))).npus for _ in range(2)] == [(0,), (1,)]


async def test_the_third_slot_is_the_third_containers_though_the_watch_came_in_between(
    tmp_path: Path,
) -> None:
    """It got the second one's: the first patch was laid over a pod that showed both."""
    async with hami_scene(tmp_path, two("a", 0, 1, 2), lock=of("a")) as scene:
        first, second = await scene.ask((7, 0)), await scene.ask((7, 0))
        await scene.seen()
        third = await scene.ask((7, 0))

        assert [grant.npus for grant in (first, second, third)] == [(0,), (1,), (2,)]


async def test_another_agent_goes_on_where_one_ended_between_two_containers(
    tmp_path: Path,
) -> None:
    """What was given is in the annotation alone."""
    both = two("a", 0, 1)
    async with hami_scene(tmp_path, both, lock=of("a")) as scene:
        await scene.ask((7, 0))
        left = scene.annotations(both)
    again = dataclasses.replace(both, annotations=left)
    async with hami_scene(tmp_path, again, lock=of("a")) as scene:
        grant = await scene.ask((7, 0))
        await scene.settled()

        assert (grant.npus, scene.lock) == ((1,), None)


async def test_a_pod_that_has_failed_is_served_no_more(tmp_path: Path) -> None:
    """A kubelet may still ask for it."""
    failed = dataclasses.replace(one("p1", 0), phase=PodPhase.FAILED)
    async with hami_scene(tmp_path, lock=of("p1")) as scene:
        scene.add(failed)
        await scene.seen()

        assert "nobody knows" in await refused(scene, (7, 0))
        assert phase_of(scene, failed) == "allocating"


def delete(scene: HamiScene, name: str) -> None:
    """Have that pod be deleted, with time to end."""
    going = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    scene.server.store.change(("pods", "default", name), going)


async def test_a_pod_that_is_being_deleted_is_not_served_and_gives_its_lock_back(
    tmp_path: Path,
) -> None:
    """HAMi A8; a kubelet that hears of it only then asks for it all the same."""
    deleted, after = one("deleted", 0, bound_at=1), one("after", 1, bound_at=2)
    async with hami_scene(tmp_path, lock=of("deleted")) as scene:
        scene.add(deleted)
        delete(scene, "deleted")
        await scene.seen()

        assert "pod default/deleted, which is being deleted" in await refused(scene, (7, 0))
        assert (phase_of(scene, deleted), scene.lock) == ("failed", None)
        scene.set_lock(of("after"))
        scene.add(after)
        await scene.seen()
        assert (await scene.ask((7, 0))).npus == (1,)


@pytest.mark.parametrize("lock", [None, of("after")], ids=["no lock", "taken over"])
async def test_a_request_of_a_pod_that_is_being_deleted_takes_nothing_of_the_next_one(
    lock: str | None, tmp_path: Path
) -> None:
    """AL-1: by the order in which they were bound; the lock of the first may have expired."""
    deleted, after = one("deleted", 0, bound_at=1), one("after", 1, bound_at=2)
    async with hami_scene(tmp_path, lock=lock) as scene:
        scene.add(deleted)
        delete(scene, "deleted")
        scene.add(after)
        await scene.seen()

        assert "pod default/deleted, which is being deleted" in await refused(scene, (7, 0))
        assert scene.lock == lock
        assert (await scene.ask((7, 0))).npus == (1,)
        await scene.settled()
        assert scene.lock is None
        assert phase_of(scene, deleted) == "allocating", "nothing is written to it"


async def test_a_pod_that_was_refused_while_it_was_being_deleted_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    """Of the next request it is known then whose it is, before the watches show the first's end."""
    deleted, after = one("deleted", 0, bound_at=1), one("after", 1, bound_at=2)
    async with hami_scene(tmp_path) as scene:
        scene.add(deleted)
        delete(scene, "deleted")
        await scene.seen()

        assert "pod default/deleted, which is being deleted" in await refused(scene, (7, 0))
        scene.add(after)
        await scene.seen()
        assert (await scene.ask((7, 0))).npus == (1,)


async def test_a_pod_waits_for_the_host_that_is_just_being_prepared(tmp_path: Path) -> None:
    """A pod that the kubelet was refused is never tried again."""
    ready = state(soft=True)
    beginning = dataclasses.replace(ready, soft=False, soft_pending=True)
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=beginning) as scene:
        asking = asyncio.get_running_loop().create_task(scene.ask((7, 0)))
        await asyncio.sleep(1.3)
        assert not asking.done()
        scene.hami.put(ready)
        started = asyncio.get_running_loop().time()

        assert "NPU_MEM_QUOTA" in (await asking).envs
        assert asyncio.get_running_loop().time() - started < 0.5


async def test_a_pod_that_waits_for_the_host_in_vain_is_failed(tmp_path: Path) -> None:
    beginning = dataclasses.replace(state(soft=True), soft=False, soft_pending=True)
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=beginning) as scene:
        assert "soft slices can't be had" in await refused(scene, (7, 0))
        assert (phase_of(scene, soft), scene.lock) == ("failed", None)


class LateReader:
    """An API server whose first answer comes late; ``pods`` are those of the node."""

    def __init__(self, *pods: Pod, after_s: float) -> None:
        self._pods = pods
        self._after_s = after_s

    async def read_node(self) -> NodeObject:
        return NodeObject(
            name=NODE,
            uid="u",
            version=ObjectVersion("1"),
            labels={},
            annotations={},
            live=True,
        )

    async def read_pods(self) -> tuple[Pod, ...]:
        await asyncio.sleep(self._after_s)
        return self._pods

    async def read_pod(self, key: PodKey) -> Pod | None:
        return next((each for each in self._pods if each.key == key), None)


def decide(
    reader: LateReader,
    *,
    known: bool,
    shown: tuple[Pod, ...] = (),
    kubelet: FakeKubeletList | None = None,
    bus: Bus | None = None,
) -> Decide:
    """Return one of an agent to which the watches have *shown* pods, or nothing at all yet."""
    bus = bus or Bus([])
    bus.hami.claim("test").put(state())
    bus.node.claim("test").put(node_view())
    if known:
        bus.pods.claim("test").put(Pods(pods=shown, live=True))
    offers = HamiOffers(
        word="Ascend910B3",
        resource=ResourceName("huawei.com/Ascend910B3"),
        dialect=load_dialect("hami"),
        mode=MODE,
        node_name=NODE,
        bus=bus,
        specs=lambda _: ascend910b.SPEC,
    )
    heard = None if kubelet is None else HeardPods(pod_resources=kubelet, bus=bus)
    return Decide(offers=offers, bus=bus, clock=Clock(), reader=reader, heard=heard)


async def test_an_agent_that_has_just_started_waits_longer_for_its_first_look() -> None:
    """A kubelet refuses for good, and asks as soon as the agent has registered."""
    reader = LateReader(one("p1", 3), after_s=5)

    found = await decide(reader, known=False).decide(asks((7, 0)))
    late = await decide(reader, known=True).decide(asks((7, 0)))

    assert isinstance(found, Decided)
    assert found.assignment.npus == (3,)
    assert isinstance(late, Refused)
    assert "no answer within 3 s" in late.detail


async def test_pods_that_are_gone_are_kept_no_account_of() -> None:
    bus, first = Bus([]), one("p1", 3)
    pods = bus.pods.claim("test of pods")
    pods.put(Pods(pods=(first,), live=True))
    kubelet = FakeKubeletList(keeps_failed=False)
    deciding = decide(LateReader(after_s=0), known=False, kubelet=kubelet, bus=bus)
    told: list[frozenset[PodUid] | None] = []
    for shown in ((first,), (), (first,)):
        if not told:
            deciding.remember(first.ref, [])
        pods.put(Pods(pods=shown, live=True))
        facts = deciding.world().facts
        told.append(facts.heard if facts else None)

    assert told == [{first.uid}, frozenset(), frozenset()]


class Watched(Mapping[str, str]):
    """Annotations that add the name of their pod to *copied* whenever somebody goes through all."""

    def __init__(self, pod: Pod, copied: list[str]) -> None:
        self._pod = pod
        self._copied = copied

    def __getitem__(self, key: str) -> str:
        return self._pod.annotations[key]

    def __len__(self) -> int:
        return len(self._pod.annotations)

    def __iter__(self) -> Iterator[str]:
        self._copied.append(self._pod.key.name)
        return iter(self._pod.annotations)


async def test_what_was_said_of_one_pod_has_no_other_copied() -> None:
    """Each of 500 pods was compared with each edit of the last minute: 4 ms an Allocate."""
    copied: list[str] = []
    pods = [two(f"p{number}", 1, 2) for number in range(50)]
    shown = tuple(
        dataclasses.replace(each, annotations=Watched(each, copied), uid=PodUid(f"uid-{number}"))
        for number, each in enumerate(pods)
    )
    deciding = decide(LateReader(after_s=0), known=True, shown=shown)
    edit = PodEdit(pod=shown[7].key, uid=shown[7].uid, labels={}, annotations={LEFT: ";;"})
    gone = dataclasses.replace(edit, uid=PodUid("gone"))
    deciding.remember(shown[7].ref, [edit, gone])

    facts = deciding.world().facts

    assert facts is not None
    assert [pod.annotations[LEFT] == ";;" for pod in facts.pods].index(True) == 7
    assert set(copied) == {"p7"}


async def test_a_pod_that_failed_before_any_watch_showed_it_is_not_chosen_again() -> None:
    """The next request comes right behind, and its live read shows the pod as it was."""
    far, near = one("far", 99, bound_at=1), one("near", 1, bound_at=2)
    deciding = decide(LateReader(far, near, after_s=0), known=True)

    first = await deciding.decide(asks((7, 0)))
    assert isinstance(first, Refused)
    deciding.remember_failed([edit for edit in first.failure if isinstance(edit, PodEdit)])
    second = await deciding.decide(asks((7, 1)))

    assert first.pod == far.ref
    assert isinstance(second, Decided)
    assert second.assignment.pod == near.ref
