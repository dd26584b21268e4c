"""An agent on a simulated node with a kubelet, all in one process and on virtual time.

The sockets between them are real, so everything but processes and threads is the product's own.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ascend_agent.app import Agent
from ascend_agent.driver.simulated.peer import spawn_in_loop
from ascend_agent.model.ids import ResourceName
from ascend_agent.settings import DriverKind, InjectionWay, Settings, SimulatedNode
from ascend_agent.sim.host import SimulatedFiles, SimulatedNuma
from ascend_agent.sim.kubelet import EmbeddedKubelet, Happening, Listed, Pod
from tests.fakes.running import running

H = TypeVar("H", bound=Happening)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the kubelet saw, and when: loop seconds since the stage was set."""

    at_s: float
    happening: Happening


class Stage:
    """A node: its settings, its kubelet, and the ``story`` of what the kubelet saw.

    Neither kubelet nor agent is up before the test says so.
    """

    def __init__(self, directory: Path, settings: Settings) -> None:
        self.directory = directory
        self.settings = settings
        self.plugins = settings.device_plugin_dir
        self.kubelet = EmbeddedKubelet(
            plugin_dir=self.plugins, pod_resources_socket=settings.pod_resources_socket
        )
        self.story: list[Moment] = []
        self._reader = self.kubelet.happened.subscribe()
        self._news = asyncio.Event()
        self._taken = 0
        self._started = asyncio.get_running_loop().time()

    def now(self) -> float:
        """Return loop seconds since the stage was set."""
        return asyncio.get_running_loop().time() - self._started

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        """Run an agent of the stage's settings until the block ends, then let it drain."""
        agent = Agent(
            self.settings,
            worker_environment={},
            host=SimulatedFiles(),
            numa=SimulatedNuma(npus=self.settings.simulated.count),
            spawn=spawn_in_loop,
        )
        async with running(agent.run):
            yield agent

    async def next(self, kind: type[H]) -> H:
        """Return the next happening of *kind*; others before it are skipped."""
        while True:
            while self._taken < len(self.story):
                happening = self.story[self._taken].happening
                self._taken += 1
                if isinstance(happening, kind):
                    return happening
            self._news.clear()
            await self._news.wait()

    def seen(self, kind: type[H]) -> list[H]:
        """Return every happening of *kind* so far."""
        return [m.happening for m in self.story if isinstance(m.happening, kind)]

    def healthy_counts(self) -> list[tuple[float, int]]:
        """Return when each list came, to a tenth of a second, and how many devices it had fit."""
        return [
            (round(moment.at_s, 1), moment.happening.healthy)
            for moment in self.story
            if isinstance(moment.happening, Listed)
        ]

    def ids(self, resource: str) -> dict[str, bool]:
        """Return the devices of the last list by id, with their health."""
        devices = self.kubelet.devices(ResourceName(resource))
        return {str(device): state.healthy for device, state in devices.items()}

    async def watch(self) -> None:
        """Write the story down as it happens."""
        while True:
            for happening in await self._reader.next():
                self.story.append(Moment(at_s=self.now(), happening=happening))
                self._news.set()


@asynccontextmanager
async def staged(node: SimulatedNode | None = None, **settings: Any) -> AsyncIterator[Stage]:
    """Set a stage with *node* in a directory of its own, with short paths: sockets have 107."""
    with tempfile.TemporaryDirectory(prefix="a") as name:
        directory = Path(name)
        stage = Stage(
            directory,
            Settings(
                driver=DriverKind.SIMULATED,
                simulated=node or SimulatedNode(),
                device_plugin_dir=directory / "plugins",
                kubelet_dir=directory,
                run_dir=directory / "run",
                state_dir=directory / "state",
                cdi_dir=directory / "cdi",
                **{"inject": InjectionWay.RUNTIME, **settings},
            ),
        )
        async with running(stage.watch):
            yield stage


def pod(name: str, count: int, resource: str = "huawei.com/Ascend910") -> Pod:
    """Return a pod of one container that asks for *count* devices."""
    return Pod(
        namespace="default",
        name=name,
        container="main",
        resource=ResourceName(resource),
        count=count,
    )
