"""A node leaves nothing on the machine, however its end came."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.cluster.node import keeper
from tests.cluster.node.cluster_node import CONTAINERD, ClusterNode
from tests.cluster.node.image import IMAGE
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster

OWNER = """
import asyncio
from tests.cluster.node.test_enclosure import node_with_container
node = asyncio.run(node_with_container())
print(node.home.path, node.group, flush=True)
input()
"""


async def node_with_container() -> ClusterNode:
    """Return a node with a running container, and so with a shim."""
    node = ClusterNode()
    try:
        await node.start_containerd()
        group = f"/{node.group}/container"
        await node.ctr("run", "--detach", "--net-host", "--cgroup", group, IMAGE, "container")
    except BaseException:
        node.close()
        raise
    return node


def processes(group: str) -> list[int]:
    """Return the processes of a node's container, as this machine numbers them."""
    listed = (keeper.of_processes() / group / "container" / "cgroup.procs").read_text()
    return [int(line) for line in listed.split()]


def mounts_of(home: Path) -> list[str]:
    """Return the mounts that this process sees and that speak of *home*."""
    return [
        each for each in Path("/proc/self/mountinfo").read_text().splitlines() if str(home) in each
    ]


def inhabitants(home: Path) -> list[str]:
    """Return the processes that live in a mount namespace where *home* is mounted."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mounts = (process / "mountinfo").read_text()
        except OSError:
            continue
        if str(home) in mounts:
            found.append(process.name)
    return found


def left(home: Path, group: str) -> list[object]:
    """Return all that is left of a node on this machine."""
    groups = [each / group for each in keeper.hierarchies() if (each / group).exists()]
    return [*groups, *mounts_of(home), *inhabitants(home), *([home] if home.exists() else [])]


async def test_a_node_that_is_closed_leaves_nothing() -> None:
    node = await node_with_container()
    home, group = node.home.path, node.group
    assert processes(group)
    assert inhabitants(home)

    node.close()

    assert left(home, group) == []


async def test_a_node_whose_owner_is_killed_leaves_nothing() -> None:
    """As when a test run is ended the hard way: nobody is left to tidy up."""
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, stdin=PIPE, stdout=PIPE
    )
    assert owner.stdout is not None
    home, group = (await owner.stdout.readline()).decode().split()
    assert processes(group)

    owner.send_signal(signal.SIGKILL)
    await owner.wait()

    async def nothing() -> bool | None:
        return not left(Path(home), group) or None

    await eventually(nothing, what="the end of all that the node was")


async def test_a_program_that_ends_is_told_with_its_status() -> None:
    node = ClusterNode()
    try:
        assert await node.run("sh", "-c", "exit 3") == 3
        await node.start_containerd()
        assert node.running(CONTAINERD)

        await node.stop(CONTAINERD, by=signal.SIGKILL)

        assert not node.running(CONTAINERD)
    finally:
        node.close()
