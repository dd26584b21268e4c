"""One node of real programs for all scenes; each scene has pods and agents of its own.

A plugin, as ``tests/cluster/fixtures.py`` is, for scenes that lie in several folders.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chart.account import chart_account
from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node.cluster_node import CONTAINERD, KUBELET, ClusterNode
from tests.cluster.node.hami import CHART_OPTIONS, HamiScene, hami_scene
from tests.cluster.node.scene import Scene


@pytest.fixture(scope="session")
def shared_node() -> Iterator[ClusterNode]:
    """Make the node all scenes share; ``scene`` is what a test asks for."""
    node = ClusterNode()
    yield node
    node.close()


@pytest.fixture
async def scene(
    shared_node: ClusterNode,
    control_plane: ControlPlane,
    api: Api,
    own_namespace: str,
    tmp_path: Path,
) -> AsyncIterator[Scene]:
    """Return a scene of the agents that the chart makes by default."""
    ground = _Ground(shared_node, control_plane, api, own_namespace, tmp_path)
    async with _set(ground) as one:
        yield one


@pytest.fixture
async def hami(
    request: pytest.FixtureRequest,
    shared_node: ClusterNode,
    control_plane: ControlPlane,
    api: Api,
    own_namespace: str,
    tmp_path: Path,
    fake_dcmi: Path,
) -> AsyncIterator[HamiScene]:
    """Return a scene in which HAMi schedules, of the newest version or of the parameter's."""
    version = getattr(request, "param", "2.10")
    ground = _Ground(shared_node, control_plane, api, own_namespace, tmp_path)
    async with (
        _set(ground, *CHART_OPTIONS) as scene,
        hami_scene(scene, fake_dcmi, version=version) as one,
    ):
        yield one


@dataclass(frozen=True, slots=True)
class _Ground:
    """What every scene rests on."""

    node: ClusterNode
    control_plane: ControlPlane
    api: Api
    namespace: str
    folder: Path


@asynccontextmanager
async def _set(ground: _Ground, *options: str) -> AsyncIterator[Scene]:
    """Set a scene whose node runs, though the test before may have ended its programs.

    *options* are Helm's. Afterwards the API server has refused nothing to the agents, unless it
    was restarted: before it has read its rules again it refuses everybody.
    """
    server = ground.control_plane.server.pid
    async with chart_account(
        ground.control_plane,
        ground.api,
        ground.folder / "chart-account",
        namespace=ground.namespace,
        options=options,
    ) as account:
        one = Scene(
            node=ground.node,
            control_plane=ground.control_plane,
            account=account,
            api=ground.api,
            namespace=ground.namespace,
        )
        await one.start_node()
        yield one
        if not ground.control_plane.server.running:
            await ground.control_plane.start_server()
        await one.start_node()  # without a kubelet no pod would end
        await one.clear()
        assert account.refused() == [] or ground.control_plane.server.pid != server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the node's logs to the report of a failure."""
    report = yield
    node = getattr(item, "funcargs", {}).get("shared_node")
    if report.failed and isinstance(node, ClusterNode):
        for name in (KUBELET, CONTAINERD):
            report.sections.append((f"end of {name}'s log", node.tail(name)))
    return report
