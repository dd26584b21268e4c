"""The host has the library that limits containers, whole, fit for the machine, or soft is off."""

import asyncio
import contextlib
import json
import logging
import mmap
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host import assets as module
from ascend_agent.host.assets import HostAssets
from tests.fakes.libraries import library
from tests.kubelet.fakes import unprivileged

if TYPE_CHECKING:
    from _typeshed import TraceFunction

LIBRARY = library(b"first version")
NEWER = library(b"second version, and longer")
FOREIGN = library(b"for another machine", machine="x86_64")
PRELOAD = b"/hami-vnpu-core/libvnpu.so\n"
MANIFEST = ".ascend-agent-assets.json"


class Node:
    """The three directories of a node, with assets for arm64 unless a test changes them."""

    def __init__(self, base: Path) -> None:
        self.assets, self.root, self.region = base / "assets", base / "core", base / "region"
        self.assets.mkdir()
        self.put("libvnpu.so", LIBRARY)
        self.put("ld.so.preload", PRELOAD)
        self.host = HostAssets(
            assets=self.assets, root=self.root, region=self.region, machine="aarch64"
        )

    def put(self, name: str, content: bytes, *, mode: int = 0o755) -> None:
        path = self.assets / name
        path.write_bytes(content)
        path.chmod(mode)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.root.iterdir() if path.is_file()}

    def library(self) -> Path:
        return self.root / "libvnpu.so"

    def manifest(self) -> object:
        return json.loads((self.root / MANIFEST).read_text())


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def test_a_new_node_gets_directories_and_files(node: Node) -> None:
    mask = os.umask(0o077)
    try:
        await node.host.prepare()
    finally:
        os.umask(mask)

    assert node.region.stat().st_mode & 0o7777 == 0o777
    assert node.root.stat().st_mode & 0o7777 == 0o775
    files = node.files()
    assert (files.pop("libvnpu.so"), files.pop("ld.so.preload")) == (LIBRARY, PRELOAD)
    assert files.keys() == {MANIFEST}


async def test_a_region_that_was_closed_is_opened(node: Node) -> None:
    """Containers of any user make their files in it."""
    node.region.mkdir(mode=0o755)

    await node.host.prepare()

    assert node.region.stat().st_mode & 0o777 == 0o777


async def test_what_is_equal_is_left_alone(node: Node) -> None:
    await node.host.prepare()
    before = node.library().stat()

    await node.host.prepare()

    after = node.library().stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_a_process_that_has_the_old_library_mapped_keeps_it(node: Node) -> None:
    """HAMi E8: writing into it had running containers die, or run mixed code."""
    await node.host.prepare()
    with node.library().open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as old:
        node.put("libvnpu.so", NEWER)
        await node.host.prepare()

        assert old[:] == LIBRARY
    assert node.library().read_bytes() == NEWER


@pytest.mark.parametrize(("given", "installed"), [(0o600, 0o644), (0o777, 0o755), (0o755, 0o755)])
async def test_every_user_can_read_it_and_none_can_change_it(
    node: Node, given: int, installed: int
) -> None:
    """A container that can't read the library runs without any limit (IM-7)."""
    node.put("libvnpu.so", LIBRARY, mode=given)
    await node.host.prepare()
    assert node.library().stat().st_mode & 0o777 == installed

    node.library().chmod(0o600)
    before = node.library().stat().st_ino
    await node.host.prepare()
    assert node.library().stat().st_mode & 0o777 == installed
    assert node.library().stat().st_ino == before


async def test_what_others_put_there_is_replaced(node: Node) -> None:
    """The older plugin has installed its own; a link would lead us elsewhere."""
    victim = node.assets.parent / "victim"
    victim.write_bytes(LIBRARY)
    node.root.mkdir()
    node.library().symlink_to(victim)
    (node.root / "ld.so.preload").mkdir()

    await node.host.prepare()

    assert not node.library().is_symlink()
    assert victim.read_bytes() == LIBRARY
    assert node.files()["ld.so.preload"] == PRELOAD


async def test_a_directory_with_something_in_it_is_not_ours_to_remove(node: Node) -> None:
    (node.root / "ld.so.preload" / "x").mkdir(parents=True)

    with pytest.raises(HostError, match=r"ld.so.preload: Directory not empty; see --hami-root"):
        await node.host.prepare()


async def test_what_a_crash_left_goes(node: Node) -> None:
    node.root.mkdir()
    for name in (".libvnpu.so.abc.tmp", ".ld.so.preload.abc.tmp", f".{MANIFEST}.abc.tmp"):
        (node.root / name).write_bytes(b"half")

    await node.host.prepare()

    assert node.files().keys() == {"libvnpu.so", "ld.so.preload", MANIFEST}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("libvnpu.so", b"#!/bin/sh\n", "libvnpu.so is no ELF file"),
        ("libvnpu.so", FOREIGN, "is for x86_64, and this node is aarch64"),
        ("libvnpu.so", NEWER[:-1], "is cut off: it has 145 bytes, and 146 belong to it: put a fit"),
        ("ld.so.preload", b"/other.so\n", "does not name /hami-vnpu-core/libvnpu.so"),
        ("ld.so.preload", b"", "does not name"),
        ("ld.so.preload", b"x" * 70_000, "more than 65536 bytes: put a fit"),
    ],
)
async def test_an_unfit_file_is_not_installed(
    node: Node, name: str, content: bytes, problem: str
) -> None:
    """HAMi E9, IM-7: nothing is touched, so what is on the host already stays."""
    await node.host.prepare()
    before = node.files()
    other = {"libvnpu.so": "ld.so.preload", "ld.so.preload": "libvnpu.so"}[name]
    node.put(other, (node.assets / other).read_bytes() + b"\n")
    node.put(name, content)

    with pytest.raises(HostError, match=problem):
        await node.host.prepare()

    assert node.files() == before


def prepare_with(node: Node, change: Callable[[], None], *, at: int) -> int:
    """Prepare, and *change* something before the line *at* of the module; return how many ran."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        nonlocal lines
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                change()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(HostError, OSError, ValueError):
            node.host._prepare()  # here and not on a thread, which would have to be traced
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("how", ["renamed", "rewritten", "other preload"])
def test_a_source_that_changes_at_any_moment_is_installed_whole_and_fit_or_not_at_all(
    tmp_path: Path, how: str
) -> None:
    """Containers that load an unfit library, or none, run without any limit (IM-7)."""

    def change(node: Node) -> None:
        source = node.assets / "libvnpu.so"
        match how:
            case "renamed":
                other = node.assets / "other"
                other.write_bytes(FOREIGN)
                other.replace(source)
            case "rewritten":
                source.write_bytes(FOREIGN)
            case _:
                (node.assets / "ld.so.preload").write_bytes(b"/other.so\n")

    step, steps = 0, 1
    while step < steps:
        step += 1
        (tmp_path / str(step)).mkdir()
        node = Node(tmp_path / str(step))
        steps = max(steps, prepare_with(node, partial(change, node), at=step))

        found = node.files() if node.root.exists() else {}
        assert found.get("libvnpu.so") in {None, LIBRARY}, step
        assert found.get("ld.so.preload") in {None, PRELOAD}, step
    assert steps > 50
    assert found.keys() == {"libvnpu.so", "ld.so.preload", MANIFEST}


async def test_a_file_of_no_bearable_size_is_not_installed(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LARGEST", len(LIBRARY) - 1)

    with pytest.raises(HostError, match=r"libvnpu.so has more than \d+ bytes: replace it"):
        await node.host.prepare()


async def test_a_pipe_in_place_of_an_asset_holds_nobody_up(node: Node) -> None:
    (node.assets / "libvnpu.so").unlink()
    os.mkfifo(node.assets / "libvnpu.so")

    with pytest.raises(HostError, match="is no regular file: replace it"):
        await node.host.prepare()


async def test_where_there_are_no_assets_those_of_the_host_do(node: Node) -> None:
    """Who installs the library by other means needs no assets; it must be fit all the same."""
    await node.host.prepare()
    (node.root / MANIFEST).unlink()
    for name in ("libvnpu.so", "ld.so.preload"):
        (node.assets / name).unlink()

    await node.host.prepare()
    assert node.files() == {"libvnpu.so": LIBRARY, "ld.so.preload": PRELOAD}

    node.library().write_bytes(b"x")
    with pytest.raises(HostError, match=r"core/libvnpu.so is no ELF file: put a fit one"):
        await node.host.prepare()


async def test_where_there_is_neither_the_remedy_is_named(node: Node) -> None:
    (node.assets / "libvnpu.so").unlink()

    with pytest.raises(HostError, match=r"assets/libvnpu.so is missing, and .*--hami-assets, or"):
        await node.host.prepare()


async def test_what_was_lost_is_installed_anew(node: Node) -> None:
    await node.host.prepare()
    node.library().unlink()

    await node.host.prepare()

    assert node.library().read_bytes() == LIBRARY


# --- UP-3: only what was installed from here is removed --------------------------------------


def obsolete(node: Node, content: bytes, *, digest: str = "") -> Path:
    """Have an earlier agent have installed one more file."""
    node.root.mkdir()
    path = node.root / "limiter"
    path.write_bytes(content)
    files = {"limiter": digest or sha256(content).hexdigest()}
    (node.root / MANIFEST).write_text(json.dumps({"format": 1, "files": files}))
    return path


async def test_the_manifest_tells_what_was_installed(node: Node) -> None:
    await node.host.prepare()

    assert node.manifest() == {
        "format": 1,
        "files": {
            "ld.so.preload": sha256(PRELOAD).hexdigest(),
            "libvnpu.so": sha256(LIBRARY).hexdigest(),
        },
    }


async def test_a_file_of_ours_that_is_not_needed_any_more_goes(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = obsolete(node, b"old tool")

    await node.host.prepare()

    assert not path.exists()
    assert "limiter" not in str(node.manifest())
    assert "soft asset removed" in caplog.messages


async def test_a_file_that_others_have_changed_stays(node: Node) -> None:
    path = obsolete(node, b"theirs", digest=sha256(b"ours").hexdigest())

    await node.host.prepare()

    assert path.read_bytes() == b"theirs"


async def test_files_that_no_manifest_names_stay(node: Node) -> None:
    node.root.mkdir()
    (node.root / "limiter").write_bytes(b"theirs")

    await node.host.prepare()

    assert (node.root / "limiter").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        "[]",
        "{}",
        '{"files": []}',
        '{"files": {"limiter": 5, "../victim": "x"}}',
        "x" * 70_000,
        '{"files": {"limiter": "\\ud800"}}',
    ],
)
async def test_a_damaged_manifest_removes_nothing(node: Node, text: str) -> None:
    victim = node.assets.parent / "victim"
    victim.write_bytes(b"x")
    path = obsolete(node, b"x")
    (node.root / MANIFEST).write_text(text)

    await node.host.prepare()

    assert path.exists()
    assert victim.exists()
    assert "libvnpu.so" in str(node.manifest())


# --- what can't be done ---------------------------------------------------------------------


async def test_a_place_that_is_not_mounted_is_explained(tmp_path: Path) -> None:
    host = HostAssets(
        assets=tmp_path, root=tmp_path / "core", region=tmp_path / "absent" / "region"
    )

    with pytest.raises(HostError, match=r"absent/region: No such file .*--hami-shared-region"):
        await host.prepare()


async def test_a_file_in_place_of_a_directory_is_explained(node: Node) -> None:
    node.root.write_text("x")

    with pytest.raises(HostError, match="core: File exists"):
        await node.host.prepare()


async def test_a_refusal_is_explained(node: Node) -> None:
    with unprivileged(), pytest.raises(HostError, match="run the agent as root"):
        await node.host.prepare()


async def test_a_disk_that_hangs_is_an_error(node: Node) -> None:
    host = HostAssets(assets=node.assets, root=node.root, region=node.region, deadline_s=0.02)
    hung = threading.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(host._threads.run(hung.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(HostError, match=r"prepared within 0.02 s; look for a hung"):
            await host.prepare()
        hung.set()
