"""A node in HAMi's care on the real API server: agent, scheduler and kubelet, each a client of it.

The scheduler is the simulator's, as a user of its own, so that the audit log tells who wrote what.
The agent is a process with the account that the chart makes for it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.runtime.beside import beside
from ascend_agent.sim.hami.client import ApiClient
from ascend_agent.sim.hami.scheduler import Scheduler
from ascend_agent.sim.hami.usage import parse_devices, parse_slots
from ascend_agent.sim.hami.ways import USUAL, Ways
from tests.agent.scene import AgentProcess, Node, node, running_agent
from tests.chart.account import ChartAccount, chart_account
from tests.cluster.account import make_node
from tests.cluster.api import Api, Json, node_path, pods_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.following import followed
from tests.cluster.hami_kubelet import HamiKubelet
from tests.peer.client import Facts

CHIP: Final = next(each for each in CHIPS if each.chip_name == "910B3")
LOCK: Final = "hami.io/mutex.lock"
PHASE: Final = "hami.io/bind-phase"
LEFT: Final = f"hami.io/{CHIP.word}-devices-to-allocate"
ALLOCATED: Final = f"hami.io/{CHIP.word}-devices-allocated"
REGISTER: Final = f"hami.io/node-register-{CHIP.word}"
HANDSHAKE: Final = f"hami.io/node-handshake-{CHIP.word}"
SCHEDULER: Final = "hami-scheduler"
SHARES: Final = 4
"""Devices the kubelet is offered of one NPU: as many slices as the smallest template allows."""

_START_S: Final = 60  # on a machine with much else to do

_TEMPLATES: Final = {each.memory_mib: each.name for each in CHIP.templates}


def annotations(item: Json | None) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = (item or {}).get("metadata", {}).get("annotations") or {}
    return found


def container(name: str, npus: int, memory_mib: int = CHIP.allocatable_mib) -> Json:
    """Return a container that asks for so many NPUs, or for a slice of one."""
    limits = {CHIP.resource: str(npus), CHIP.memory_resource: str(memory_mib)}
    return {"name": name, "image": "none:1", "resources": {"limits": limits}}


def pod(name: str, *containers: Json, inits: tuple[Json, ...] = ()) -> Json:
    """Return a pod as its user writes it."""
    spec = {
        "containers": list(containers),
        "initContainers": list(inits),
        "automountServiceAccountToken": False,
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}


@dataclass(slots=True, kw_only=True)
class HamiNode:
    """One such node; ``run_agent`` starts its agent, ``bring_up`` waits until it can be used."""

    name: str
    namespace: str
    api: Api
    there: Node
    account: ChartAccount
    scheduler: Scheduler
    npus: int

    @asynccontextmanager
    async def run_agent(self, *options: str, url: str | None = None) -> AsyncIterator[AgentProcess]:
        """Run an agent until the block ends; *url* stands for the API server's own."""
        command = self.there.command(
            "--dialect", "hami",
            "--hami-root", str(self.there.home / "hami"),
            "--hami-shared-region", str(self.there.home / "region"),
            *self.account.options,
            *options,
        )  # fmt: skip
        environment = {
            "ASCEND_DOCKER_RUNTIME": "True",
            **self.account.environment(self.name),
            **({} if url is None else {"KUBERNETES_SERVICE_PORT": url.rpartition(":")[2]}),
            **self.there.host.environment,
        }
        async with running_agent(command, environment) as agent:
            yield agent

    async def bring_up(self, *, advised: bool = False) -> HamiKubelet:
        """Wait for registration and offer, let the Node say it offers them; return a kubelet."""
        peer = self.there.kubelet
        first = await self.listed()
        devices = await peer.do("devices", stream=first["stream"])
        await self.api.until(node_path(self.name), lambda now: REGISTER in annotations(now))
        offered = {CHIP.resource: str(first["total"])}
        status = {"status": {"allocatable": offered, "capacity": offered}}
        await self.api.patch(f"{node_path(self.name)}/status", status)
        return HamiKubelet(
            self.api,
            peer,
            resource=CHIP.resource,
            namespace=self.namespace,
            ids=[each[0] for each in devices["devices"]],
            advised=advised,
        )

    async def listed(self) -> Facts:
        """Wait for the kubelet's list of an agent that has just been started."""
        return await self.there.kubelet.event("list", within_s=_START_S, total=self.npus * SHARES)

    async def create(self, new: Json) -> Json:
        """Create a pod as the webhook wants it."""
        return await self.scheduler.create(
            {**new, "metadata": {**new["metadata"], "namespace": self.namespace}}
        )

    async def follow(self, bound: asyncio.Queue[Json]) -> None:
        """Put each pod of the node into *bound*, in the order in which they are bound."""
        seen: set[str] = set()
        only = {"fieldSelector": f"spec.nodeName={self.name}"}
        async with aclosing(followed(self.api, pods_path(self.namespace), **only)) as events:
            async for event in events:
                found: Json = event["object"]
                if event["type"] != "DELETED" and found["metadata"]["uid"] not in seen:
                    seen.add(found["metadata"]["uid"])
                    await bound.put(found)

    async def devices_of(self, found: Json) -> list[tuple[str, str | None]]:
        """Return what the scheduler granted each container of a pod that asks for something.

        The numbers of the NPUs as a container is told them, and the template of a slice.
        """
        node_now = await self.api.get(node_path(self.name))
        numbers = {each.die: each.index for each in parse_devices(annotations(node_now)[REGISTER])}
        return [
            (
                ",".join(str(number) for number in sorted(numbers[one.die] for one in slot)),
                _TEMPLATES.get(slot[0].memory_mib),
            )
            for slot in parse_slots(annotations(found)[ALLOCATED])
            if slot
        ]

    async def free(self) -> None:
        """Wait until nobody holds the node's lock."""
        await self.api.until(node_path(self.name), lambda now: LOCK not in annotations(now))


@asynccontextmanager
async def hami_node(
    control_plane: ControlPlane,
    api: Api,
    folder: Path,
    *,
    namespace: str,
    library: Path,
    ways: Ways = USUAL,
    npus: int = 16,
) -> AsyncIterator[HamiNode]:
    """Make a node and run its scheduler until the block ends; then the Node is gone.

    A Node that stayed would be offered to the pods of whoever comes next.
    """
    name = f"node-{namespace}"
    chart = ("--set", "settings.dialect=hami")
    await make_node(api, name)
    try:
        async with (
            chart_account(
                control_plane, api, folder / "account", namespace=namespace, options=chart
            ) as account,
            node(library, f"preset 910B3 {npus}") as there,
            aiohttp.ClientSession() as session,
        ):
            scheduler = Scheduler(_client(control_plane, session), chips=[CHIP], ways=ways)
            one = HamiNode(
                name=name,
                namespace=namespace,
                api=api,
                there=there,
                account=account,
                scheduler=scheduler,
                npus=npus,
            )
            async with beside(scheduler.run(), name="scheduler") as running:
                yield one
                assert not running.done(), "the scheduler ended"
    finally:
        await control_plane.revive()
        await api.delete(node_path(name))


def _client(control_plane: ControlPlane, session: aiohttp.ClientSession) -> ApiClient:
    credential = control_plane.pki.client(SCHEDULER, groups=("system:masters",))
    tls = ssl.create_default_context(cafile=control_plane.authority)
    tls.load_cert_chain(credential.certificate, credential.key)
    return ApiClient(session, url=control_plane.url, tls=tls)
