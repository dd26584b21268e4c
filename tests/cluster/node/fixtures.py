"""One node of real programs for all scenes; each scene has pods and agents of its own.

A plugin, as ``tests/cluster/fixtures.py`` is, for scenes that lie in several folders.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest

from tests.chart.account import chart_account
from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node.cluster_node import CONTAINERD, KUBELET, ClusterNode
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
    """Return a scene whose node runs, though the test before may have ended its programs.

    Afterwards the API server has refused nothing to the agents, unless it was restarted: before
    it has read its rules again it refuses everybody.
    """
    server = control_plane.server.pid
    async with chart_account(
        control_plane, api, tmp_path / "chart-account", namespace=own_namespace, options=()
    ) as account:
        one = Scene(
            node=shared_node,
            control_plane=control_plane,
            account=account,
            api=api,
            namespace=own_namespace,
        )
        await one.start_node()
        yield one
        if not control_plane.server.running:
            await control_plane.start_server()
        await one.start_node()  # without a kubelet no pod would end
        await one.clear()
        assert account.refused() == [] or control_plane.server.pid != server


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
