"""Room where the agent writes."""

import os
from pathlib import Path

import pytest

from ascend_agent.doctor.disk import CHECK, judge, written
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import found, place


def file_system(
    *, mib: int = 1000, files: int = 1000, most_files: int = 2000, flags: int = 0
) -> os.statvfs_result:
    """Return what statvfs says of a file system with blocks of 1 MiB."""
    block = 1 << 20
    return os.statvfs_result((block, block, 2000, mib, mib, most_files, files, files, flags, 255))


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (file_system(), Verdict.OK),
        (file_system(files=0, most_files=0), Verdict.OK),
        (file_system(mib=63), Verdict.WARN),
        (file_system(files=255), Verdict.WARN),
        (file_system(mib=0), Verdict.FAIL),
        (file_system(files=7), Verdict.FAIL),
        (file_system(flags=os.ST_RDONLY), Verdict.FAIL),
    ],
)
def test_little_room_is_enough_and_none_is_not(seen: os.statvfs_result, verdict: Verdict) -> None:
    """File systems such as btrfs count no files and say 0 of 0."""
    assert judge(Path("/run"), seen).verdict is verdict


async def test_a_directory_that_is_yet_to_be_made_counts_by_the_one_above(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"run_dir": tmp_path / "a/b/c"})

    assert [verdict for verdict, _ in await found(CHECK, where)] == [Verdict.OK, Verdict.OK]


def test_the_cdi_directory_counts_where_it_is_used(tmp_path: Path) -> None:
    settings = place(tmp_path, settings={"inject": "cdi"}).settings

    assert list(written(settings)) == [tmp_path / "plugins", tmp_path / "run", tmp_path / "cdi"]
