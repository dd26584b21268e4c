"""Many pods at once on one node in HAMi's care: each gets what the scheduler chose for it.

Real API server, agent and gRPC. What a container was handed is compared with what the scheduler
wrote for it, which nobody else has changed.
"""

import asyncio
import itertools
import logging
import random
from pathlib import Path

import pytest

from ascend_agent.runtime.beside import beside
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.ways import Ways
from tests.cluster.api import Api, Json, pods_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.hami_kubelet import HamiKubelet
from tests.cluster.hami_node import HamiNode, annotations, container, hami_node, pod
from tests.cluster.hami_watch import LockLog, lock_log

seen = logging.getLogger(__name__)

pytestmark = pytest.mark.cluster

_LIMIT_S = 280  # below the time after which a run that hangs is ended

CROWD = 200
FEW = 40
"""More than run beside each other, and each shape of pod five times."""

RUNNING = 20
"""Pods that run beside each other before the oldest of them ends."""

_QUARTER, _HALF = 16384, 32768
_IDLE_S = 0.5


def crowd(number: int) -> Json:
    """Return one of many pods: most ask for a slice, some for more, in several containers."""
    quarter, half = container("quarter", 1, _QUARTER), container("half", 1, _HALF)
    shapes = (
        ([quarter], ()),
        ([half], ()),
        ([quarter, {"name": "beside", "image": "none:1"}, half], ()),
        ([container("whole", 1)], ()),
        ([quarter], (container("first", 1, _HALF),)),
        ([quarter], ()),
        ([container("pair", 2)], ()),
        ([half, quarter], ()),
    )
    containers, inits = shapes[number % len(shapes)]
    return pod(f"p{number}", *containers, inits=tuple(inits))


async def admitted(node: HamiNode, kubelet: HamiKubelet, *, count: int) -> None:
    """Admit *count* pods in the order in which they are bound; the oldest end as more come.

    All that run end where nobody comes: a pod may wait for just their devices.
    """
    coming: asyncio.Queue[Json] = asyncio.Queue(count)
    async with (
        beside(node.follow(coming), name="bound pods"),
        asyncio.TaskGroup() as ending,  # the next one is admitted meanwhile
    ):
        for _ in range(count):
            found = None
            while found is None:
                try:
                    async with asyncio.timeout(_IDLE_S):
                        found = await coming.get()
                except TimeoutError:
                    for name in kubelet.running:
                        await kubelet.end(name)
            await kubelet.admit(found)
            for name in kubelet.running[:-RUNNING]:
                ending.create_task(kubelet.end(name))


async def told_apart(node: HamiNode, kubelet: HamiKubelet) -> None:
    """See that each container was handed what the scheduler had chosen for it."""
    for found in await node.api.list(pods_path(node.namespace)):
        grants = kubelet.grants[found["metadata"]["name"]]
        handed = [
            (one.envs.get("ASCEND_VISIBLE_DEVICES", one.error), one.envs.get("ASCEND_VNPU_SPECS"))
            for one in grants
        ]
        assert handed == await node.devices_of(found), found["metadata"]["name"]


def in_order(log: LockLog, *, pods: int) -> None:
    """See that each pod held the lock once, until just after it had all its devices."""
    assert len(log.holds) == pods
    assert {hold.pod for hold in log.holds} == set(log.done)
    for hold in log.holds:
        assert hold.begun.version < log.done[hold.pod].version < hold.ended.version
    for before, after in itertools.pairwise(log.holds):
        assert before.ended.version <= after.begun.version


@pytest.mark.timeout(_LIMIT_S)
@pytest.mark.parametrize(
    ("count", "advised"), [(CROWD, True), (FEW, False)], ids=["crowd-advised", "few-unadvised"]
)
async def test_pods_that_come_at_once_each_get_their_own_and_leave_no_lock(
    control_plane: ControlPlane,
    api: Api,
    own_namespace: str,
    fake_dcmi: Path,
    tmp_path: Path,
    *,
    count: int,
    advised: bool,
) -> None:
    """AL-1, AL-3, AL-9, HAMi A1, A7: HAMi 2.10, which locks the node for each pod."""
    async with (
        hami_node(control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi) as node,
        node.run_agent() as agent,
        lock_log(api, node=node.name, namespace=own_namespace) as log,
    ):
        kubelet = await node.bring_up(advised=advised)
        await asyncio.gather(*(node.create(crowd(number)) for number in range(count)))
        await admitted(node, kubelet, count=count)
        await node.free()
        await log.until(holds=count)
        await told_apart(node, kubelet)

        pods = await api.list(pods_path(own_namespace))
        assert {annotations(each)["hami.io/bind-phase"] for each in pods} == {"success"}
        assert len(kubelet.grants) == count
        assert agent.told("allocate refused") == []
        assert agent.told("stale node lock released") == []
        assert node.account.refused() == []
    in_order(log, pods=count)
    seen.info("locks stayed at most %.0f ms", max(log.left_s()) * 1000)


SIZES = (1, 2, 3, 4, 6)
"""Together all NPUs of the node; no two pods that wait at once ask for the same."""

ROUNDS = 8


@pytest.mark.timeout(_LIMIT_S)
@pytest.mark.parametrize("advised", [True, False], ids=["advised", "unadvised"])
async def test_pods_that_volcano_binds_without_a_lock_are_told_apart_by_their_sizes(
    control_plane: ControlPlane,
    api: Api,
    own_namespace: str,
    fake_dcmi: Path,
    tmp_path: Path,
    *,
    advised: bool,
) -> None:
    """AL-1: the node is full of pods that are bound already, and the kubelet takes any of them."""
    order = random.Random(16)  # noqa: S311 -- the same order on every run
    ways = Ways(version=VERSIONS["volcano"])
    async with (
        hami_node(
            control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi, ways=ways
        ) as node,
        node.run_agent() as agent,
        lock_log(api, node=node.name, namespace=own_namespace) as log,
    ):
        kubelet = await node.bring_up(advised=advised)
        coming: asyncio.Queue[Json] = asyncio.Queue(len(SIZES))
        async with beside(node.follow(coming), name="bound pods"):
            for number in range(ROUNDS):
                news = [pod(f"p{number}-{size}", container("all", size)) for size in SIZES]
                await asyncio.gather(*map(node.create, news))
                bound = [await coming.get() for _ in SIZES]
                order.shuffle(bound)
                for each in bound:
                    assert await kubelet.admit(each)
                for name in kubelet.running:
                    await kubelet.end(name)
        await told_apart(node, kubelet)

        pods = await api.list(pods_path(own_namespace))
        assert {annotations(each)["hami.io/bind-phase"] for each in pods} == {"success"}
        assert len(kubelet.grants) == ROUNDS * len(SIZES)
        assert agent.told("allocate refused") == []
        assert node.account.refused() == []
    assert log.holds == []
