"""What the hami dialect asks a real API server for is what the chart grants, and no more.

The flows are the agent's own, on a connection with the account that the chart makes.
"""

import asyncio
from pathlib import Path
from typing import Final

import pytest

from ascend_agent.bus import Bus
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.repair_lock import RepairLock
from ascend_agent.flows.settle_allocations import SettleAllocations
from ascend_agent.model.allocation import Settlement
from ascend_agent.model.cluster import NodeEvent, PodEdit
from ascend_agent.model.ids import Millis, NodeName
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.clock import Clock
from tests.chart.account import ChartAccount, chart_account
from tests.cluster.account import bound_pod, make_node
from tests.cluster.api import Api, Json, node_path, pod_path, pods_path
from tests.cluster.connected import connection, running, until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import eventually
from tests.fakes.hami import state

pytestmark = pytest.mark.cluster

LOCK: Final = "hami.io/mutex.lock"
PHASE: Final = "hami.io/bind-phase"


async def test_what_the_dialect_asks_for_is_what_is_granted(
    control_plane: ControlPlane, api: Api, own_namespace: str, tmp_path: Path
) -> None:
    name = NodeName(f"node-{own_namespace}")
    stale = f"2026-01-01T00:00:01Z,{own_namespace},gone"
    await make_node(api, name)
    await api.patch(node_path(name), {"metadata": {"annotations": {LOCK: stale}}})
    await api.create(pods_path(own_namespace), bound_pod("p", node=name))
    async with chart_account(
        control_plane,
        api,
        tmp_path / "account",
        namespace=own_namespace,
        options=("--set", "settings.dialect=hami"),
    ) as account:
        cluster = connection(
            folder=account.folder, url=f"https://127.0.0.1:{control_plane.port}", node=name
        )
        bus = Bus([])
        follow = FollowCluster(
            watch=cluster,
            own_node=bus.own_node.claim("test"),
            pods=bus.pods.claim("test"),
            api=bus.api.claim("test"),
            foreign=bus.foreign.claim("test"),
        )
        repair = RepairLock(
            reader=cluster.reader,
            editor=cluster,
            bus=bus,
            locks=bus.locks.claim("test"),
            clock=Clock(),
        )
        settle = SettleAllocations(editor=cluster, settlements=bus.settlements)
        bus.hami.claim("test").put(state())
        bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
        left = bus.settlements.claim("test")
        async with running(cluster), asyncio.TaskGroup() as group:
            tasks = [group.create_task(flow.run()) for flow in (follow, repair, settle)]
            (found,) = (await until(cluster.pods(), _has_one)).pods
            assert await cluster.reader.read_pods() == (found,)
            assert (await cluster.reader.read_node()).name == name
            edit = PodEdit(pod=found.key, uid=found.uid, labels={}, annotations={PHASE: "success"})
            left.publish(Settlement(pod=found.ref, edits=(edit,), why="allocated"))
            event = NodeEvent(
                name=f"{name}.told",
                node_uid="",
                warning=True,
                reason="AscendAllocateFailed",
                action="AscendAllocateFailed",
                message="why",
                count=1,
                first_ms=Millis(0),
                last_ms=Millis(0),
                pod=found.ref,
            )
            await cluster.post_event(event, known=False)
            await cluster.post_event(event, known=True)
            await api.until(node_path(name), lambda now: LOCK not in _annotations(now))
            pod = pod_path(own_namespace, "p")
            await api.until(pod, lambda now: _annotations(now).get(PHASE) == "success")
            await eventually(lambda: _used_all(account), what="a request for each rule")
            async with asyncio.timeout(30):  # whoever gave it back hears of that last
                await until(bus.locks.changes(), lambda now: now.released)
            for task in tasks:
                task.cancel()

        assert account.used() == account.granted
        assert account.refused() == []
    assert bus.locks.value is not None
    assert bus.locks.value.released == 1


def _has_one(pods: Pods) -> bool:
    return len(pods.pods) == 1


def _annotations(item: Json | None) -> Json:
    found: Json = (item or {}).get("metadata", {}).get("annotations") or {}
    return found


async def _used_all(account: ChartAccount) -> bool | None:
    return account.used() >= account.granted or None
