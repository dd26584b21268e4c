"""Nodes that run what a DaemonSet puts on them, as far as its controller can tell.

The controller manager is real. Scheduler and kubelets are these few lines: a pod goes to the node
its affinity names, is ready at once, and is gone as soon as it is to be. What ran where is kept.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.cluster.api import Api, ApiError, Json, node_path, pod_path, pods_path
from tests.cluster.process import Process
from tests.cluster.programs import program
from tests.cluster.waiting import eventually

Running = dict[str, tuple[str, ...]]
"""The images of the DaemonSet's pods, by node."""

_PERIOD_S = 0.05
_GONE = 404


@asynccontextmanager
async def controller_manager(kubeconfig: Path, folder: Path) -> AsyncIterator[Process]:
    """Run the controllers of DaemonSets, ServiceAccounts and garbage."""
    names = ("daemonset-controller", "garbage-collector-controller", "serviceaccount-controller")
    options = {
        "kubeconfig": kubeconfig,
        "controllers": ",".join(names),
        "leader-elect": "false",
        "secure-port": 0,
    }
    command: list[str | Path] = [program("kube-controller-manager")]
    command += [f"--{name}={value}" for name, value in options.items()]
    process = Process(name="kube-controller-manager", command=command, log=folder / "kcm.log")
    process.start()
    try:
        yield process
    finally:
        await process.stop()


class Nodes:
    """Nodes, and what pods of *labels* ran on them; ``history`` has each change once."""

    def __init__(
        self, api: Api, *, names: Sequence[str], namespace: str, labels: Mapping[str, str]
    ) -> None:
        self._api = api
        self._names = names
        self._namespace = namespace
        self._selector = ",".join(f"{key}={value}" for key, value in labels.items())
        self.history: list[Running] = []

    @asynccontextmanager
    async def there(self, labels: dict[str, str]) -> AsyncIterator[None]:
        """Have the nodes there, ready, and their pods run, until the block ends."""
        for name in self._names:
            body = {"metadata": {"name": name, "labels": labels}}
            await self._api.create("/api/v1/nodes", body)
            # A new node is tainted until the controller of nodes sees it ready; there is none.
            await self._api.patch(node_path(name), {"spec": {"taints": None}})
        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._run(), name="nodes")
                yield
                task.cancel()
        finally:
            for pod in await self._list():
                await self._api.delete(self._path(pod), grace_s=0)
            for name in self._names:
                await self._api.delete(node_path(name))

    async def all_run(self, image: str) -> None:
        """Wait until each node runs one pod, of *image*."""
        wanted = dict.fromkeys(self._names, (image,))

        async def are() -> bool | None:
            return bool(self.history and self.history[-1] == wanted) or None

        try:
            await eventually(are, what=f"{image} on every node", limit_s=60)
        except TimeoutError as error:
            error.add_note(f"what ran where: {self.history}")
            raise

    async def pods(self) -> list[Json]:
        """Return the pods that are not about to end."""
        return [pod for pod in await self._list() if "deletionTimestamp" not in pod["metadata"]]

    async def _list(self) -> list[Json]:
        return await self._api.list(pods_path(self._namespace), labelSelector=self._selector)

    def _path(self, pod: Json) -> str:
        return pod_path(self._namespace, pod["metadata"]["name"])

    async def _run(self) -> None:
        while True:
            for pod in await self._list():
                try:
                    await self._play(pod)
                except ApiError as error:
                    if error.code != _GONE:
                        raise
            self._note(await self.pods())
            await asyncio.sleep(_PERIOD_S)  # a kubelet's pace; the controller is what is tested

    async def _play(self, pod: Json) -> None:
        """Do for *pod* what comes next: its end, its node, or its readiness."""
        path = self._path(pod)
        if "deletionTimestamp" in pod["metadata"]:
            await self._api.delete(path, grace_s=0)
        elif "nodeName" not in pod["spec"]:
            metadata = {"name": pod["metadata"]["name"]}
            target = {"kind": "Node", "name": _chosen(pod)}
            await self._api.create(f"{path}/binding", {"metadata": metadata, "target": target})
        elif pod["status"].get("phase") != "Running":
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": _LONG_AGO}
            status = {"phase": "Running", "conditions": [ready]}
            await self._api.patch(f"{path}/status", {"status": status})

    def _note(self, pods: Sequence[Json]) -> None:
        running: Running = {}
        for pod in pods:
            (container,) = pod["spec"]["containers"]
            node = pod["spec"].get("nodeName", "")
            running[node] = (*running.get(node, ()), container["image"])
        if not self.history or self.history[-1] != running:
            self.history.append(running)


_LONG_AGO = "2026-01-01T00:00:00Z"


def _chosen(pod: Json) -> str:
    """Return the node for which the controller made *pod*."""
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (field,) = terms[0]["matchFields"]
    (name,) = field["values"]
    return str(name)
