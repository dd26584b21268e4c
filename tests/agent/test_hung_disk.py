"""A disk of soft slices that never answers costs what is on it and nothing else.

On a real file system that hangs, by the whole agent. Mounting one takes root.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.sim.cluster import FakeApiServer
from tests.agent.scene import node
from tests.agent.test_api_server import FOUR, has_node, options
from tests.host.hung_disk import hung_disk

pytestmark = pytest.mark.cluster

LATE = 'ascend_agent_hami_skipped_series{reason="late"} 1.0'


@pytest.fixture(params=["core", "core/containers", "region"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a directory with those of soft slices, one of which hangs."""
    for name in {"core", "region"} - {request.param}:
        (tmp_path / name).mkdir()
    try:
        with hung_disk(tmp_path / request.param):
            yield tmp_path
    except (PermissionError, FileNotFoundError):
        pytest.skip("this user may not mount a disk")


async def test_all_pages_come_and_the_agent_ends(fake_dcmi: Path, home: Path) -> None:
    """Its page would else be gone just when somebody looks for what is wrong with the node."""
    paths = ("--hami-root", str(home / "core"), "--hami-shared-region", str(home / "region"))
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        async with there.serving("--dialect", "hami", *paths, *options(there, server)) as agent:
            await agent.until(lambda status: status["hami"] and status["api"]["pods"])
            for _ in range(2):
                _, page = await agent.get("/metrics")
                assert LATE in page
                assert "\nascend_agent_npu_healthy{" in page
