"""Pods from creation to Binding, on the small API server and virtual time."""

import asyncio
from collections.abc import Iterator

import pytest

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.scheduler import PodDeniedError
from tests.sim.hami.pods import B3, container, pod
from tests.sim.hami.stage import LOCK, WORD, cluster, reported

TO_ALLOCATE = f"hami.io/{WORD}-devices-to-allocate"
PHASE = "hami.io/bind-phase"
SLICE = pod(container(count=1, memory=10000))


async def test_a_pod_gets_a_slice_a_lock_and_a_binding() -> None:
    async with cluster() as stage:
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound)

        assert stage.notes()[TO_ALLOCATE] == f"U1,{WORD},16384,0:;"
        assert stage.notes()[PHASE] == "allocating"
        assert stage.pod()["metadata"]["labels"] == {"hami.io/vgpu-node": "n1"}
        assert stage.node_notes()[LOCK].endswith("Z,default,p1")
        await asyncio.sleep(1)
        assert stage.events("scheduled", "locked", "bound") == ["scheduled", "locked", "bound"]


async def test_a_pod_that_the_webhook_denies_is_not_created() -> None:
    async with cluster() as stage:
        with pytest.raises(PodDeniedError, match="70000 MiB"):
            await stage.scheduler.create(pod(container(count=1, memory=70000)))

        assert stage.server.count("POST") == 0


async def test_the_second_pod_waits_for_the_lock_of_the_first() -> None:
    async with cluster() as stage:
        await stage.scheduler.create(SLICE)
        await stage.scheduler.create(pod(container(count=1, memory=10000), name="p2"))
        await stage.until(stage.bound)
        await asyncio.sleep(30)

        assert not stage.bound("p2")
        assert stage.notes("p2")[TO_ALLOCATE] == f"U0,{WORD},16384,0:;"
        patches = stage.server.count("PATCH")
        await asyncio.sleep(10)
        assert stage.server.count("PATCH") - patches <= 1  # the handshake alone

        stage.annotate({LOCK: None})
        await stage.until(lambda: stage.bound("p2"))
        assert stage.node_notes()[LOCK].endswith(",default,p2")


async def test_a_lock_is_taken_over_after_five_minutes() -> None:
    async with cluster() as stage:
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound)
        await stage.scheduler.create(pod(container(count=1, memory=10000), name="p2"))
        started = asyncio.get_running_loop().time()
        await stage.until(lambda: stage.bound("p2"))

        assert 299 < asyncio.get_running_loop().time() - started < 303


async def test_a_lock_of_a_pod_that_is_gone_is_taken_over_at_once() -> None:
    async with cluster() as stage:
        stage.annotate({LOCK: "2026-01-01T00:00:00Z,default,gone"})
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound, within_s=3)


async def test_an_init_container_alone_takes_no_lock() -> None:
    async with cluster() as stage:
        await stage.scheduler.create(pod(container(), inits=(container("init", 1, memory=10000),)))
        await stage.until(stage.bound)

        assert LOCK not in stage.node_notes()


class Chips(tuple[HamiChip, ...]):
    """Chips that count how often somebody goes over them, as for each choice of a node."""

    __slots__ = ()
    looks = 0

    def __iter__(self) -> Iterator[HamiChip]:
        type(self).looks += 1
        return super().__iter__()


async def test_a_crowd_that_does_not_fit_is_chosen_for_once_a_round() -> None:
    """All that ask for the same are told the same: 200 that wait would cost seconds a change."""
    chips = Chips((B3,))
    async with cluster(notes=reported(devices=1), chips=chips) as stage:
        for number in range(40):
            await stage.scheduler.create(pod(container(count=2), name=f"p{number}"))
        await asyncio.sleep(0.5)
        before = chips.looks
        stage.annotate({"theirs": "new"})
        await asyncio.sleep(0.5)

        assert len(stage.reasons()) == 40
        assert 0 < chips.looks - before < 10


async def test_a_pod_that_does_not_fit_waits_until_it_does() -> None:
    async with cluster(notes=reported(devices=1)) as stage:
        await stage.scheduler.create(pod(container(count=1), name="first"))
        await stage.until(lambda: stage.bound("first"))
        stage.annotate({LOCK: None})
        await stage.scheduler.create(SLICE)
        await asyncio.sleep(5)

        assert stage.reasons() == ["n1: 1/1 CardInsufficientMemory"]
        stage.server.store.delete(("pods", "default", "first"))
        await stage.until(stage.bound, within_s=3)


async def test_a_node_that_never_reported_is_not_registered() -> None:
    async with cluster(notes={}) as stage:
        await stage.scheduler.create(SLICE)
        await asyncio.sleep(5)

        assert stage.reasons() == ["n1: node unregistered"]


async def test_the_fuller_node_comes_first() -> None:
    async with cluster("n1", "n2") as stage:
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound)
        node = stage.pod()["spec"]["nodeName"]
        stage.annotate({LOCK: None}, node)
        await stage.scheduler.create(pod(container(count=1, memory=10000), name="p2"))
        await stage.until(lambda: stage.bound("p2"))

        assert stage.pod("p2")["spec"]["nodeName"] == node


async def test_a_conflict_on_the_lock_is_tried_again() -> None:
    async with cluster() as stage:
        await asyncio.sleep(1)
        stage.server.refuse(409, of="PATCH /api/v1/nodes")
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound, within_s=3)


async def test_a_binding_that_is_refused_fails_the_pod_and_comes_again() -> None:
    async with cluster() as stage:
        stage.server.refuse(500, of="binding")
        phases: list[str | None] = []
        stage.server.store.changed.append(
            lambda: phases.append(stage.notes().get(PHASE) if stage.events() else None)
        )
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound, within_s=3)
        stage.server.store.changed.pop()

        assert "failed" in phases
        assert stage.notes()[PHASE] == "allocating"
        assert stage.events("unbound") == ["unbound"]


async def test_a_cut_connection_is_made_anew() -> None:
    async with cluster() as stage:
        await asyncio.sleep(1)
        stage.server.cut()
        await asyncio.sleep(1)
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound)


async def test_volcano_writes_all_at_once_and_locks_nothing() -> None:
    async with cluster(version="volcano") as stage:
        item = pod(container(count=1, memory=16384))
        item["spec"]["schedulerName"] = "hami-scheduler"
        await stage.scheduler.create(item)
        await stage.until(stage.bound)

        assert stage.notes()[PHASE] == "allocating"
        assert "labels" not in stage.pod()["metadata"]
        assert LOCK not in stage.node_notes()
        assert stage.server.count("PATCH") == 1


async def test_volcano_can_lock_for_nobody() -> None:
    async with cluster(version="volcano-locking") as stage:
        await stage.scheduler.create(SLICE)
        await stage.until(stage.bound)

        assert "," not in stage.node_notes()[LOCK]


async def test_who_asks_for_nothing_is_not_its_business() -> None:
    async with cluster() as stage:
        item = pod(container())
        item["spec"]["schedulerName"] = "hami-scheduler"
        await stage.scheduler.create(item)
        await asyncio.sleep(3)

        assert stage.reasons() == ["asks for nothing that this scheduler knows"]
