"""Runs the program as its users do: another process, its exit code, its two streams."""

import os
import subprocess
import sys
from dataclasses import dataclass

PROGRAM = (sys.executable, "-m", "ascend_agent")


@dataclass(frozen=True)
class Outcome:
    """How one run of the program ended."""

    code: int
    out: str
    err: str


def clean_environment(**extra: str) -> dict[str, str]:
    """Return an environment in which nothing of the developer's own reaches the program."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}  # noqa: TID251 -- the tests' environment is made here
    return kept | extra


def run_program(*argv: str, **environment: str) -> Outcome:
    """Run the program to its end."""
    done = subprocess.run(
        [*PROGRAM, *argv],
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
        env=clean_environment(**environment),
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
