"""An independent kubelet and the agent's endpoint, face to face in one directory."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ascend_agent.kubelet.endpoint import KubeletEndpoint
from tests.kubelet.fakes import FakeAllocator, endpoint, offer
from tests.peer.client import PeerKubelet, peer_kubelet


@pytest.fixture
def plugin_dir() -> Iterator[Path]:
    """Return an empty directory with a short path."""
    with tempfile.TemporaryDirectory(prefix="dp") as name:
        yield Path(name)


@pytest.fixture
async def kubelet(plugin_dir: Path) -> AsyncIterator[PeerKubelet]:
    """Return a kubelet that has not begun to serve."""
    async with peer_kubelet(plugin_dir) as one:
        yield one


@pytest.fixture
def allocator() -> FakeAllocator:
    return FakeAllocator()


@pytest.fixture
async def ours(plugin_dir: Path, allocator: FakeAllocator) -> AsyncIterator[KubeletEndpoint]:
    """Return an open endpoint that offers 16 NPUs and is not registered."""
    one = endpoint(plugin_dir, allocator=allocator)
    one.publish(offer(16))
    await one.open()
    yield one
    await one.close()
