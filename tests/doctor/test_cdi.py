"""Our CDI specification on the host."""

import json
import os
import stat
from pathlib import Path

import pytest

from ascend_agent.doctor.cdi import CHECK
from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.picture import draw
from ascend_agent.doctor.place import Place
from ascend_agent.injection import cdi
from ascend_agent.model.allocation import ContainerGrant, DeviceNode
from ascend_agent.settings import Settings
from tests.doctor.scene import SILENT, npu, place, put, survey, the_one

TWO = survey(npu(0), npu(1))
MANAGER = "/dev/davinci_manager"


def document(count: int = 2, *, node: str = MANAGER) -> str:
    """Return the specification of a node of so many NPUs, with that common node."""
    common = ContainerGrant(
        nodes=(DeviceNode(host_path=node, container_path=node, permissions="rw"),)
    )
    picture = draw(survey(*(npu(phy) for phy in range(count))), Settings())
    return json.dumps(cdi.document(picture.npus, common))


@pytest.fixture(name="where")
def _where(tmp_path: Path) -> Place:
    where = place(tmp_path, driver=TWO, settings={"inject": "cdi"})
    os.mknod(tmp_path / "dev/davinci_manager", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return where


@pytest.mark.parametrize(
    ("text", "verdict", "what"),
    [
        (document(), Verdict.OK, "cdi specification in step"),
        (document(1), Verdict.FAIL, "cdi specification out of step"),
        (document(3), Verdict.WARN, "cdi specification out of date"),
        (document(node="/dev/other"), Verdict.WARN, "cdi specification out of date"),
        ("{", Verdict.FAIL, "cdi specification broken"),
        ("[]", Verdict.FAIL, "cdi specification out of step"),
        (None, Verdict.WARN, "no cdi specification"),
    ],
)
async def test_the_file_is_compared_with_what_it_should_say(
    where: Place, text: str | None, verdict: Verdict, what: str
) -> None:
    if text is not None:
        put(where.settings.cdi_dir / "ascend-agent.json", text)

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (verdict, what)


async def test_a_directory_that_can_not_be_written_fails(tmp_path: Path) -> None:
    where = place(tmp_path, driver=TWO, settings={"inject": "cdi", "cdi_dir": "/proc/cdi"})

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "cdi directory not writable")


async def test_without_a_driver_the_file_is_not_judged(tmp_path: Path) -> None:
    for driver in (SILENT, survey()):
        where = place(tmp_path, driver=driver, settings={"inject": "cdi"})
        put(where.settings.cdi_dir / "ascend-agent.json", "{}")

        assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED


async def test_a_missing_common_node_is_the_reason_not_to_judge(tmp_path: Path) -> None:
    where = place(tmp_path, driver=TWO, settings={"inject": "cdi"})
    put(where.settings.cdi_dir / "ascend-agent.json", "{}")

    finding = await the_one(CHECK, where)

    assert finding.verdict is Verdict.SKIPPED
    assert MANAGER in finding.detail


async def test_a_file_of_an_earlier_setting_is_told(tmp_path: Path) -> None:
    where = place(tmp_path, driver=TWO)
    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED

    put(where.settings.cdi_dir / "ascend-agent.json", document())
    left = await the_one(CHECK, where)
    assert (left.verdict, left.what) == (Verdict.WARN, "cdi specification left over")


@pytest.mark.parametrize("kind", ["pipe", "deep"])
async def test_one_that_can_not_be_read_is_broken(where: Place, kind: str) -> None:
    path = where.settings.cdi_dir / "ascend-agent.json"
    if kind == "pipe":
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    else:
        put(path, "[" * 200_000)

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "cdi specification broken")
