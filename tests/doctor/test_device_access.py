"""Opening the driver's nodes, in a process of its own."""

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from ascend_agent.doctor.device_access import CHECK, judge, try_open
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import place, the_one

pytestmark = pytest.mark.peer


def node(root: Path, name: str) -> Path:
    (root / "dev").mkdir(exist_ok=True)
    path = root / "dev" / name
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return path


async def test_nodes_that_open_are_fine(tmp_path: Path) -> None:
    node(tmp_path, "davinci_manager")
    node(tmp_path, "davinci0")

    finding = await the_one(CHECK, place(tmp_path))

    assert finding.verdict is Verdict.OK
    assert "davinci_manager" in finding.detail


async def test_a_node_without_its_driver_fails_beside_the_others(tmp_path: Path) -> None:
    """A socket answers an open as a node without a driver does: ENXIO."""
    node(tmp_path, "davinci0")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "dev/davinci1"))

        finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "device node without a driver")
    assert "davinci1" in finding.detail


async def test_no_node_in_sight_is_a_warning(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.WARN, "no device node in sight")


async def test_an_open_that_does_not_return_costs_the_deadline_alone(tmp_path: Path) -> None:
    """As of a card whose firmware is gone; the deadline here ends before any open can."""
    assert await try_open([node(tmp_path, "davinci0")], deadline_s=0) == {}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EPERM, "privileged"),
        (errno.EACCES, "root"),
        (errno.ENXIO, "load the driver"),
        (errno.EIO, "kernel log"),
        (None, "restart the node"),
    ],
)
def test_each_refusal_has_its_remedy(number: int | None, words: str) -> None:
    """EPERM comes from the device control group alone, and has a remedy of its own (PM-4)."""
    finding = judge(Path("/dev/davinci0"), number)

    assert finding.verdict is Verdict.FAIL
    assert words in finding.remedy


async def test_a_simulated_driver_has_no_nodes(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"driver": "simulated"})

    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED
