"""A kubelet in a directory of its own, with short paths: sockets have 107 bytes."""

import tempfile
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from ascend_agent.runtime.topic import TopicReader
from ascend_agent.sim.kubelet import EmbeddedKubelet, Happening

H = TypeVar("H", bound=Happening)


class Stage:
    """A kubelet, where it lives, and all that happens from its start."""

    def __init__(self, directory: Path) -> None:
        self.plugins = directory / "plugins"
        self.pod_resources = directory / "pods" / "kubelet.sock"
        self.kubelet = EmbeddedKubelet(
            plugin_dir=self.plugins, pod_resources_socket=self.pod_resources
        )
        self._reader: TopicReader[Happening] = self.kubelet.happened.subscribe()
        self._seen: deque[Happening] = deque(maxlen=1000)

    @property
    def socket(self) -> Path:
        """The registration socket."""
        return self.plugins / "kubelet.sock"

    async def next(self, kind: type[H]) -> H:
        """Return the next happening of *kind*; others before it are skipped."""
        while True:
            while self._seen:
                happening = self._seen.popleft()
                if isinstance(happening, kind):
                    return happening
            self._seen.extend(await self._reader.next())


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    """Run a kubelet until the block ends."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        stage = Stage(Path(name))
        async with stage.kubelet:
            yield stage
