"""The agent in its image: read-only root, no capability, and a kubelet that takes it."""

import contextlib
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scene import FAULT, AgentProcess, running_agent
from tests.fake_dcmi.control import fake_host
from tests.image.container import Image, bound, emptied
from tests.image.test_result import facts
from tests.peer.client import PeerKubelet, peer_kubelet

pytestmark = [pytest.mark.image, pytest.mark.peer]

PLUGINS = "/var/lib/kubelet/device-plugins"
DRIVER = "/usr/local/Ascend/driver"


@pytest.fixture
async def kubelet(tmp_path: Path) -> AsyncIterator[PeerKubelet]:
    """Return a kubelet that serves in the folder ``plugins``."""
    (tmp_path / "plugins").mkdir()
    async with peer_kubelet(tmp_path / "plugins") as kubelet:
        await kubelet.do("serve")
        yield kubelet


@asynccontextmanager
async def agent(
    image: Image,
    plugins: Path,
    *options: str,
    mounts: Sequence[dict[str, Any]] = (),
    environment: dict[str, str] | None = None,
) -> AsyncIterator[AgentProcess]:
    """Run the agent with what the chart gives; it ends in order by SIGTERM."""
    given = [
        bound(PLUGINS, plugins, writable=True),
        emptied("/run/ascend-agent"),
        emptied("/var/lib/ascend-agent"),
        *mounts,
    ]
    environment = {"ASCEND_DOCKER_RUNTIME": "True", **(environment or {})}
    command = image.command(
        "run", "--http", "127.0.0.1:0", *options, mounts=given, environment=environment
    )
    with command as line:
        async with running_agent(line, {}) as process:
            yield process


def test_it_says_its_version(image: Image) -> None:
    assert image.run("version").startswith("ascend-agent ")


async def test_it_serves_a_node_on_a_read_only_root(
    image: Image, built: Path, kubelet: PeerKubelet, tmp_path: Path
) -> None:
    """Every file it has to write lies in a folder that it is given."""
    async with agent(image, tmp_path / "plugins", "--driver", "simulated", "--npus", "2"):
        registered = await kubelet.event("registered")
        first = await kubelet.event("list")
        answer = await kubelet.do(
            "allocate", endpoint=registered["endpoint"], containers=[["Ascend910-1"]]
        )

    assert registered["resource"] == "huawei.com/Ascend910"
    assert first["healthy"] == 2
    assert answer["containers"][0]["envs"]["ASCEND_VISIBLE_DEVICES"] == "1"
    before, after = facts(built / "first"), facts(image.root)
    files = {name: fact for name, fact in after.items() if not (image.root / name).is_dir()}
    assert files == {name: before[name] for name in before if name in files}
    assert before.keys() <= after.keys()


def test_its_root_can_not_be_written(image: Image) -> None:
    """Proves the test above: a file that somebody wanted to write there would be an error."""
    script = "open('/opt/ascend-agent/new', 'w')"
    with pytest.raises(AssertionError, match="Read-only file system"):
        image.run("-c", script, program="/opt/ascend-agent/bin/python")


async def test_the_hosts_driver_library_runs_in_it(
    image: Image, fake_dcmi: Path, kubelet: PeerKubelet, tmp_path: Path
) -> None:
    """It is mounted, made elsewhere, and finds the C library that it was made for."""
    driver = tmp_path / "driver"
    (driver / "lib64/driver").mkdir(parents=True)
    shutil.copy(fake_dcmi, driver / "lib64/driver/libdcmi.so")
    driver.chmod(0o755)
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(fake_host("preset 910B3 2"))
        folder = host.directory
        async with agent(
            image,
            tmp_path / "plugins",
            mounts=[bound(DRIVER, driver), bound(str(folder), folder, writable=True)],
            environment={"ASCEND_AGENT_LIBRARY_PATH": f"{DRIVER}/lib64/driver", **host.environment},
        ) as process:
            ready = await process.logged("driver ready")
            assert (await kubelet.event("list"))["healthy"] == 2
            host.inject(1, FAULT)
            assert (await kubelet.event("list"))["unhealthy"] == ["Ascend910-1"]

    assert ready["library"] == f"{DRIVER}/lib64/driver/libdcmi.so"
