"""Refuses build arguments that would make an image nobody can trace or build again.

Decided here: the form of each argument. What the arguments mean is written in the Dockerfile. Runs
in the build stage (``python3 -m image.arguments``), so it knows the standard library alone.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

_PINNED = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SOURCE = re.compile(r"https://\S+")
_EPOCH = re.compile(r"[1-9][0-9]{8,10}")  # a wheel is a ZIP file, whose years begin with 1980
_UNKNOWN = "unknown"


def problems(
    *, base: str, unpinned: str, version: str, revision: str, source: str, epoch: str, built: str
) -> list[str]:
    """Return a sentence for each argument that can't be used; *built* is the project's version."""
    found = []
    if not _PINNED.fullmatch(base) and unpinned != "yes":
        found.append(
            f"BASE={base} is no image@sha256:<64 hex digits>: look the digest up with"
            f" `docker buildx imagetools inspect {base}`, or try without by UNPINNED=yes."
        )
    if unpinned not in {"yes", "no"}:
        found.append(f"UNPINNED={unpinned} is neither yes nor no.")
    if version not in {built, _UNKNOWN}:
        found.append(f"VERSION={version} is not the version of the sources, {built}.")
    if not _REVISION.fullmatch(revision) and revision != _UNKNOWN:
        found.append(f"REVISION={revision} is no full commit id.")
    if not _SOURCE.fullmatch(source) and source != _UNKNOWN:
        found.append(f"SOURCE={source} is no https address.")
    if not _EPOCH.fullmatch(epoch):
        found.append(f"SOURCE_DATE_EPOCH={epoch} is no time in seconds since 1970.")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong, a line each; 2 if anything is."""
    parser = argparse.ArgumentParser(prog="python3 -m image.arguments", description=__doc__)
    for name in ("base", "unpinned", "version", "revision", "source", "epoch"):
        parser.add_argument(f"--{name}", required=True)
    given = vars(parser.parse_args(arguments))
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    found = problems(**given, built=project["version"])
    for problem in found:
        print(problem, file=sys.stderr)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
