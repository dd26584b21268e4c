"""What the head of a library says: whether a process of this machine could load it at all."""

import struct
from typing import Final

HEAD_BYTES: Final = 20
_MAGIC: Final = b"\x7fELF"
_SIXTY_FOUR_BIT: Final = 2
_LITTLE_ENDIAN: Final = 1
_SHARED_OBJECT: Final = 3
_MACHINES: Final = {62: "x86_64", 183: "aarch64", 3: "i386", 40: "arm", 243: "riscv64"}


def library_problem(head: bytes, *, machine: str) -> str:
    """Return why a library with this head is none for *machine*, empty where it is one.

    *machine* is what ``uname -m`` says; *head* are the first ``HEAD_BYTES`` of the file.
    """
    if len(head) < HEAD_BYTES or not head.startswith(_MAGIC):
        return "is no ELF file"
    if head[4] != _SIXTY_FOUR_BIT or head[5] != _LITTLE_ENDIAN:
        return "is no 64-bit little-endian library"
    kind, number = struct.unpack_from("<HH", head, 16)
    if kind != _SHARED_OBJECT:
        return "is no shared library"
    found = _MACHINES.get(number, f"ELF machine {number}")
    return "" if found == machine else f"is for {found}, and this node is {machine}"
