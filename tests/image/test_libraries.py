"""Which shared libraries the image gets."""

import sys
from pathlib import Path

import pytest

from image.libraries import MissingLibraryError, is_elf, needs, parse_cache, parse_needs

LDD = """\
\tlinux-vdso.so.1 (0x00007ffd)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)
\tlibgomp-a34.so.1 => /opt/env/lib/x/../x.libs/libgomp-a34.so.1 (0x00007f)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f)
"""
CACHE = """\
3 libs found in cache `/etc/ld.so.cache'
\tlibm.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libm.so.6
\tlibm.so.6 (libc6, OS ABI: Linux 3.2.0) => /lib/i386-linux-gnu/libm.so.6
\tlibstdc++.so.6 (libc6,AArch64) => /usr/lib/aarch64-linux-gnu/libstdc++.so.6
"""


def test_every_library_that_lies_somewhere_is_a_need() -> None:
    """The loader itself is one; what the kernel maps (vdso) is none."""
    assert parse_needs(LDD, of="x") == {
        Path("/lib/x86_64-linux-gnu/libm.so.6"),
        Path("/opt/env/lib/x/../x.libs/libgomp-a34.so.1"),
        Path("/lib64/ld-linux-x86-64.so.2"),
    }


def test_a_missing_library_ends_the_build() -> None:
    with pytest.raises(MissingLibraryError, match=r"^x\.so needs libssl\.so\.3$"):
        parse_needs("\tlibssl.so.3 => not found\n", of="x.so")


def test_the_first_entry_of_the_cache_counts() -> None:
    """It is the one that the loader takes."""
    assert parse_cache(CACHE, ["libstdc++.so.6", "libm.so.6"]) == [
        Path("/usr/lib/aarch64-linux-gnu/libstdc++.so.6"),
        Path("/lib/x86_64-linux-gnu/libm.so.6"),
    ]


def test_a_base_without_the_vendors_libraries_is_refused() -> None:
    with pytest.raises(MissingLibraryError, match=r"the base image has no libz\.so\.1, liby"):
        parse_cache(CACHE, ["libz.so.1", "libm.so.6", "liby"])


def test_the_interpreter_needs_the_c_library(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    program = Path(sys.executable).resolve()

    assert is_elf(program)
    assert not is_elf(text)
    assert "libc.so.6" in {path.name for path in needs([program])}


def test_what_the_loader_can_not_read_ends_the_build(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(b"\x7fELF")
    damaged.chmod(0o755)

    with pytest.raises(MissingLibraryError):
        needs([damaged])
