"""One control plane for all scenes, a client of it, and a namespace for each test.

A plugin rather than a ``conftest.py``: scenes lie in several folders, and a fixture that two of
them imported would start twice.
A test that fails shows the end of the programs' logs beside its own output.
"""

from collections.abc import AsyncIterator, Generator
from uuid import uuid4

import pytest
import pytest_asyncio

from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import clear_namespace, make_namespace


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_control_plane() -> AsyncIterator[ControlPlane]:
    """Run the control plane all scenes share; ``control_plane`` is what a test asks for."""
    async with ControlPlane() as one:
        yield one


@pytest.fixture
async def control_plane(shared_control_plane: ControlPlane) -> ControlPlane:
    """Return the shared control plane, running, though the test before may have stopped it."""
    await shared_control_plane.revive()
    return shared_control_plane


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[Api]:
    """Return a client that may do everything."""
    async with control_plane.api() as one:
        yield one


@pytest.fixture
async def own_namespace(api: Api, control_plane: ControlPlane) -> AsyncIterator[str]:
    """Return the name of a namespace that is this test's alone; its pods go with the test."""
    name = f"test-{uuid4().hex[:8]}"
    await make_namespace(api, name, authority=control_plane.authority_pem)
    yield name
    await control_plane.revive()  # the test may have stopped it
    await clear_namespace(api, name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the scenes that take longest: one that came last would be waited for alone."""
    items.sort(key=_limit_s, reverse=True)


def _limit_s(item: pytest.Item) -> float:
    """Return how long a scene may take; 0 for what is none."""
    limit = item.get_closest_marker("timeout") if item.get_closest_marker("cluster") else None
    return limit.args[0] if limit else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the programs' logs to the report of a failure."""
    report = yield
    plane = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and isinstance(plane, ControlPlane):
        for process in (plane.etcd, plane.server):
            report.sections.append((f"end of {process.name}'s log", process.tail()))
    return report
