"""Real inotify; only the poll runs on virtual time. What a watcher makes of it: test_fsevents."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asyncinotify import Mask
from looptime import LoopTimeProxy

from ascend_agent.host.bell import ENTRIES, Bell

POLL_S = 7


@contextmanager
def armed(*directories: Path, mask: Mask = ENTRIES) -> Iterator[Bell]:
    bell = Bell(directories, mask=mask)
    bell.arm()
    try:
        yield bell
    finally:
        bell.close()


async def test_it_rings_at_once_for_what_comes_into_a_directory(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    with armed(tmp_path) as bell:
        (tmp_path / "new").touch()
        await bell.wait(POLL_S)

    assert looptime == 0


async def test_it_rings_at_each_poll_where_nothing_happens(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    with armed(tmp_path) as bell:
        await bell.wait(POLL_S)

    assert looptime == POLL_S


async def test_many_events_ring_once(tmp_path: Path, looptime: LoopTimeProxy) -> None:
    """One look answers them all."""
    with armed(tmp_path) as bell:
        for number in range(100):
            (tmp_path / str(number)).touch()
        await bell.wait(POLL_S)
        await bell.wait(POLL_S)

    assert looptime == POLL_S


async def test_what_is_written_into_a_file_rings_for_whoever_asks_for_it(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """The kubelet rewrites its checkpoint at each Allocate: that is no news of a socket."""
    file = tmp_path / "file"
    file.touch()
    with armed(tmp_path) as deaf, armed(tmp_path, mask=ENTRIES | Mask.CLOSE_WRITE) as bell:
        file.write_text("new")
        await bell.wait(POLL_S)
        assert looptime == 0
        await deaf.wait(POLL_S)

    assert looptime == POLL_S
