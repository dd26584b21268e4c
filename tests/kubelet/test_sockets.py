import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.errors import KubeletError
from ascend_agent.kubelet import sockets
from tests.kubelet.fakes import open_descriptors, unprivileged


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "Ascend910.sock"


@pytest.fixture
def closed_dir() -> Iterator[Path]:
    """Return a directory this process may look at but not write to, even where it is root."""
    with tempfile.TemporaryDirectory(prefix="dp") as name:
        directory = Path(name)
        directory.chmod(0o555)
        with unprivileged():
            yield directory


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_socket_is_the_owners_alone_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        listener, _ = sockets.bind(path)
    finally:
        os.umask(before)

    with listener:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_socket_listens_when_it_gets_its_name(path: Path) -> None:
    listener, identity = sockets.bind(path)

    with listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        assert list(path.parent.iterdir()) == [path]
        assert identity == sockets.identify(path)
        assert (identity.device, identity.inode) == (path.stat().st_dev, path.stat().st_ino)


def test_a_socket_that_a_dead_agent_left_is_replaced(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, old_identity = sockets.bind(path)
    old.close()

    listener, identity = sockets.bind(path)

    with listener:
        assert identity != old_identity
        assert sockets.is_in_place(path, identity)
        assert not sockets.is_in_place(path, old_identity)
    assert not caplog.records


def test_a_socket_that_is_served_is_replaced_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Our lock keeps a second agent away: this is another plugin, and its user should know."""
    other, _ = sockets.bind(path)

    listener, identity = sockets.bind(path)

    with other, listener:
        assert sockets.is_in_place(path, identity)
    assert [r.getMessage() for r in caplog.records] == ["replaced a socket that was served"]


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_what_is_no_socket_is_never_replaced(path: Path, kind: str) -> None:
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/etc/passwd")
    before = path.lstat()

    with pytest.raises(KubeletError, match=r"is in the way and is no socket: find out whose"):
        sockets.bind(path)

    assert path.lstat() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_private_name_left_by_a_killed_process_is_no_obstacle(path: Path) -> None:
    private = path.with_name(f".{path.name}.{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(private))

    listener, _ = sockets.bind(path)

    listener.close()
    assert not private.exists()


def test_a_path_beyond_the_systems_limit_is_named_with_its_length(plugin_dir: Path) -> None:
    """107 bytes; the system would only say that it is too long."""
    path = plugin_dir / ("x" * 100 + ".sock")

    with pytest.raises(KubeletError, match=r"has \d+ bytes, 107 are the most: use a shorter"):
        sockets.bind(path)


def test_a_missing_directory_is_named_with_what_to_look_at(plugin_dir: Path) -> None:
    path = plugin_dir / "gone" / "Ascend910.sock"

    with pytest.raises(KubeletError) as refused:
        sockets.bind(path)

    text = str(refused.value)
    assert f"cannot create {path}: No such file or directory" in text
    assert "--device-plugin-dir" in text


def test_a_forbidden_directory_is_named_with_owner_mode_and_remedy(closed_dir: Path) -> None:
    """PM-1: one message an operator can act on."""
    with pytest.raises(KubeletError) as refused:
        sockets.bind(closed_dir / "Ascend910.sock")

    text = str(refused.value)
    assert f"cannot create {closed_dir}/Ascend910.sock: Permission denied" in text
    assert f"{closed_dir} belongs to {closed_dir.stat().st_uid}:" in text
    assert "mode 0555" in text
    assert f"the agent runs as {os.geteuid()}:" in text
    assert "security context (SELinux type, AppArmor profile)" in text


def test_a_directory_that_hides_itself_is_named_too(closed_dir: Path) -> None:
    error = PermissionError(13, "Permission denied")

    text = str(sockets.denied("connect to", closed_dir / "none" / "kubelet.sock", error))

    assert "none can't be looked at either (No such file or directory)" in text


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(30, "without readOnly"), (20, "--device-plugin-dir"), (28, "and its file system")],
    ids=["EROFS", "ENOTDIR", "ENOSPC"],
)
def test_every_reason_has_its_remedy(plugin_dir: Path, number: int, remedy: str) -> None:
    text = str(sockets.denied("create", plugin_dir / "a.sock", OSError(number, "reason")))

    assert text.startswith(f"cannot create {plugin_dir}/a.sock: reason; ")
    assert remedy in text


def test_a_failed_attempt_leaves_nothing_behind(plugin_dir: Path) -> None:
    (plugin_dir / "Ascend910.sock").mkdir()
    before = open_descriptors()

    with pytest.raises(KubeletError):
        sockets.bind(plugin_dir / "Ascend910.sock")

    assert open_descriptors() == before
    assert [path.name for path in plugin_dir.iterdir()] == ["Ascend910.sock"]


def test_an_attempt_that_fails_at_the_end_takes_its_private_name_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "rename", fail)

    with pytest.raises(KubeletError, match="Input/output error"):
        sockets.bind(path)

    assert list(path.parent.iterdir()) == []


def test_a_relabelled_socket_is_still_ours(path: Path) -> None:
    """A new label or mode changes the time of change, not the socket."""
    listener, identity = sockets.bind(path)
    with listener:
        path.chmod(0o640)

        assert sockets.identify(path) != identity
        assert sockets.is_in_place(path, identity)


def test_our_socket_is_removed_and_a_strangers_stays(path: Path) -> None:
    listener, identity = sockets.bind(path)
    with listener:
        other, _ = sockets.bind(path)
        with other:
            sockets.remove(path, identity)
            assert path.exists()

            sockets.remove(path, sockets.identify(path))
            assert not path.exists()

            sockets.remove(path, identity)


def test_a_socket_that_cant_be_removed_is_told(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listener, identity = sockets.bind(path)
    path.parent.chmod(0o555)
    with listener, unprivileged():
        sockets.remove(path, identity)
    path.parent.chmod(0o755)

    assert [r.getMessage() for r in caplog.records] == ["own socket stays behind"]
    assert path.exists()
