"""What a library says of itself: whether a process of this machine could load it at all.

And whether it is whole: of one that was cut off, as a copy is until it is finished, the loader
says that it is ignored, or each process that loads it dies of a bus error.
"""

import struct
from collections.abc import Iterator
from typing import Final

_HEAD_BYTES: Final = 20
_MAGIC: Final = b"\x7fELF"
_SIXTY_FOUR_BIT: Final = 2
_LITTLE_ENDIAN: Final = 1
_SHARED_OBJECT: Final = 3
_MACHINES: Final = {62: "x86_64", 183: "aarch64", 3: "i386", 40: "arm", 243: "riscv64"}
_HEADER: Final = struct.Struct("<32xQQ6xHHHH2x")
_SEGMENT: Final = struct.Struct("<I4xQ16xQ16x")
_LOADED: Final = 1


def library_problem(head: bytes, *, machine: str, size: int) -> str:
    """Return why a library is none for *machine*, empty where it is one.

    *machine* is what ``uname -m`` says; *head* are the first kibibytes of the file, *size* is that
    of all of it.
    """
    if len(head) < _HEAD_BYTES or not head.startswith(_MAGIC):
        return "is no ELF file"
    if head[4] != _SIXTY_FOUR_BIT or head[5] != _LITTLE_ENDIAN:
        return "is no 64-bit little-endian library"
    kind, number = struct.unpack_from("<HH", head, 16)
    if kind != _SHARED_OBJECT:
        return "is no shared library"
    found = _MACHINES.get(number, f"ELF machine {number}")
    if found != machine:
        return f"is for {found}, and this node is {machine}"
    needed = max(_ends(head))
    return f"is cut off: it has {size} bytes, and {needed} belong to it" if needed > size else ""


def _ends(head: bytes) -> Iterator[int]:
    """Yield where each part ends that the head speaks of."""
    yield _HEADER.size
    if len(head) < _HEADER.size:
        return
    segments, sections, segment_bytes, count, section_bytes, section_count = _HEADER.unpack_from(
        head
    )
    yield segments + count * segment_bytes
    yield sections + section_count * section_bytes
    for at in range(segments, segments + count * segment_bytes, max(segment_bytes, 1)):
        if at + _SEGMENT.size <= len(head):
            kind, offset, length = _SEGMENT.unpack_from(head, at)
            if kind == _LOADED:
                yield offset + length
