import struct

import pytest

from ascend_agent.host.elf import HEAD_BYTES, library_problem


def head(
    *, bits: int = 2, order: int = 1, kind: int = 3, machine: int = 183, magic: bytes = b"\x7fELF"
) -> bytes:
    """Return the head of a library for arm64 unless a test says otherwise."""
    return magic + bytes([bits, order]) + bytes(10) + struct.pack("<HH", kind, machine)


def test_a_library_for_this_machine_is_fit() -> None:
    assert len(head()) == HEAD_BYTES
    assert library_problem(head(), machine="aarch64") == ""
    assert library_problem(head(machine=62), machine="x86_64") == ""


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (head()[:-1], "no ELF file"),
        (b"", "no ELF file"),
        (head(magic=b"#!/b"), "no ELF file"),
        (head(bits=1), "no 64-bit little-endian"),
        (head(order=2), "no 64-bit little-endian"),
        (head(kind=2), "no shared library"),
        (head(machine=62), "is for x86_64, and this node is aarch64"),
        (head(machine=999), "is for ELF machine 999, and this node is aarch64"),
    ],
)
def test_any_other_is_not(found: bytes, problem: str) -> None:
    """HAMi E9: the image for amd64 carries the library for arm64."""
    assert problem in library_problem(found, machine="aarch64")
