"""A scene: one node, its cluster, a namespace of the test's own, and agents as processes.

The agent runs outside the node's namespaces; the node's directories and host root are told to it.
It talks to the API server as its pod would: with the account that the chart makes, and no more.
Real time: what a test waits for is a watch of the API server or a line of the agent's log.
"""

import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.agent.scene import AgentProcess, running_agent
from tests.chart.account import ChartAccount
from tests.cluster.api import Api, Json, node_path, pod_path, pods_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node.cluster_node import CONTAINERD, KUBELET, ClusterNode, is_ready
from tests.cluster.node.devices import count_fit
from tests.cluster.node.keeper import of_processes
from tests.cluster.node.pods import (
    HOLD,
    RESOURCE,
    WITNESS,
    Sight,
    parse_held,
    parse_sight,
    pod,
    read_log,
)
from tests.cluster.process import guarded
from tests.cluster.waiting import eventually

NPUS = 8
SIMULATED = ("--driver", "simulated", "--chip", "910B3", "--npus", str(NPUS))
"""What the agent of most scenes finds: eight NPUs of one kind."""

_ENDED = ("Succeeded", "Failed")
_WENT = frozenset({errno.ENOENT, errno.ESRCH, errno.ENODEV})
"""Of a file whose process or control group went before it was opened, or since."""


class Scene:
    """Made by the fixture ``scene``; node and control plane run when a test gets it."""

    def __init__(
        self,
        *,
        node: ClusterNode,
        control_plane: ControlPlane,
        account: ChartAccount,
        api: Api,
        namespace: str,
    ) -> None:
        self.node = node
        self.control_plane = control_plane
        self.account = account
        self.api = api
        self.namespace = namespace
        self._kubeconfig = control_plane.kubeconfig(node.home.path / "kubeconfig")
        self._pods: list[str] = []

    # --- the node ------------------------------------------------------------------------

    async def start_node(self) -> None:
        """Start what does not run, and wait until the node is ready.

        A kubelet that has missed the API server starts anew: it may wait for a minute before it
        looks for pods again, however long the server is back.
        """
        if not self.node.running(CONTAINERD):
            await self.node.start_containerd()
        if self.node.outages != self.control_plane.outages:
            await self.node.stop(KUBELET)
        if not self.node.running(KUBELET):
            await self.start_kubelet()

    async def start_kubelet(self) -> None:
        """Start the kubelet and wait until it has told the API server that it is ready."""
        async with self.starting_kubelet():
            pass

    @asynccontextmanager
    async def starting_kubelet(self, *, apart: bool = False) -> AsyncIterator[None]:
        """Start the kubelet, and once the block ends wait until it is ready and knows its pods.

        *apart*: it hears of its pods only then, so that they find what the block waits for.
        """
        before = _heartbeat(await self.api.get(self._own_nodes()))
        plane = self.control_plane
        self.node.outages = plane.outages
        if apart:
            plane.halt(plane.server)
        try:
            self.node.start_kubelet(self._kubeconfig)
            yield
        finally:
            if apart:
                plane.server.send(signal.SIGCONT)
        await self.api.until(
            node_path(self.node.name),
            lambda node: node and is_ready(node) and _beat(node) > before,
        )
        await self.node.hears_of_pods()

    async def offers(
        self, allocatable: int, *, capacity: int = NPUS, resource: str = RESOURCE
    ) -> None:
        """Wait until the node has so much of a resource, and so much of it is fit.

        The kubelet must say so itself before its node does: see ``devices``.
        """

        async def says() -> bool | None:
            return await count_fit(self.node.home.pod_resources, resource) == allocatable or None

        await eventually(says, what=f"{allocatable} {resource} that the kubelet would give out")
        wanted = (str(capacity), str(allocatable))
        await self.api.until(
            node_path(self.node.name), lambda node: node and amounts(node, resource) == wanted
        )

    # --- pods ----------------------------------------------------------------------------

    async def create(self, name: str, count: int, *, script: str = HOLD) -> None:
        """Create a pod on the node that asks for *count* NPUs."""
        body = pod(name, node=self.node.name, npus=count, script=script)
        await self.api.create(pods_path(self.namespace), body)
        self.owns(name)

    def owns(self, name: str) -> None:
        """Have a pod that somebody else created end with the scene."""
        self._pods.append(name)

    async def runs(self, name: str, *, limit_s: float = 30) -> Json:
        """Wait until a pod runs, and return it."""
        return await self._phase(name, "Running", limit_s=limit_s)

    async def held(self, name: str, *, starts: int = 1) -> frozenset[int]:
        """Wait until a pod runs and was started so often; return the NPUs it has."""
        await self.runs(name)

        async def said() -> frozenset[int] | None:
            found = parse_held(self._log(name))
            return found[-1] if len(found) >= starts else None

        return await eventually(said, what=f"what pod {name} says of its NPUs")

    async def told_of(self, name: str, device: str, health: str) -> None:
        """Wait until a pod's status says that of the health of a device it has."""

        def says(state: Json | None) -> bool:
            return state is not None and (device, health) in device_health(state)

        await self.api.until(pod_path(self.namespace, name), says)

    async def process(self, name: str) -> int:
        """Return the process of a pod that holds its NPUs, as this machine numbers it."""
        uid = (await self.runs(name))["metadata"]["uid"]
        # What the shell starts has the shell's command line until it is a program of its own.
        return min(pid for pid, line in self.processes(uid) if HOLD in line)

    async def held_at_last(self, name: str) -> frozenset[int]:
        """Return what a pod of one NPU has; made anew, as by its controller, while it is rejected.

        A kubelet that has just started takes pods up milliseconds after it let us register, and
        may not have had our list by then.
        """
        while True:
            found = await self.api.until(
                pod_path(self.namespace, name),
                lambda pod: pod is not None and pod["status"].get("phase") in {"Running", *_ENDED},
            )
            assert found is not None
            if found["status"]["phase"] == "Running":
                return await self.held(name)
            assert "no healthy devices present" in found["status"]["message"], found["status"]
            await self.delete(name)
            await self.create(name, 1)

    async def refused(self, name: str) -> str:
        """Wait until a pod has failed before it ran, and return what its status says why."""
        pod = await self._phase(name, "Failed", "Running")
        return str(pod["status"]["message"])

    async def witness(self, name: str, count: int) -> Sight:
        """Run a pod that looks around and ends; return what it saw."""
        await self.create(name, count, script=WITNESS)
        await self._phase(name, "Succeeded")
        return parse_sight(self._log(name))

    async def delete(self, *names: str) -> None:
        """End pods, and wait until the kubelet has seen to it that they are gone."""
        for name in names:
            await self.api.delete(pod_path(self.namespace, name), grace_s=1)
        for name in names:
            await self.api.until(pod_path(self.namespace, name), lambda state: state is None)
            self._pods.remove(name)

    async def clear(self) -> None:
        """End every pod that is left."""
        await self.delete(*self._pods)

    # --- agents --------------------------------------------------------------------------

    @asynccontextmanager
    async def agent(
        self,
        *options: str,
        driver: tuple[str, ...] = SIMULATED,
        environment: Mapping[str, str] | None = None,
        through: Sequence[str] = (),
    ) -> AsyncIterator[AgentProcess]:
        """Run an agent on this node until the block ends; *through* is what starts it, if any."""
        home = self.node.home
        command = [
            *through,
            sys.executable, "-m", "ascend_agent", "run", *driver,
            "--kubelet-dir", str(home.kubelet), "--device-plugin-dir", str(home.plugins),
            "--host-root", str(home.root), "--cdi-dir", str(home.cdi),
            "--run-dir", str(home.path / "run" / "ascend-agent"),
            "--state-dir", str(home.path / "state" / self.namespace),
            "--http", "127.0.0.1:0", *self.account.options, *options,
        ]  # fmt: skip
        told = {**self.account.environment(self.node.name), **(environment or {})}
        # With a run that is killed the agent ends too: it is in no namespace of the node's.
        async with running_agent(guarded(command, os.getpid()), told) as agent:
            yield agent

    @asynccontextmanager
    async def serving(self, *options: str) -> AsyncIterator[AgentProcess]:
        """Run an agent on this node, from when the node offers its NPUs on."""
        async with self.agent(*options) as agent:
            await agent.logged("registered with the kubelet")
            await self.offers(NPUS)
            yield agent

    async def _phase(self, name: str, wanted: str, *others: str, limit_s: float = 30) -> Json:
        """Wait for phase *wanted*; one of *others*, or an end, that comes first fails the test."""
        decisive = {wanted, *others, *_ENDED}

        def there(state: Json | None) -> bool:
            return state is not None and state["status"].get("phase") in decisive

        found = await self.api.until(pod_path(self.namespace, name), there, limit_s=limit_s)
        assert found is not None
        assert found["status"]["phase"] == wanted, found["status"]
        return found

    def _log(self, name: str) -> list[str]:
        """Return what a pod's container wrote, in one attempt after another."""
        logs = self.node.home.pod_logs.glob(f"{self.namespace}_{name}_*/main/*.log")
        return [line for log in sorted(logs) for line in read_log(log)]

    def processes(self, uid: str, container: str = "*") -> list[tuple[int, str]]:
        """Return process id and command line of each process in a pod's control groups."""
        found: list[tuple[int, str]] = []
        for folder, _, _ in os.walk(of_processes() / self.node.group):
            group = Path(folder)
            if group.match(f"pod{uid}/{container}"):
                pids = map(int, read_if_there(group / "cgroup.procs").split())
                found += [(pid, read_if_there(Path(f"/proc/{pid}/cmdline"))) for pid in pids]
        return found

    def _own_nodes(self) -> str:
        return f"/api/v1/nodes?fieldSelector=metadata.name={self.node.name}"


def read_if_there(path: Path) -> str:
    """Return the text of a file of the kernel's, which may go with its process at any moment."""
    try:
        return path.read_text()
    except OSError as error:
        if error.errno not in _WENT:
            raise
        return ""


def amounts(node: Json, resource: str) -> tuple[str, str]:
    """Return what a Node object says of a resource: capacity and allocatable."""
    status = node["status"]
    return (
        status.get("capacity", {}).get(resource, ""),
        status.get("allocatable", {}).get(resource, ""),
    )


def device_health(pod: Json) -> set[tuple[str, str]]:
    """Return the devices that a Pod object says its containers have, with their health."""
    containers = pod["status"].get("containerStatuses", [])
    kinds = [kind for each in containers for kind in each.get("allocatedResourcesStatus", [])]
    return {(one["resourceID"], one["health"]) for kind in kinds for one in kind["resources"]}


def _heartbeat(nodes: Json) -> str:
    return max(map(_beat, nodes["items"]), default="")


def _beat(node: Json) -> str:
    """Return when the kubelet told last of the node: RFC 3339, so later is greater."""
    return max(
        (str(each["lastHeartbeatTime"]) for each in node["status"]["conditions"]), default=""
    )
