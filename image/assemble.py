"""Puts the image's root file system together: an interpreter, its libraries, and nothing else.

    python3 -m image.assemble --into /image --environment /opt/ascend-agent --epoch SECONDS

Decided here: what of the base image the agent needs, by allowing rather than by removing: no
shell, no package manager and no compiler can be left over. ``/image/system`` is what follows from
the base, ``/image/agent`` the environment, tidied and moved: two layers, of which a new version of
the agent changes one. Runs in the build stage with the interpreter that the result will have.
"""

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from image import libraries, packages
from image.tree import Tree, settle

# Modules of the standard library that neither the agent nor a library of its imports, and that
# bring programs, test data or libraries of their own along.
UNUSED = frozenset(
    {
        *(
            "curses",
            "dbm",
            "distutils",
            "ensurepip",
            "idlelib",
            "lib2to3",
            "pydoc_data",
            "sqlite3",
            "test",
        ),
        *("tests", "tkinter", "turtle.py", "turtledemo", "venv", "site-packages"),
        *("dist-packages", "__pycache__", "__phello__", "sitecustomize.py"),
    }
)
UNUSED_EXTENSIONS = frozenset(
    {
        *("_ctypes_test", "_curses", "_curses_panel", "_dbm", "_gdbm", "_sqlite3", "_testbuffer"),
        *("_testcapi", "_testclinic", "_testclinic_limited", "_testexternalinspection"),
        *("_testimportmultiple", "_testinternalcapi", "_testlimitedcapi", "_testmultiphase"),
        *("_testsinglephase", "_tkinter", "_xxtestfuzz", "nis", "ossaudiodev", "readline"),
        *("xxlimited", "xxlimited_35", "xxsubtype"),
    }
)
_EMPTY = ("dev", "proc", "root", "run", "sys", "tmp", "usr/local", "var/lib", "var/tmp")
_OPEN = ("tmp", "var/tmp")
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_KEPT_PROGRAMS = ("python", "ascend-agent")


def is_unused(path: Path) -> bool:
    """Return whether a file or folder of the standard library stays behind."""
    name = path.name
    if path.suffix == ".so":
        return name.partition(".")[0] in UNUSED_EXTENSIONS
    return name in UNUSED or name.startswith("config-") or not path.exists()


def carry_interpreter(tree: Tree, environment: Path) -> list[Path]:
    """Carry the interpreter and the standard library; return the files that came.

    The program comes with each link that leads to it from the environment, whose ``python`` is one.
    """
    program = environment / "bin" / "python"
    while program.is_symlink() and program.parent == environment / "bin":
        program = program.parent / program.readlink()
    folders = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib")}
    came = [tree.carry(program)]
    for folder in sorted(folders):
        came += tree.carry_folder(folder, skip=is_unused)
    return came


def carry_libraries(tree: Tree, elf_files: Iterable[Path], environment: Path) -> list[Path]:
    """Carry what *elf_files* need, but for what *environment* holds, and what the vendor's may."""
    wanted = libraries.needs(elf_files) | set(libraries.for_the_vendor())
    own = environment.resolve()
    foreign = (path for path in wanted if own not in path.resolve().parents)
    return [tree.carry(path) for path in sorted(foreign)]


def carry_system(tree: Tree) -> list[Path]:
    """Carry or write what the C library and the loader look at; return the files that came."""
    came = [tree.carry(Path("/sbin/ldconfig")), tree.carry(Path("/etc/ld.so.conf"))]
    came += [tree.carry(path) for path in sorted(Path("/etc/ld.so.conf.d").glob("*.conf"))]
    came.append(tree.carry(Path("/etc/os-release")))
    for name, text in _ACCOUNTS.items():
        tree.write(name, text)
    for name in _EMPTY:
        tree.directory(name)
    (tree.root / "var/run").symlink_to("../run")
    return came


def tidy(environment: Path) -> None:
    """Remove what only somebody who works in the environment would want.

    Other programs than ours, the shells' activation, and pip's note of where our wheel lay.
    """
    for path in (environment / "bin").iterdir():
        if not path.name.startswith(_KEPT_PROGRAMS):
            path.unlink()
    for path in (environment / "include", environment / "share"):
        shutil.rmtree(path, ignore_errors=True)
    (environment / ".gitignore").unlink(missing_ok=True)
    for path in environment.glob("lib/*/site-packages/*.dist-info/direct_url.json"):
        path.unlink()


def compile_all(folder: Path, *, below: Path) -> None:
    """Compile each module below *folder*, which will be seen from the root *below*.

    Unchecked: no source's time or content is looked at again, since neither can change there.

    Raises:
        SyntaxError: a module can't be compiled; nothing would ever import it.

    """
    done = compileall.compile_dir(
        folder,
        maxlevels=sys.getrecursionlimit(),
        quiet=1,
        force=True,
        stripdir=str(below),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        raise SyntaxError(f"not all of {folder} could be compiled")


def assemble(into: Path, environment: Path, *, epoch: int) -> None:
    """Fill *into*, which must not exist yet, with ``system`` and ``agent``."""
    tidy(environment)
    tree = Tree(into / "system")
    came = carry_interpreter(tree, environment)
    extensions = [path for path in environment.rglob("*.so*") if not path.is_symlink()]
    elf_files = [path for path in (*came, *extensions) if libraries.is_elf(path)]
    came += carry_libraries(tree, elf_files, environment)
    came += carry_system(tree)
    packages.carry_origins(tree, came)
    subprocess.run(["/sbin/ldconfig", "-r", tree.root], check=True)
    shutil.rmtree(tree.root / "var/cache", ignore_errors=True)  # ldconfig's own, with times in it
    compile_all(tree.place(Path(os.__file__).resolve().parent), below=tree.root)
    compile_all(environment / "lib", below=Path("/"))
    moved = into / "agent" / environment.relative_to("/")
    moved.parent.mkdir(parents=True)
    shutil.move(environment, moved)
    settle(tree.root, epoch=epoch, open_folders=_OPEN)
    settle(into / "agent", epoch=epoch)


def main() -> int:
    """Do so."""
    parser = argparse.ArgumentParser(prog="python3 -m image.assemble", description=__doc__)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--epoch", type=int, required=True)
    options = parser.parse_args()
    assemble(options.into, options.environment, epoch=options.epoch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
