"""Where a check looks: the settings it judges, and this process's views of the host.

Everything a check needs comes from here, so that a test can build the node it wants.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ascend_agent.doctor.answers import ClusterAnswer, DriverAnswer
from ascend_agent.host.files import LocalHostFiles
from ascend_agent.runtime.threads import Threads
from ascend_agent.settings import Settings

T = TypeVar("T")

_AT_ONCE = 32
"""Threads for questions to file systems: some may hang, the others must still be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One node as the doctor sees it.

    ``settings`` have the kubelet's directories located. ``origins`` tells by which name a setting
    was given, ``unused`` what was given in vain, and why, ``adopted_from`` which running agent's
    options these are. ``proc``, ``sys`` and ``dev`` are ours:
    in a pod they are the host's as far as the pod's own mounts are. ``driver`` and ``cluster`` are
    each asked once, however many checks want the answer.
    """

    settings: Settings
    environment: Mapping[str, str]
    driver: Callable[[], Awaitable[DriverAnswer]]
    cluster: Callable[[], Awaitable[ClusterAnswer]]
    origins: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[tuple[str, str], ...] = ()
    adopted_from: int | None = None
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    deadline_s: float = 15.0
    threads: Threads = field(default_factory=lambda: Threads(name="doctor", limit=_AT_ONCE))

    async def off_loop(self, question: Callable[[], T]) -> T:
        """Return what *question* returns; it may ask a file system that hangs.

        Raises:
            TimeoutError: no answer within the deadline.

        """
        return await self.threads.run(question, deadline_s=self.deadline_s)

    @property
    def host_files(self) -> LocalHostFiles:
        """Return the host's files as Allocate asks for them."""
        return LocalHostFiles(root=self.settings.host_root, deadline_s=self.deadline_s)

    def on_host(self, path: str) -> Path:
        """Return where this process sees *path* of the host; asks a file system for its links."""
        return Path(self.host_files.locate(path))
