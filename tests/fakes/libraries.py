"""Libraries as the head of an ELF file describes them; there is nothing in them to run."""

import struct
from typing import Final

MACHINES: Final = {"x86_64": 62, "aarch64": 183}


def library(content: bytes = b"", *, machine: str = "aarch64") -> bytes:
    """Return a whole library: a head, one segment that is all of the file, and no sections."""
    size = 64 + 56 + len(content)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, MACHINES[machine], 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096) + content
