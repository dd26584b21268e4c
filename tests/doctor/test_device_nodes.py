"""The dry run of an Allocate."""

import os
import stat
from pathlib import Path

import pytest

from ascend_agent.doctor.device_nodes import CHECK
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import npu, place, put, survey, the_one

NODES = ("davinci_manager", "davinci0", "davinci1", "hisi_hdc")


def nodes(root: Path, *names: str) -> None:
    (root / "dev").mkdir(exist_ok=True)
    for name in names:
        os.mknod(root / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("devices", "/dev/davinci_manager, /dev/hisi_hdc, /dev/davinci0"),
        ("cdi", "CDI device ascend-agent/npu=0"),
        ("runtime", "ASCEND_RUNTIME_OPTIONS=, ASCEND_VISIBLE_DEVICES=0"),
    ],
)
async def test_what_a_container_would_get_is_shown(tmp_path: Path, way: str, words: str) -> None:
    """The thing to compare with a container that finds no NPU (IM-3)."""
    nodes(tmp_path, *NODES)
    where = place(tmp_path, driver=survey(npu(0), npu(1)), settings={"inject": way})

    finding = await the_one(CHECK, where)

    assert finding.verdict is Verdict.OK
    assert words in finding.detail


@pytest.mark.parametrize("logical", [True, False])
async def test_with_hamis_scheduler_the_runtime_is_told_no_options(
    tmp_path: Path, *, logical: bool
) -> None:
    """As an Allocate answers there, and HAMi's plugin did: the variable alone."""
    nodes(tmp_path, *NODES)
    settings: dict[str, object] = {"dialect": "hami", "node_name": "n1", "inject": "runtime"}
    where = place(tmp_path, driver=survey(npu(0)), settings={**settings, "logical_ids": logical})

    finding = await the_one(CHECK, where)

    assert finding.verdict is Verdict.OK
    assert "by runtime: " in finding.detail
    assert "ASCEND_VISIBLE_DEVICES=0" in finding.detail
    assert "ASCEND_RUNTIME_OPTIONS" not in finding.detail


@pytest.mark.parametrize("way", ["devices", "cdi", "runtime"])
@pytest.mark.parametrize(
    ("missing", "about"), [("davinci1", "NPU 1: "), ("davinci_manager", "NPU 0, 1: ")]
)
async def test_a_missing_node_is_told_once_with_the_npus_that_lack_it(
    tmp_path: Path, way: str, missing: str, about: str
) -> None:
    """Allocate must not be the first to find out (IM-6)."""
    nodes(tmp_path, *(name for name in NODES if name != missing))
    where = place(tmp_path, driver=survey(npu(0), npu(1)), settings={"inject": way})

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "device node missing")
    assert finding.detail.startswith(f"{about}device node /dev/{missing} is missing")


async def test_different_troubles_are_told_apart(tmp_path: Path) -> None:
    nodes(tmp_path, "davinci_manager")
    where = place(tmp_path, driver=survey(npu(0), npu(1)))

    findings = await CHECK.look(where)

    assert [one.detail.partition(":")[0] for one in findings] == ["NPU 0", "NPU 1"]


async def test_a_folder_in_a_nodes_place_is_no_node(tmp_path: Path) -> None:
    """A container runtime makes a folder of a mount's source that is not there."""
    nodes(tmp_path, "davinci_manager")
    (tmp_path / "dev/davinci0").mkdir()

    finding = await the_one(CHECK, place(tmp_path, driver=survey(npu(0))))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "no device node")
    assert "/dev/davinci0 is d" in finding.detail


async def test_logical_ids_and_mounts_are_part_of_it(tmp_path: Path) -> None:
    nodes(tmp_path, *NODES)
    put(tmp_path / "usr/local/Ascend/driver/version.info")
    where = place(tmp_path, driver=survey(npu(0)), settings={"logical_ids": True})

    finding = await the_one(CHECK, where)

    assert "ASCEND_RT_VISIBLE_DEVICES=0" in finding.detail
    assert "/usr/local/Ascend/driver/version.info (read-only)" in finding.detail


async def test_simulated_npus_need_no_device_node_where_the_runtime_hands_them_in(
    tmp_path: Path,
) -> None:
    """A container gets the variable alone; by device nodes it would be refused."""
    verdicts = {}
    for way in ("runtime", "devices"):
        settings: dict[str, object] = {"driver": "simulated", "inject": way}
        where = place(tmp_path, driver=survey(npu(0)), settings=settings)
        verdicts[way] = (await the_one(CHECK, where)).verdict

    assert verdicts == {"runtime": Verdict.OK, "devices": Verdict.FAIL}


async def test_without_npus_nothing_is_tried(tmp_path: Path) -> None:
    for driver in (survey(),):
        finding = await the_one(CHECK, place(tmp_path, driver=driver))
        assert finding.verdict is Verdict.SKIPPED
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED
