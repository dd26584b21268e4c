"""Pins every dependency, with hashes, in ``requirements/*.txt``.

``python -m tools.requirements`` compiles the files anew and keeps the versions that still fit;
``--upgrade`` takes the newest ones instead. ``--check`` asks no registry: each file names in its
head the digest of the inputs it was made from, and that digest must be the one of today's
``pyproject.toml``. Which packages are wanted is decided there; here only how they are pinned.
No file names a registry or a path, so they serve every mirror alike.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PYTHON = "3.11"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One requirements file: the project's own dependencies (or not), and dependency groups."""

    file: str
    project: bool
    groups: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Return where the file is."""
        return ROOT / "requirements" / self.file


# The widest one first: the others are compiled within its versions, so all agree.
LOCKS = (
    Lock(file="dev.txt", project=True, groups=("build", "test", "dev")),
    Lock(file="test.txt", project=True, groups=("build", "test")),
    Lock(file="run.txt", project=True, groups=()),
    Lock(file="build.txt", project=False, groups=("build",)),
)


def inputs_digest(lock: Lock) -> str:
    """Return the SHA-256, in hex, of everything in ``pyproject.toml`` that *lock* follows from."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    inputs = {
        "python": document["project"]["requires-python"],
        "environments": document["tool"]["uv"]["environments"],
        "project": document["project"]["dependencies"] if lock.project else [],
        "groups": {group: document["dependency-groups"][group] for group in lock.groups},
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def header(lock: Lock) -> str:
    """Return the head of the file: how it is made, and from which inputs it was."""
    return (
        "# Made by `python -m tools.requirements` from pyproject.toml; not edited by hand.\n"
        f"# inputs: sha256:{inputs_digest(lock)}\n"
    )


def is_fresh(lock: Lock) -> bool:
    """Return whether the file was made from today's inputs."""
    return lock.path.is_file() and lock.path.read_text().startswith(header(lock))


def compile_lock(lock: Lock, *, upgrade: bool) -> None:
    """Resolve *lock* with uv, for every Python and machine at once, and write its file."""
    command = ["uv", "pip", "compile", "--universal", f"--python-version={_PYTHON}"]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
    command += ["--output-file", str(lock.path)]
    command += ["pyproject.toml"] if lock.project else []
    command += [f"--group={group}" for group in lock.groups]
    if lock is LOCKS[0]:
        command += ["--upgrade"] if upgrade else []
    else:
        command += ["--upgrade", "--constraint", str(LOCKS[0].path)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    lock.path.write_text(header(lock) + lock.path.read_text())


def main() -> int:
    """Compile the files, or say which are stale."""
    parser = argparse.ArgumentParser(prog="python -m tools.requirements", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which files are stale")
    parser.add_argument("--upgrade", action="store_true", help="take the newest fitting versions")
    options = parser.parse_args()
    if options.check:
        stale = [lock.file for lock in LOCKS if not is_fresh(lock)]
        for file in stale:
            print(f"requirements/{file} is stale: run `python -m tools.requirements`")
        return 1 if stale else 0
    for lock in LOCKS:
        compile_lock(lock, upgrade=options.upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main())
