"""Allocate in the hami dialect against a real API server, and what of it is the API server's.

What the scheduler would have done is prepared before each call: a pod that is bound and says what
it gets, and the node's lock. In between a bare client patches a pod of its own in the same way, so
that both see the same server in the same minutes.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ascend_agent.sim.hami.placement import placement
from ascend_agent.sim.hami.usage import Granted, parse_devices
from ascend_agent.sim.hami.versions import VERSIONS
from benchmarks.report import percentile
from benchmarks.scene import Scene, scene
from tests.cluster.account import make_node
from tests.cluster.api import Api, Json, node_path, pod_path, pods_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.hami_node import CHIP, LEFT, LOCK, PHASE, REGISTER, annotations
from tests.cluster.namespaces import make_namespace

_NODE: Final = "n1"
_NAMESPACE: Final = "bench"
_WARM_UP: Final = 50
_SLICE_MIB: Final = 16384
_SCHEDULER: Final = VERSIONS["2.10"]
_AGENT: Final = "ascend-agent/"


async def run_hami(times: int) -> dict[str, object]:
    """Return the figures for a container with one slice of an NPU, and of a bare patch."""
    home = Path(tempfile.mkdtemp(prefix="bench"))
    try:
        async with ControlPlane() as plane, plane.api() as api:
            await make_node(api, _NODE)
            await make_namespace(api, _NAMESPACE, authority=plane.authority_pem)
            config = plane.kubeconfig(home / "kubeconfig")
            options = ("--dialect", "hami", "--node-name", _NODE, "--kubeconfig", str(config))
            async with scene(16, *options) as there:
                node = await api.until(node_path(_NODE), lambda now: REGISTER in annotations(now))
                dies = [each.die for each in parse_devices(annotations(node)[REGISTER])]
                devices = await there.kubelet.do("devices", stream=there.first["stream"])
                calls = _Calls(
                    api=api, there=there, dies=dies, ids=[each[0] for each in devices["devices"]]
                )
                await calls.prepare()
                for number in range(_WARM_UP):
                    await calls.call(number)
                since = plane.audit.position()
                took = [await calls.call(_WARM_UP + number) for number in range(times)]
                served = _served_ms(plane, since)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    allocate, bare = ([each[at] for each in took] for at in (0, 1))
    return {
        "p50_ms": round(percentile(allocate, 0.5), 2),
        "p99_ms": round(percentile(allocate, 0.99), 2),
        "bare_patch_p50_ms": round(percentile(bare, 0.5), 2),
        "bare_patch_p99_ms": round(percentile(bare, 0.99), 2),
        # The one request of an Allocate, from its receipt to its answer by the server's own clock.
        "patch_in_server_p50_ms": round(percentile(served, 0.5), 2),
        "patch_in_server_p99_ms": round(percentile(served, 0.99), 2),
        "in_server_percent": round(100 * sum(served) / len(served) / sum(allocate) * len(allocate)),
        "n": times,
    }


@dataclass(slots=True, kw_only=True)
class _Calls:
    """``call`` has one pod served after the other; each takes another NPU and another id."""

    api: Api
    there: Scene
    dies: Sequence[str]
    ids: Sequence[str]

    async def prepare(self) -> None:
        """Make the pod that the bare client patches; it runs, so that nobody asks for it."""
        await self.api.create(pods_path(_NAMESPACE), self._pod("bare", self.dies[0]))
        place = pod_path(_NAMESPACE, "bare")
        await self.api.patch(place, _phase("success"))
        await self.api.patch(f"{place}/status", {"status": {"phase": "Running"}})

    async def call(self, number: int) -> tuple[float, float]:
        """Return how long an Allocate took, and a bare patch just before it, in milliseconds."""
        name = f"p{number}"
        await self.api.create(
            pods_path(_NAMESPACE), self._pod(name, self.dies[number % len(self.dies)])
        )
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        lock = {"metadata": {"annotations": {LOCK: f"{now},{_NAMESPACE},{name}"}}}
        await self.api.patch(node_path(_NODE), lock)
        started_ns = time.perf_counter_ns()
        await self.api.patch(pod_path(_NAMESPACE, "bare"), _phase(name))
        bare_ns = time.perf_counter_ns() - started_ns
        answer = await self.there.kubelet.do(
            "allocate",
            endpoint=self.there.endpoint,
            containers=[[self.ids[number % len(self.ids)]]],
        )
        await self.api.until(node_path(_NODE), lambda found: LOCK not in annotations(found))
        await self.api.delete(pod_path(_NAMESPACE, name), grace_s=0)
        return answer["took_ns"] / 1e6, bare_ns / 1e6

    def _pod(self, name: str, die: str) -> Json:
        """Return a pod that the scheduler has bound and given a slice of *die*."""
        granted = Granted(die=die, word=CHIP.word, memory_mib=_SLICE_MIB, core_percent=0)
        placed = placement(
            [[granted]],
            node=_NODE,
            chip=CHIP,
            version=_SCHEDULER,
            soft=False,
            now=datetime.now(UTC),
        )
        placed["metadata"]["annotations"] |= _phase("allocating")["metadata"]["annotations"]
        limits = {CHIP.resource: "1", CHIP.memory_resource: str(_SLICE_MIB)}
        container = {"name": "main", "image": "none:1", "resources": {"limits": limits}}
        return {
            "metadata": {"name": name, **placed["metadata"]},
            "spec": {
                "nodeName": _NODE,
                "containers": [container],
                "automountServiceAccountToken": False,
            },
        }


def _phase(value: str) -> Json:
    """Return a patch of two annotations, as large as the one that an Allocate needs."""
    seconds = str(int(time.time()))
    notes = {PHASE: value, "hami.io/bind-time": seconds}
    return {
        "metadata": {"annotations": {**notes, **({} if value == "allocating" else {LEFT: ";"})}}
    }


def _served_ms(plane: ControlPlane, since: int) -> list[float]:
    """Return how long the server took for each of the agent's patches of pods, in milliseconds."""
    return [
        (_time(event["stageTimestamp"]) - _time(event["requestReceivedTimestamp"])) * 1000
        for event in plane.audit_events(since=since)
        if event["verb"] == "patch"
        and event["objectRef"]["resource"] == "pods"
        and event.get("userAgent", "").startswith(_AGENT)
    ]


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
