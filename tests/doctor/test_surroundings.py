"""What tells of network ports and switches lies with the driver, or is missed."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.chips import SPECS
from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.surroundings import CHECK
from ascend_agent.doctor.survey import Survey
from ascend_agent.model.chip import Ports
from tests.doctor.scene import found, npu, place, put, survey, the_one

WITHOUT_PORTS = next(spec for spec in SPECS if spec.ports is Ports.NONE)
WITH_SWITCHES = next(spec for spec in SPECS if spec.has_switches)


@pytest.fixture(name="safe")
def _safe(tmp_path: Path) -> Iterator[Path]:
    """A folder above which root alone can write, which is not so below /tmp."""
    folder = Path("/root") / f"doctor-{tmp_path.name}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


async def test_a_tool_that_root_alone_can_change_is_fine(tmp_path: Path, safe: Path) -> None:
    tool = put(safe / "hccn_tool")
    tool.chmod(0o755)
    where = place(tmp_path, driver=survey(npu(0)), settings={"hccn_tool": tool})

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.detail) == (Verdict.OK, str(tool))


async def test_a_missing_tool_and_one_that_others_can_change_are_told(tmp_path: Path) -> None:
    """A fault never follows from it, so it is no failure (faults D13)."""
    loose = put(tmp_path / "hccn_tool")
    loose.chmod(0o777)

    for path, why in ((tmp_path / "nowhere", "is not there"), (loose, "chmod")):
        where = place(tmp_path, driver=survey(npu(0)), settings={"hccn_tool": path})
        finding = await the_one(CHECK, where)
        assert (finding.verdict, finding.what) == (Verdict.WARN, "network ports not seen")
        assert why in finding.detail


async def test_switches_are_asked_for_where_chips_have_them(tmp_path: Path, safe: Path) -> None:
    library = put(safe / "liblingqu-dcmi.so")
    library.chmod(0o644)
    answer = survey(npu(0, spec=WITH_SWITCHES))
    where = place(tmp_path, driver=answer)

    assert (Verdict.WARN, "switches not seen") in await found(CHECK, where)

    given = place(tmp_path, driver=answer, settings={"switch_library": library})
    searched = dataclasses.replace(where, environment={"LD_LIBRARY_PATH": str(safe)})
    for there in (given, searched):
        assert (await CHECK.look(there))[1].detail == str(library)


@pytest.mark.parametrize(
    "answer", [survey(npu(0, spec=WITHOUT_PORTS)), survey(npu(0, spec=None)), survey()]
)
async def test_chips_without_either_are_not_judged(tmp_path: Path, answer: Survey) -> None:
    assert (await the_one(CHECK, place(tmp_path, driver=answer))).verdict is Verdict.SKIPPED


async def test_neither_without_a_driver_nor_with_a_simulated_one(tmp_path: Path) -> None:
    simulated = place(tmp_path, driver=survey(npu(0)), settings={"driver": "simulated"})

    for where in (place(tmp_path), simulated):
        assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED
