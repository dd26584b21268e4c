"""A connection of the agent's own, to the fake API server or through the fault proxy, running."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from ascend_agent.cluster.collection import SILENCE_S
from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.cluster.credentials import Access, Credentials, Tls
from ascend_agent.cluster.lean import load_library
from ascend_agent.cluster.server import ApiServer
from ascend_agent.cluster.tally import Tally
from ascend_agent.model.cluster import ConfigMapKey, NodeEdit
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.clock import Clock

T = TypeVar("T")

NODE = NodeName("n1")
LIBRARY = load_library(kubeconfig=True)
"""Imported with the tests: in one of them it would block the loop."""

AUTHORITY = Path(__file__).parents[1] / "fakes" / "authority.pem"
"""Vouches for nobody; without one the whole bundle of the host would be read for each client."""


def service_account(folder: Path, token: str = "t0ken", authority: Path = AUTHORITY) -> Path:  # noqa: S107 -- no secret of anybody
    """Make a directory as the kubelet projects it into a pod."""
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(f"{token}\n")
    (folder / "ca.crt").write_bytes(authority.read_bytes())
    return folder


def connection(
    *,
    folder: Path,
    url: str | None = None,
    kubeconfig: Path | None = None,
    node: NodeName = NODE,
    silence_s: float = SILENCE_S,
    fault_config_map: ConfigMapKey | None = None,
) -> ClusterConnection:
    """Return a connection that has not begun, with the credentials in *folder*."""
    return ClusterConnection(
        node=node,
        api_server=url,
        kubeconfig=kubeconfig,
        service_account_dir=folder,
        relax_tls=False,
        now=Clock().now,
        silence_s=silence_s,
        fault_config_map=fault_config_map,
    )


@asynccontextmanager
async def running(one: ClusterConnection) -> AsyncIterator[ClusterConnection]:
    """Run *one* while the block does; its failure is the test's."""
    task = asyncio.get_running_loop().create_task(one.run(), name="connection")
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


async def until(states: AsyncIterator[T], fits: Callable[[T], object]) -> T:
    """Return the first of *states* that fits."""
    async with asyncio.timeout(7200):
        async for state in states:
            if fits(state):
                return state
    raise AssertionError


def labels(**wanted: str | None) -> NodeEdit:
    """Return an edit of labels alone."""
    return NodeEdit(labels=wanted, annotations={})


TLS = Tls(authority=str(AUTHORITY))


class Shown:
    """Credentials that a test changes at will."""

    def __init__(self, url: str) -> None:
        self.origin = "the test"
        self.access = Access(server=url, authorization="Bearer first", tls=TLS)
        self.renewed: list[Access] = []
        self.renewals = 0

    async def current(self) -> Access:
        """Return what the test set."""
        return self.access

    async def renew(self) -> Access:
        """Return the next of ``renewed``, if there is one."""
        self.renewals += 1
        if self.renewed:
            self.access = self.renewed.pop(0)
        return self.access


@asynccontextmanager
async def client(
    url: str,
    *,
    credentials: Credentials | None = None,
    tally: Tally | None = None,
    relax_tls: bool = False,
) -> AsyncIterator[ApiServer]:
    """Give a client of the server at *url*."""
    server = ApiServer(
        library=LIBRARY,
        credentials=credentials or Shown(url),
        relax_tls=relax_tls,
        user_agent="ascend-agent/test",
        tally=tally or Tally(),
    )
    try:
        yield server
    finally:
        await server.close()
