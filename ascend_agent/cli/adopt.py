"""The doctor in a pod takes over the options of the agent that runs beside it.

``kubectl exec`` starts a program with the container's environment and without the options of the
pod's own command, so a doctor would judge other settings than those in force. Taken over is what
an agent in the same mount namespace was started with, and only where the doctor was given no such
option itself.
"""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_agent.cli.options import OPTIONS, Command

_PROC = Path("/proc")
_OWN = frozenset(
    {option.flag for option in OPTIONS if Command.RUN not in option.commands}
    | {"--log-level", "--log-style", "--help", "-h"}
)
"""Options that say how to look, not what to look at."""

_VARIABLES = frozenset(
    {
        "ASCEND_DOCKER_RUNTIME",
        "HAMI_VNPU_ASSETS_PATH",
        "HOOK_PATH",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "LD_LIBRARY_PATH",
        "NODE_NAME",
    }
)
_PREFIX = "ASCEND_AGENT_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The command line and environment to go by; ``agent`` is the process they came from."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    agent: int | None = None


def adopt(argv: Sequence[str], environment: Mapping[str, str], *, proc: Path = _PROC) -> Adopted:
    """Return *argv* as it is, or for a doctor without options of its own those of the agent."""
    plain = Adopted(argv=argv, environment=environment)
    if not argv or argv[0] != Command.DOCTOR or not _says_how_alone(argv[1:]):
        return plain
    pid = _find_agent(proc)
    if pid is None:
        return plain
    words, variables = _words(proc / str(pid) / "cmdline"), _variables(proc / str(pid))
    return Adopted(
        argv=[argv[0], *words[_start(words) :], *argv[1:]],
        environment={**environment, **variables},
        agent=pid,
    )


def _says_how_alone(words: Sequence[str]) -> bool:
    return all(word.partition("=")[0] in _OWN for word in words if word.startswith("-"))


def _find_agent(proc: Path) -> int | None:
    """Return the oldest agent that sees the same file system as we do."""
    try:
        here = os.stat(proc / "self/ns/mnt").st_ino  # noqa: PTH116 -- a link that leads nowhere
        pids = sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal())
    except OSError:
        return None
    return next((pid for pid in pids if _is_agent(proc / str(pid), here)), None)


def _is_agent(process: Path, here: int) -> bool:
    if not _start(_words(process / "cmdline")):
        return False
    try:
        return os.stat(process / "ns/mnt").st_ino == here  # noqa: PTH116 -- as above
    except OSError:
        return False  # it has ended, or is not ours to look at


def _start(words: Sequence[str]) -> int:
    """Return where the options of ``ascend-agent run`` begin, 0 where this is another program."""
    for place, (program, command) in enumerate(itertools.pairwise(words)):
        ours = program.rpartition("/")[2] == "ascend-agent" or (
            program == "ascend_agent" and place > 0 and words[place - 1] == "-m"
        )
        if ours and command == Command.RUN:
            return place + 2
    return 0


def _words(cmdline: Path) -> Sequence[str]:
    try:
        return cmdline.read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return ()


def _variables(process: Path) -> Mapping[str, str]:
    """Return the agent's variables that options and driver go by; no others are looked at."""
    try:
        text = (process / "environ").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in text.split("\0"))
    return {
        name: value for name, _, value in pairs if name in _VARIABLES or name.startswith(_PREFIX)
    }
