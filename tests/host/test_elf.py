"""A library that the loader would ignore limits nobody."""

import os
import struct
from pathlib import Path

import pytest

from ascend_agent.host.elf import library_problem
from tests.fakes.libraries import library

WHOLE = library(bytes(range(200)))


def changed(at: int, what: bytes) -> bytes:
    """Return the library for arm64 with other bytes there."""
    return WHOLE[:at] + what + WHOLE[at + len(what) :]


def problem(content: bytes, *, machine: str = "aarch64") -> str:
    return library_problem(content, machine=machine, size=len(content))


def test_a_library_for_this_machine_is_fit() -> None:
    assert problem(WHOLE) == ""
    assert problem(library(machine="x86_64"), machine="x86_64") == ""


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (WHOLE[:19], "no ELF file"),
        (b"", "no ELF file"),
        (changed(0, b"#!/b"), "no ELF file"),
        (changed(4, b"\1"), "no 64-bit little-endian"),
        (changed(5, b"\2"), "no 64-bit little-endian"),
        (changed(16, b"\2"), "no shared library"),
        (library(machine="x86_64"), "is for x86_64, and this node is aarch64"),
        (changed(18, struct.pack("<H", 999)), "is for ELF machine 999, and this node is aarch64"),
        (library(machine="x86_64")[:30], "is for x86_64"),
    ],
)
def test_any_other_is_not(found: bytes, why: str) -> None:
    """HAMi E9: the image for amd64 carries the library for arm64."""
    assert why in problem(found)


def test_one_that_is_cut_off_anywhere_is_none() -> None:
    """So is each copy until it is finished; containers would run without any limit, or die."""
    for kept in range(20, len(WHOLE)):
        assert f"is cut off: it has {kept} bytes" in problem(WHOLE[:kept])


@pytest.mark.parametrize(
    ("at", "what"),
    [
        (32, struct.pack("<Q", 2**63)),
        (40, struct.pack("<Q", 2**63)),
        (56, struct.pack("<H", 65535)),
        (54, struct.pack("<H", 65535)),
        (60, struct.pack("<H", 100)),
        (64 + 8, struct.pack("<Q", 2**64 - 1)),
        (64 + 32, struct.pack("<Q", 2**64 - 1)),
    ],
    ids=["segments", "sections", "many", "large", "many sections", "offset", "length"],
)
def test_a_head_that_speaks_of_more_than_there_is_is_one_of_a_file_cut_off(
    at: int, what: bytes
) -> None:
    assert "is cut off" in problem(changed(at, what))


def test_segments_without_a_size_are_none() -> None:
    assert problem(changed(54, b"\0\0")) == ""


def test_what_is_not_loaded_need_not_be_there() -> None:
    """As of a segment for debuggers, which went with its symbols."""
    elsewhere = struct.pack("<IIQ", 4, 4, 1 << 40)

    assert problem(changed(64, elsewhere)) == ""


def test_the_head_of_a_long_file_is_enough() -> None:
    content = library(bytes(5_000_000))

    assert library_problem(content[:4096], machine="aarch64", size=len(content)) == ""
    assert "cut off" in library_problem(content[:4096], machine="aarch64", size=4_999_999)


def test_the_libraries_of_this_machine_are_whole() -> None:
    """Those that this very process has loaded stand for the one of HAMi, which is not ours."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    loaded = {Path(line.split()[-1]) for line in maps if ".so" in line}

    found = {}
    for path in (each for each in loaded if each.exists()):
        with path.open("rb") as file:
            head = file.read(4096)
        size = path.stat().st_size
        found[path] = library_problem(head, machine=os.uname().machine, size=size)

    assert found
    assert not any(found.values()), found
