import logging
import os
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.files import LocalHostFiles, parse_mount_list
from ascend_agent.model.allocation import DirectoryWant

BASE_LIST = "etc/ascend-docker-runtime.d/base.list"


def write_list(root: Path, text: str) -> Path:
    path = root / BASE_LIST
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def below(root: Path, host_path: str) -> Path:
    """Return where *host_path* is below *root*, its directory made."""
    path = root / host_path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def test_what_exists_is_told_from_what_does_not(tmp_path: Path) -> None:
    """IM-6: asked at each Allocate, because nodes appear while a driver is being installed."""
    below(tmp_path, "/dev/davinci0").touch()
    below(tmp_path, "/usr/local/dcmi").mkdir()
    below(tmp_path, "/dev/dangling").symlink_to("nowhere")
    files = LocalHostFiles(root=tmp_path)
    wanted = ("/dev/davinci0", "/dev/davinci1", "/usr/local/dcmi", "/dev/dangling")

    assert await files.existing(wanted) == {"/dev/davinci0", "/usr/local/dcmi"}


async def test_without_a_root_the_paths_are_our_own(tmp_path: Path) -> None:
    path = below(tmp_path, "/here")
    path.touch()

    assert await LocalHostFiles().existing((str(path), f"{path}.not")) == {str(path)}


async def test_links_are_followed_as_the_host_follows_them(tmp_path: Path) -> None:
    """In a container ``/usr/local/Ascend -> /data/Ascend`` used to lead to the container's own."""
    below(tmp_path, "/data/Ascend/driver/version.info").touch()
    below(tmp_path, "/usr/local/Ascend").symlink_to("/data/./Ascend")
    below(tmp_path, "/usr/local/latest").symlink_to("../local/Ascend/driver")
    below(tmp_path, "/usr/escape").symlink_to("../../../../../../etc")
    below(tmp_path, "/etc/inside").touch()
    below(tmp_path, "/usr/loop").symlink_to("loop")
    files = LocalHostFiles(root=tmp_path)
    wanted = (
        "/usr/local/Ascend/driver/version.info",
        "/usr/local/latest/version.info",
        "/usr/escape/inside",
        "/usr/escape/passwd",
        "/usr/loop",
    )

    assert await files.existing(wanted) == set(wanted[:3])


async def test_a_directory_gives_its_entries_but_no_directories(tmp_path: Path) -> None:
    for name in ("uburma1", "uburma0"):
        below(tmp_path, f"/dev/uburma/{name}").touch()
    below(tmp_path, "/dev/uburma/folder/x").touch()
    below(tmp_path, "/dev/uburma/alias").symlink_to("/dev/uburma/folder")
    files = LocalHostFiles(root=tmp_path)

    for path in ("/dev/uburma", "/dev/uburma/"):
        assert await files.entries(DirectoryWant(path=path)) == (
            "/dev/uburma/uburma0",
            "/dev/uburma/uburma1",
        )


async def test_a_directory_that_is_not_there_has_no_entries(tmp_path: Path) -> None:
    below(tmp_path, "/dev/file").touch()
    files = LocalHostFiles(root=tmp_path)

    assert await files.entries(DirectoryWant(path="/dev/ummu")) == ()
    assert await files.entries(DirectoryWant(path="/dev/file")) == ()


async def _existing(files: LocalHostFiles, path: str) -> frozenset[str]:
    """Ask until there is an answer: for a busy machine five hundredths of a second are too few."""
    while True:
        try:
            return await files.existing((path,))
        except HostError:
            continue


async def test_a_file_system_that_hangs_is_an_error_that_says_so(tmp_path: Path) -> None:
    """A pipe without a writer stands for a dead mount: opening it blocks in the kernel."""
    (tmp_path / "etc" / "ascend-docker-runtime.d").mkdir(parents=True)
    pipe = tmp_path / BASE_LIST
    os.mkfifo(pipe)
    files = LocalHostFiles(root=tmp_path, deadline_s=0.05)
    try:
        with pytest.raises(
            HostError, match=r"within 0.05 s about /etc/.*base.list; look for a hung"
        ):
            await files.base_mounts()
        assert await _existing(files, "/etc") == {"/etc"}
    finally:
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # lets a thread go that got there


async def test_no_list_of_the_host_is_none(tmp_path: Path) -> None:
    files = LocalHostFiles(root=tmp_path)
    assert await files.base_mounts() is None

    (tmp_path / "etc").touch()
    assert await files.base_mounts() is None


async def test_the_hosts_list_is_read_each_time(tmp_path: Path) -> None:
    files = LocalHostFiles(root=tmp_path)
    write_list(tmp_path, "/usr/local/dcmi\n")
    assert await files.base_mounts() == ("/usr/local/dcmi",)

    write_list(tmp_path, "# nothing at all\n")
    assert await files.base_mounts() == ()


@pytest.mark.parametrize(
    ("text", "mounts"),
    [
        ("/a\n/b\n", ("/a", "/b")),
        ("/b\n/a\n/b\n", ("/b", "/a")),
        ("\n  # comment\n\t/a  \n#/c\n", ("/a",)),
        ("/a/./b//c/\n", ("/a/b/c",)),
        ("//a\n", ("/a",)),
        ("/a b\r\n", ("/a b",)),
        ("/..a/b..\n", ("/..a/b..",)),
        ("/usr/local/Ascend/driver/lib64", ("/usr/local/Ascend/driver/lib64",)),
    ],
)
def test_a_mount_list_is_one_path_a_line(text: str, mounts: tuple[str, ...]) -> None:
    assert parse_mount_list(text) == (mounts, ())


@pytest.mark.parametrize(
    "entry", ["a/b", "./a", "/a/../b", "/..", "/", "//", "/.", "/\x07", "/\ufffd"]
)
def test_a_path_that_is_no_sound_one_is_refused_and_the_rest_kept(entry: str) -> None:
    """The list becomes mounts of every container: none may reach what it does not name."""
    assert parse_mount_list(f"/a\n{entry}\n/b\n") == (("/a", "/b"), (ascii(entry),))


async def test_refused_entries_are_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-2: the list is read at each Allocate; a changed complaint is news, the same is not."""
    files = LocalHostFiles(root=tmp_path)
    for text in ("../a\n/b\n", "../a\n/b\n", "x\n", "/b\n", "x\n"):
        write_list(tmp_path, text)
        await files.base_mounts()

    assert [(record.getMessage(), vars(record)["why"]) for record in caplog.records] == [
        ("mount list entries refused", "'../a'"),
        ("mount list entries refused", "'x'"),
        ("mount list entries refused", "'x'"),
    ]


@pytest.mark.parametrize(
    ("text", "why"), [(None, "Is a directory"), ("/a\n" * 30_000, "longer than 65536 bytes")]
)
async def test_a_list_that_can_not_be_read_is_warned_about_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None, why: str
) -> None:
    """The built-in list stands in: without the driver's files no container would work."""
    if text is None:
        (tmp_path / BASE_LIST).mkdir(parents=True)
    else:
        write_list(tmp_path, text)

    assert await LocalHostFiles(root=tmp_path).base_mounts() is None

    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.WARNING, "mount list unreadable")
    assert vars(record)["why"] == why
    assert vars(record)["path"] == f"/{BASE_LIST}"
