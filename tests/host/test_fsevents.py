"""Real files, real inotify; only the poll runs on virtual time, so waiting for it costs nothing."""

import asyncio
import contextlib
import logging
import os
import re
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from asyncinotify import Inotify
from looptime import LoopTimeProxy

from ascend_agent.host.fsevents import PluginDirectoryWatcher
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity

STRANGER = 20_000 + os.getpid() % 40_000
"""A user's inotify instances are counted together: another process's tests need another user."""
QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def bind(path: Path) -> socket.socket:
    """Make a socket file and keep it open, as a kubelet or a plugin does."""
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    bound.listen()
    return bound


def make_socket(path: Path) -> None:
    """Make a socket file whose owner is gone again."""
    bind(path).close()


def identity(path: Path) -> SocketIdentity:
    seen = path.stat()
    return SocketIdentity(device=seen.st_dev, inode=seen.st_ino, changed_ns=seen.st_ctime_ns)


class Node:
    """A node's directories below a temporary one, and what the watcher says about them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "device-plugins"
        self.directory.mkdir()
        self.kubelet = self.directory / "kubelet.sock"

    def looks(
        self, directory: Path | None = None, kubelet: Path | None = None
    ) -> AsyncIterator[PluginDirectory]:
        return PluginDirectoryWatcher(
            directory=directory or self.directory, kubelet_socket=kubelet or self.kubelet
        ).looks()


@pytest.fixture
def node() -> Iterator[Node]:
    # Short: a socket's path has 108 bytes. And open to all: some tests look with other eyes.
    root = Path(tempfile.mkdtemp(prefix="node-"))
    root.chmod(0o755)
    yield Node(root)
    shutil.rmtree(root)


@contextlib.contextmanager
def as_stranger() -> Iterator[None]:
    """Be a user without rights, and with inotify limits of its own; root only can become one."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(STRANGER)
    try:
        yield
    finally:
        os.seteuid(me)


async def test_the_first_look_says_what_there_is(node: Node) -> None:
    make_socket(node.kubelet)
    make_socket(node.directory / "Ascend910.sock")

    look = await anext(node.looks())

    assert look == PluginDirectory(
        present=True,
        kubelet=identity(node.kubelet),
        sockets={"Ascend910.sock": identity(node.directory / "Ascend910.sock")},
    )


async def test_only_sockets_are_listed(node: Node) -> None:
    """The kubelet's checkpoint, folders and links lie beside them."""
    (node.directory / "kubelet_internal_checkpoint").write_text("{}")
    (node.directory / "folder").mkdir()
    (node.directory / "fake.sock").write_text("no socket")
    make_socket(node.root / "elsewhere.sock")
    (node.directory / "link.sock").symlink_to(node.root / "elsewhere.sock")

    assert await anext(node.looks()) == PluginDirectory(present=True)


async def test_a_kubelet_socket_that_is_no_socket_is_none(node: Node) -> None:
    node.kubelet.write_text("")

    assert (await anext(node.looks())).kubelet is None


async def test_a_kubelet_that_comes_and_goes_is_noticed_at_once(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """KL-1: by events, not by the poll: no time passes."""
    looks = node.looks()
    assert (await anext(looks)).kubelet is None
    make_socket(node.kubelet)
    assert (await anext(looks)).kubelet == identity(node.kubelet)
    node.kubelet.unlink()
    assert (await anext(looks)).kubelet is None

    assert looptime == 0


async def test_a_replaced_kubelet_socket_is_another_one(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """A socket renamed over the old one gives no DELETE; remove and create look like one change."""
    make_socket(node.kubelet)
    looks = node.looks()
    first = await anext(looks)

    make_socket(node.directory / ".new")
    (node.directory / ".new").rename(node.kubelet)
    second = await anext(looks)
    node.kubelet.unlink()
    make_socket(node.kubelet)
    third = await anext(looks)

    assert len({first.kubelet, second.kubelet, third.kubelet, None}) == 4
    assert third.kubelet == identity(node.kubelet)
    assert looptime == 0


async def test_an_own_socket_that_is_wiped_is_noticed_at_once(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """KL-2: a kubelet that starts removes every socket, ours included."""
    own = bind(node.directory / "Ascend910.sock")
    looks = node.looks()
    assert set((await anext(looks)).sockets) == {"Ascend910.sock"}

    (node.directory / "Ascend910.sock").unlink()

    assert (await anext(looks)).sockets == {}
    assert looptime == 0
    own.close()


async def test_nothing_is_said_while_nothing_changes(node: Node, looptime: LoopTimeProxy) -> None:
    """Neither polls nor the kubelet's checkpoint, rewritten at each Allocate, are news."""
    looks = node.looks()
    await anext(looks)
    checkpoint = node.directory / "kubelet_internal_checkpoint"
    asyncio.get_running_loop().call_later(7, checkpoint.write_text, "{}")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await anext(looks)

    assert looptime == 60


async def test_a_directory_removed_and_made_again_is_followed(
    node: Node, looptime: LoopTimeProxy
) -> None:
    make_socket(node.kubelet)
    looks = node.looks()
    await anext(looks)

    shutil.rmtree(node.directory)
    gone = await anext(looks)
    node.directory.mkdir()
    back = await anext(looks)
    make_socket(node.kubelet)
    served = await anext(looks)

    assert not gone.present
    assert gone.kubelet is None
    assert "is no directory" in gone.trouble
    assert "--device-plugin-dir" in gone.trouble
    assert back == PluginDirectory(present=True)
    assert served.kubelet == identity(node.kubelet)
    assert looptime == 0


async def test_a_directory_removed_under_an_open_socket_is_followed(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """The kernel is silent about its end then, and the old watch is deaf to the new directory."""
    own = bind(node.directory / "Ascend910.sock")
    looks = node.looks()
    await anext(looks)

    shutil.rmtree(node.directory)
    assert not (await anext(looks)).present
    node.directory.mkdir()
    assert (await anext(looks)).present
    make_socket(node.kubelet)
    assert (await anext(looks)).kubelet == identity(node.kubelet)

    assert looptime == 0
    own.close()


async def test_a_directory_renamed_away_is_gone_and_no_longer_watched(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """It would go on ringing under its old name: each change in it would cost a look."""
    looks = node.looks()
    await anext(looks)
    assert watched() == {node.directory.stat().st_ino, node.root.stat().st_ino}

    node.directory.rename(node.root / "old")
    assert not (await anext(looks)).present
    assert watched() == {node.root.stat().st_ino}
    node.directory.mkdir()
    assert (await anext(looks)).present

    assert watched() == {node.directory.stat().st_ino, node.root.stat().st_ino}
    assert looptime == 0


def watched() -> set[int]:
    """Return the inodes that this process watches, as the kernel counts them."""
    lines: list[str] = []
    for info in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            lines += info.read_text().splitlines()
    found = (re.match(r"inotify wd:\w+ ino:(\w+) ", line) for line in lines)
    return {int(match[1], 16) for match in found if match}


async def test_a_directory_swapped_for_another_is_followed(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """Both happen before the watcher looks: to it nothing was ever missing."""
    looks = node.looks()
    await anext(looks)
    node.directory.rename(node.root / "old")
    node.directory.mkdir()
    make_socket(node.directory / "first.sock")
    assert set((await anext(looks)).sockets) == {"first.sock"}

    make_socket(node.directory / "second.sock")

    assert set((await anext(looks)).sockets) == {"first.sock", "second.sock"}
    assert looptime == 0


async def test_a_directory_that_is_not_there_yet_is_waited_for(
    node: Node, looptime: LoopTimeProxy
) -> None:
    looks = node.looks(directory=node.root / "later", kubelet=node.root / "later" / "kubelet.sock")
    assert not (await anext(looks)).present

    (node.root / "later").mkdir()

    assert (await anext(looks)).present
    assert looptime == 0


async def test_what_no_event_told_is_found_by_the_poll(node: Node, looptime: LoopTimeProxy) -> None:
    """Two levels of directories missing: nothing near enough can be watched."""
    directory = node.root / "a" / "b"
    looks = node.looks(directory=directory, kubelet=directory / "kubelet.sock")
    await anext(looks)

    directory.mkdir(parents=True)
    make_socket(directory / "kubelet.sock")

    assert (await anext(looks)).kubelet == identity(directory / "kubelet.sock")
    assert looptime == 2


async def test_a_linked_directory_is_followed_to_its_target(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """Some distributions link it elsewhere; there the target is what comes and goes."""
    (node.root / "data").mkdir()
    target = node.root / "data" / "plugins"
    target.mkdir()
    link = node.root / "link"
    link.symlink_to(target)
    looks = node.looks(directory=link, kubelet=link / "kubelet.sock")
    await anext(looks)
    own = bind(link / "Ascend910.sock")
    await anext(looks)

    shutil.rmtree(target)
    assert not (await anext(looks)).present
    target.mkdir()
    assert (await anext(looks)).present
    link.unlink()
    link.symlink_to(node.directory)
    make_socket(node.kubelet)
    assert (await anext(looks)).kubelet == identity(node.kubelet)

    assert looptime == 0
    own.close()


async def test_a_kubelet_socket_elsewhere_is_watched_too(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """PM-2: the two can be set apart; a file of that name here is then any plugin's."""
    elsewhere = node.root / "run" / "kubelet.sock"
    elsewhere.parent.mkdir()
    looks = node.looks(kubelet=elsewhere)
    await anext(looks)

    make_socket(elsewhere)
    assert (await anext(looks)).kubelet == identity(elsewhere)
    make_socket(node.kubelet)
    assert set((await anext(looks)).sockets) == {"kubelet.sock"}
    shutil.rmtree(elsewhere.parent)
    gone = await anext(looks)

    assert gone.present
    assert gone.kubelet is None
    assert looptime == 0


async def test_the_remains_of_a_directory_are_told_from_a_directory(node: Node) -> None:
    """A pod that mounts the directory alone keeps seeing the one the host has replaced."""
    make_socket(node.kubelet)
    descriptor = os.open(node.directory, os.O_RDONLY)
    shutil.rmtree(node.directory)
    mounted = Path(f"/proc/self/fd/{descriptor}")

    look = await anext(node.looks(directory=mounted, kubelet=mounted / "kubelet.sock"))

    assert not look.present
    assert "only its remains are mounted" in look.trouble
    assert "mount its parent directory" in look.trouble
    os.close(descriptor)


async def test_a_directory_that_may_not_be_read_is_explained(node: Node) -> None:
    """PM-1: one text with path, owner, mode, label and remedy; and it ends when that does."""
    node.directory.chmod(0o700 if os.geteuid() == 0 else 0)
    with as_stranger():
        looks = node.looks()
        refused = await anext(looks)
    node.directory.chmod(0o755)
    with as_stranger():
        allowed = await anext(looks)

    assert not refused.present
    assert refused.trouble.startswith(f"can't list {node.directory}: Permission denied (")
    assert f"owner {os.geteuid()}:{os.getegid()}" in refused.trouble
    assert "SELinux label" in refused.trouble
    assert "run the agent as root and privileged" in refused.trouble
    assert allowed == PluginDirectory(present=True)


async def test_a_kubelet_socket_that_may_not_be_seen_is_explained(node: Node) -> None:
    hidden = node.root / "hidden" / "kubelet.sock"
    hidden.parent.mkdir(mode=0o700 if os.geteuid() == 0 else 0)
    with as_stranger():
        look = await anext(node.looks(kubelet=hidden))

    assert look.present
    assert look.kubelet is None
    assert look.trouble.startswith(f"can't look at {hidden}: Permission denied (")
    hidden.parent.chmod(0o700)


async def test_without_inotify_the_poll_goes_on_and_events_return_by_themselves(
    node: Node, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """PY-8: the number of inotify instances is shared with everything that runs as our user."""
    caplog.set_level(logging.INFO)
    with as_stranger():
        others = take_all_instances()
    async with followed(node.looks()) as looks:
        with as_stranger():
            await looks.get()
        make_socket(node.kubelet)
        with as_stranger():
            assert (await looks.get()).kubelet == identity(node.kubelet)
        assert looptime == 2

        for other in others:
            other.close()
        with as_stranger():
            await asyncio.sleep(3)
        node.kubelet.unlink()
        with as_stranger():
            assert (await looks.get()).kubelet is None
        assert looptime == 5

    assert [record.getMessage() for record in caplog.records] == [
        "directory events unavailable",
        "directory events available again",
    ]
    assert "inotify" in vars(caplog.records[0])["why"]


async def test_a_place_that_may_not_be_watched_is_said_once_and_polled(
    node: Node, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """The directory above may be closed to us while our own is open."""
    node.root.chmod(0o711 if os.geteuid() == 0 else 0o311)
    with as_stranger():
        looks = node.looks()
        await anext(looks)
    shutil.rmtree(node.directory)
    with as_stranger():
        gone = await anext(looks)
    node.directory.mkdir()
    with as_stranger():
        back = await anext(looks)

    assert [gone.present, back.present] == [False, True]
    assert looptime == 2
    (record,) = caplog.records
    assert record.getMessage() == "directory events unavailable"
    assert vars(record)["why"] == f"{node.root}: Permission denied"


async def test_a_watcher_that_never_had_inotify_can_end(node: Node) -> None:
    with as_stranger():
        others = take_all_instances()
        looks = node.looks()
        await anext(looks)
        await looks.aclose()  # type: ignore[attr-defined]
    for other in others:
        other.close()


@contextlib.asynccontextmanager
async def followed(
    looks: AsyncIterator[PluginDirectory],
) -> AsyncIterator[asyncio.Queue[PluginDirectory]]:
    """Let a task read the looks, so that the watcher goes on while the test does other things."""
    seen: asyncio.Queue[PluginDirectory] = asyncio.Queue()

    async def follow() -> None:
        async for look in looks:
            seen.put_nowait(look)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        yield seen
        task.cancel()


def take_all_instances() -> list[Inotify]:
    limit = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    taken: list[Inotify] = []
    with contextlib.suppress(OSError):
        while len(taken) <= limit:
            taken.append(Inotify())
    return taken


@pytest.mark.stalls
async def test_an_overflow_of_the_event_queue_is_one_look(
    node: Node, looptime: LoopTimeProxy
) -> None:
    """What follows is lost to the queue, the kubelet's end included, but not to the look."""
    make_socket(node.kubelet)
    looks = node.looks()
    await anext(looks)
    # Equal events in a row are merged by the kernel, so two files take turns.
    pair = (node.directory / "a", node.directory / "b")
    for path in pair:
        path.touch()
    for _ in range(QUEUE // 2 + 1):
        for path in pair:
            os.utime(path)
    node.kubelet.unlink()

    assert (await anext(looks)).kubelet is None
    assert looptime < 2


async def test_no_descriptor_is_left_behind(node: Node) -> None:
    before = descriptors()
    looks = node.looks()
    await anext(looks)
    for _ in range(5):
        shutil.rmtree(node.directory)
        await anext(looks)
        node.directory.mkdir()
        await anext(looks)
    during = descriptors()
    await looks.aclose()  # type: ignore[attr-defined]

    assert len(during) <= len(before) + 2
    assert descriptors() == before


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}
