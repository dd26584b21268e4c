"""Real files, real inotify; only the poll and the settling run on virtual time."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.host.fault_files import FaultDirectory, read_fault_files
from ascend_agent.model.fault_rules import FaultFiles

CODES, RULES = "faultCode.json", "faultCustomization.json"
NAMES = (CODES, RULES)
SETTLE_S = 0.2


def looks(directory: Path) -> AsyncIterator[FaultFiles]:
    return FaultDirectory(directory=directory, names=NAMES).looks()


def mount(directory: Path, version: str, **texts: str) -> None:
    """Do what the kubelet does to a mounted ConfigMap: all files change as one link moves."""
    (directory / version).mkdir(parents=True)
    for name, text in texts.items():
        (directory / version / f"{name}.json").write_text(text)
        link = directory / f"{name}.json"
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}.json")
    (directory / "..data_tmp").symlink_to(version)
    (directory / "..data_tmp").rename(directory / "..data")


def test_the_files_that_are_there_are_read_and_no_others(tmp_path: Path) -> None:
    (tmp_path / CODES).write_text("{}")
    (tmp_path / "PollInterval").write_text("300")

    assert read_fault_files(tmp_path, NAMES) == FaultFiles(texts={CODES: "{}"})


def test_the_files_of_a_mounted_config_map_are_links_that_are_followed(tmp_path: Path) -> None:
    mount(tmp_path, "..1", faultCode="one", faultCustomization="two")

    assert read_fault_files(tmp_path, NAMES).texts == {CODES: "one", RULES: "two"}


@pytest.mark.parametrize("kind", ["absent", "file"])
def test_a_directory_that_can_not_be_looked_into_is_trouble_for_every_file(
    tmp_path: Path, kind: str
) -> None:
    """Named by an option, it is expected to be there: no file in it is not the same."""
    directory = tmp_path / "faults"
    if kind == "file":
        directory.touch()

    found = read_fault_files(directory, NAMES)

    assert found.texts == {}
    assert set(found.troubles) == set(NAMES)
    assert str(directory) in found.troubles[CODES]
    assert "--fault-config-dir" in found.troubles[CODES]


def test_a_file_that_can_not_be_read_is_told_and_the_other_is_read(tmp_path: Path) -> None:
    (tmp_path / RULES).write_text("{}")
    (tmp_path / CODES).mkdir()

    found = read_fault_files(tmp_path, NAMES)

    assert found.texts == {RULES: "{}"}
    assert "no regular file" in found.troubles[CODES]


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / CODES).write_bytes(b"\xff\xfe{}")

    assert read_fault_files(tmp_path, NAMES).troubles == {CODES: "is no UTF-8 text; write it anew"}


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    """Half of an update that went wrong is no wish for the built-in rules."""
    (tmp_path / CODES).symlink_to("..data/faultCode.json")

    found = read_fault_files(tmp_path, NAMES)

    assert found == FaultFiles(troubles={CODES: "is a link to nothing; repair or remove it"})


def test_a_link_to_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / CODES).symlink_to(CODES)

    assert "can't be read" in read_fault_files(tmp_path, NAMES).troubles[CODES]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CODES)

    assert "no regular file" in read_fault_files(tmp_path, NAMES).troubles[CODES]


def test_a_file_of_more_than_a_config_map_holds_is_not_taken_in(tmp_path: Path) -> None:
    """Ten megabytes of small objects took 220 MiB and held the agent up for a second."""
    with (tmp_path / CODES).open("wb") as file:
        file.truncate(1024 * 1024 + 1)

    assert "more than 1048576 bytes" in read_fault_files(tmp_path, NAMES).troubles[CODES]


async def test_a_change_is_seen_at_once(tmp_path: Path, looptime: LoopTimeProxy) -> None:
    (tmp_path / CODES).write_text("one")
    found = looks(tmp_path)
    assert (await anext(found)).texts == {CODES: "one"}

    (tmp_path / CODES).write_text("two")
    assert (await anext(found)).texts == {CODES: "two"}
    (tmp_path / RULES).write_text("three")
    assert (await anext(found)).texts == {CODES: "two", RULES: "three"}
    (tmp_path / CODES).unlink()
    assert (await anext(found)).texts == {RULES: "three"}

    assert looptime <= 4 * SETTLE_S  # writing may be heard of twice


async def test_an_editor_may_take_a_moment(tmp_path: Path) -> None:
    """Half a file would be refused, with a warning, for nothing."""
    found = looks(tmp_path)
    await anext(found)

    (tmp_path / CODES).write_text("{")
    asyncio.get_running_loop().call_later(0.1, (tmp_path / CODES).write_text, "{}")

    assert (await anext(found)).texts == {CODES: "{}"}


async def test_a_mounted_config_map_that_changes_is_seen_as_a_whole(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """PY-8: the kubelet moves one link, and no file is ever absent meanwhile."""
    mount(tmp_path, "..1", faultCode="one", faultCustomization="one")
    found = looks(tmp_path)
    await anext(found)

    mount(tmp_path, "..2", faultCode="two", faultCustomization="two")

    assert await anext(found) == FaultFiles(texts={CODES: "two", RULES: "two"})
    assert looptime <= SETTLE_S


async def test_a_directory_that_appears_is_seen(tmp_path: Path, looptime: LoopTimeProxy) -> None:
    found = looks(tmp_path / "later")
    assert set((await anext(found)).troubles) == set(NAMES)

    (tmp_path / "later").mkdir()

    assert await anext(found) == FaultFiles()
    assert looptime <= 2 * SETTLE_S


async def test_a_link_to_elsewhere_is_followed_by_the_poll(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """No event comes from there: only its own directory could tell."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "codes").write_text("one")
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / CODES).symlink_to("../elsewhere/codes")
    found = looks(tmp_path / "faults")
    await anext(found)

    (tmp_path / "elsewhere" / "codes").write_text("two")

    assert (await anext(found)).texts == {CODES: "two"}
    assert 30 <= looptime <= 31


async def test_a_change_that_changes_nothing_is_not_told(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    (tmp_path / CODES).write_text("one")
    found = looks(tmp_path)
    await anext(found)

    (tmp_path / CODES).write_text("one")
    (tmp_path / "other").write_text("two")
    (tmp_path / "link").symlink_to(CODES)
    (tmp_path / RULES).write_text("news")

    assert (await anext(found)).texts == {CODES: "one", RULES: "news"}


async def test_a_directory_that_does_not_answer_is_trouble_for_every_file(tmp_path: Path) -> None:
    """A dead mount must hold up neither the start nor what is in force."""
    found = FaultDirectory(directory=tmp_path, names=NAMES, deadline_s=0).looks()

    assert set((await anext(found)).troubles) == set(NAMES)
