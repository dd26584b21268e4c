"""Who holds the node lock, asked without taking it."""

from pathlib import Path

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.node_lock import CHECK, LOCK_NAME, is_held, judge
from ascend_agent.host.lock import FileInstanceLock
from tests.doctor.scene import as_nobody, place, put, the_one


async def test_the_agent_that_serves_is_named(tmp_path: Path) -> None:
    lock = FileInstanceLock(tmp_path / "run" / LOCK_NAME)
    where = place(tmp_path)
    assert lock.try_acquire()
    try:
        finding = await the_one(CHECK, where)
    finally:
        lock.release()

    assert finding.verdict is Verdict.OK
    assert finding.detail.startswith("pid ")


def test_asking_leaves_the_lock_to_the_next_agent(tmp_path: Path) -> None:
    path = put(tmp_path / LOCK_NAME)
    lock = FileInstanceLock(path)

    assert not is_held(path)
    assert lock.try_acquire()
    assert is_held(path)
    lock.release()


async def test_a_lock_that_nobody_holds_says_that_no_agent_serves(tmp_path: Path) -> None:
    put(tmp_path / "run" / LOCK_NAME)

    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.WARN, "no agent serves this node")


async def test_a_lock_that_was_never_made_stays_unmade(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"run_dir": tmp_path / "run/deep/down"})

    assert (await the_one(CHECK, where)).verdict is Verdict.WARN
    assert list((tmp_path / "run").iterdir()) == []


def test_a_link_in_its_place_fails(tmp_path: Path) -> None:
    """Whoever can put one there could have any file of the host locked or written."""
    path = tmp_path / LOCK_NAME
    path.symlink_to(put(tmp_path / "target"))

    assert judge(path).verdict is Verdict.FAIL


def test_a_run_directory_that_can_not_be_written_fails() -> None:
    with as_nobody():
        finding = judge(Path("/etc/ascend-agent") / LOCK_NAME)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "lock can't be taken")


def test_a_lock_that_is_not_ours_to_read_is_not_judged() -> None:
    """Only root may open it, so that nobody else can hold it."""
    path = put(Path("/run") / f"doctor-test-{LOCK_NAME}")
    path.chmod(0o600)
    try:
        with as_nobody():
            finding = judge(path)
    finally:
        path.unlink()

    assert finding.verdict is Verdict.SKIPPED
