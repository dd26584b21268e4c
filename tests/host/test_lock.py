import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.lock import FileInstanceLock

HOLD = """
import sys
from pathlib import Path
from ascend_agent.host.lock import FileInstanceLock
lock = FileInstanceLock(Path(sys.argv[1]))
print(lock.try_acquire(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "ascend-agent.lock"


def test_a_free_lock_is_taken_and_stays_taken(path: Path) -> None:
    lock = FileInstanceLock(path)

    assert lock.try_acquire()
    assert lock.try_acquire()
    lock.release()


def test_one_of_two_instances_gets_the_lock(path: Path) -> None:
    """KL-4: two instances side by side make the kubelet reset its counts."""
    first, second = FileInstanceLock(path), FileInstanceLock(path)
    assert first.try_acquire()
    assert not second.try_acquire()

    first.release()

    assert second.try_acquire()
    assert not first.try_acquire()
    second.release()


def test_a_refused_try_costs_no_descriptor(path: Path) -> None:
    """A waiting instance tries ten times a second, for hours if need be."""
    first, second = FileInstanceLock(path), FileInstanceLock(path)
    first.try_acquire()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        second.try_acquire()

    assert len(list(Path("/proc/self/fd").iterdir())) == before
    first.release()


def test_directory_and_file_are_made_with_safe_modes(path: Path) -> None:
    """Whoever could open the file could hold the lock, and the node would have no agent."""
    mask = os.umask(0)
    try:
        lock = FileInstanceLock(path)
        lock.try_acquire()
    finally:
        os.umask(mask)

    assert path.parent.stat().st_mode & 0o777 == 0o755
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_file_that_was_too_open_is_closed_to_others(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    path.chmod(0o666)
    lock = FileInstanceLock(path)
    lock.try_acquire()

    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


def test_the_holder_introduces_itself(path: Path) -> None:
    first, second = FileInstanceLock(path), FileInstanceLock(path)
    first.try_acquire()

    assert re.fullmatch(rf"pid {os.getpid()} on \S+ since \d{{4}}-\S+\+00:00", second.holder())
    first.release()
    assert second.holder() == ""


def test_what_stands_in_the_file_is_not_trusted(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"evil\x1b[2J\n\xff" + b"x" * 10_000)

    holder = FileInstanceLock(path).holder()

    assert holder.startswith("evil [2J \ufffdxxx")
    assert len(holder) < 300


def test_a_holder_that_can_not_be_read_is_unknown(path: Path) -> None:
    assert FileInstanceLock(path).holder() == "unknown (No such file or directory)"


def test_the_file_outlives_its_holder(path: Path) -> None:
    """A removed file could be locked by one instance and made anew and locked by another."""
    lock = FileInstanceLock(path)
    lock.try_acquire()
    inode = path.stat().st_ino
    lock.release()
    lock.release()

    assert path.stat().st_ino == inode


def test_a_holder_whose_file_was_removed_takes_the_new_one(path: Path) -> None:
    """Else a second instance could lock the new file while we believe that we hold the node."""
    first, second = FileInstanceLock(path), FileInstanceLock(path)
    first.try_acquire()
    path.unlink()

    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()


def test_a_holder_whose_file_was_replaced_and_taken_holds_nothing(path: Path) -> None:
    first, second = FileInstanceLock(path), FileInstanceLock(path)
    first.try_acquire()
    path.unlink()
    second.try_acquire()

    assert not first.try_acquire()
    second.release()


def test_a_link_is_not_followed(path: Path) -> None:
    """The file is truncated and written to, as root: no link may choose which one."""
    path.parent.mkdir()
    victim = path.parent / "victim"
    victim.write_text("precious")
    path.symlink_to(victim)

    with pytest.raises(HostError, match=rf"lock {path} is a symbolic link; remove it"):
        FileInstanceLock(path).try_acquire()
    assert "unknown" in FileInstanceLock(path).holder()
    assert victim.read_text() == "precious"


def test_a_pipe_is_refused_without_waiting(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)

    with pytest.raises(HostError, match="is no regular file; remove it, or set --run-dir"):
        FileInstanceLock(path).try_acquire()


def test_a_run_directory_that_can_not_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HostError, match=r"can't take lock .*file/x/a.lock: .*--run-dir must be"):
        FileInstanceLock(tmp_path / "file" / "x" / "a.lock").try_acquire()


@pytest.mark.peer
def test_the_lock_of_a_killed_process_is_free_at_once(path: Path) -> None:
    """No lease to wait for: the kernel gives it back with the process's descriptors."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    lock = FileInstanceLock(path)
    with holder.stdin, holder.stdout:
        assert holder.stdout.readline() == b"True\n"
        assert not lock.try_acquire()
        assert f"pid {holder.pid} on " in lock.holder()
        holder.kill()
        holder.wait()

    assert lock.try_acquire()
    lock.release()


@pytest.mark.peer
def test_a_child_process_does_not_inherit_the_lock(path: Path) -> None:
    """The driver worker may outlive us for a moment; it must not hold the node."""
    lock = FileInstanceLock(path)
    lock.try_acquire()
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        close_fds=False,
    )
    assert child.stdin is not None
    with child.stdin:
        lock.release()
        other = FileInstanceLock(path)
        taken = other.try_acquire()
    child.wait()

    assert taken
    other.release()
