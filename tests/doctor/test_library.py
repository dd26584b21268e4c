"""Where the library lies, and who may change it."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.library import CHECK
from tests.doctor.scene import place, put, the_one


@pytest.fixture(name="safe")
def _safe(tmp_path: Path) -> Iterator[Path]:
    """A folder above which root alone can write, which is not so below /tmp."""
    folder = Path("/root") / f"doctor-{tmp_path.name}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


async def test_a_library_that_root_owns_is_fine(tmp_path: Path, safe: Path) -> None:
    library = put(safe / "libdcmi.so")
    library.chmod(0o644)

    finding = await the_one(CHECK, place(tmp_path, settings={"library": library}))

    assert (finding.verdict, finding.detail) == (Verdict.OK, str(library))


async def test_the_search_path_is_that_of_the_environment(tmp_path: Path, safe: Path) -> None:
    put(safe / "libdcmi.so").chmod(0o644)
    where = dataclasses.replace(place(tmp_path), environment={"LD_LIBRARY_PATH": str(safe)})

    assert (await the_one(CHECK, where)).verdict is Verdict.OK


async def test_a_library_that_others_can_change_is_refused(tmp_path: Path, safe: Path) -> None:
    """Root would run whatever they put there (PM-5)."""
    library = put(safe / "libdcmi.so")
    library.chmod(0o666)

    finding = await the_one(CHECK, place(tmp_path, settings={"library": library}))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "library refused")
    assert "chmod go-w" in finding.detail


async def test_no_library_is_a_failure_with_the_places_looked_at(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "library missing")
    assert "LD_LIBRARY_PATH" in finding.detail


async def test_an_unsafe_library_is_told_of(tmp_path: Path) -> None:
    library = put(tmp_path / "libdcmi.so")
    library.chmod(0o666)
    settings: dict[str, object] = {"library": library, "allow_unsafe_library": True}

    finding = await the_one(CHECK, place(tmp_path, settings=settings))

    assert finding.verdict is Verdict.WARN


async def test_a_simulated_driver_needs_none(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"driver": "simulated"})

    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED
