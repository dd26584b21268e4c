"""Compiles what a soft slice needs to be seen from inside: the library, and who has it loaded.

The image of the scenes is static and loads no library, so a dynamic program comes in a folder of
its own, with the loader and the C library of this machine.
"""

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

PLACE: Final = "/npu"
"""Where a container has the program's folder; the path is in the program."""

PROGRAM: Final = f"{PLACE}/user"

_SOURCES: Final = Path(__file__).parent
_LOADER: Final = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
_LIBC: Final = "libc.so.6"
_STRICT: Final = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror")


def build_assets(folder: Path) -> Path:
    """Fill *folder* with the library and what loads it, as an image of HAMi's has them."""
    folder.mkdir(parents=True)
    _compile("libvnpu.c", folder / "libvnpu.so", "-shared", "-fPIC")
    (folder / "ld.so.preload").write_text("/hami-vnpu-core/libvnpu.so\n")
    return folder


def build_program(folder: Path) -> Path:
    """Fill *folder* with the program and all that it loads by itself."""
    folder.mkdir(parents=True)
    loader = _LOADER[platform.machine()]
    for name in (loader, _LIBC):
        shutil.copy(_found(name), folder / name)
    # An old-style run path is heeded for what is preloaded, too.
    paths = f"-Wl,--disable-new-dtags,-rpath,{PLACE},--dynamic-linker,{PLACE}/{loader}"
    _compile("user.c", folder / "user", paths)
    return folder


def _compile(source: str, target: Path, *options: str) -> None:
    subprocess.run(["gcc", *_STRICT, *options, _SOURCES / source, "-o", target], check=True)


def _found(name: str) -> str:
    """Return where gcc finds a file of the C library."""
    done = subprocess.run(
        ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
