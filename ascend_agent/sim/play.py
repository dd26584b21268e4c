"""Plays a story: the real agent on a simulated node, with an embedded kubelet, for an audience.

Everything lives in one temporary directory that is gone afterwards. What happens is the story's
business, how it looks the audience's.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from ascend_agent.app import Agent
from ascend_agent.bus import Bus
from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.errors import AgentError
from ascend_agent.model.health import NodeView
from ascend_agent.settings import DialectName, Settings
from ascend_agent.sim.conductor import Conductor
from ascend_agent.sim.device_names import by_die, by_number
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.examiner import PATIENCE_S, Examiner
from ascend_agent.sim.host import SimulatedFiles, SimulatedNuma
from ascend_agent.sim.kubelet import EmbeddedKubelet
from ascend_agent.sim.observer import Observer
from ascend_agent.sim.output import Audience, Lines, ReaderGoneError
from ascend_agent.sim.sights import Sights
from ascend_agent.sim.story import Story

if TYPE_CHECKING:
    from ascend_agent.sim.hami.cluster import HamiCluster

_FASTEST_POLL_S = 0.5
_LONGEST_STAGE = 60  # bytes; the sockets below it must keep their paths under 107


class _OverError(AgentError):
    """The time is up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hall:
    """Where a story is shown. ``for_s`` None: to its end; on a terminal until cancelled.

    ``check``: it is looked whether the story comes to what it expects, and it ends with that.
    """

    stream: TextIO
    as_json: bool
    for_s: float | None
    check: bool = False

    @property
    def live(self) -> bool:
        """Whether somebody watches a terminal."""
        return self.stream.isatty() and not self.as_json


async def play(
    settings: Settings,
    story: Story,
    hall: Hall,
    *,
    worker_environment: Mapping[str, str],
    spawn: Spawn = spawn_worker,
    patience_s: float = PATIENCE_S,
) -> Sequence[str]:
    """Play *story* until its time is up, its reader is gone, or the caller is cancelled.

    Returns what was not as expected, where that was to be checked.

    Raises:
        ExceptionGroup: a vital task of the agent was lost.

    """
    with _stage() as directory:
        settings = _on_stage(settings, story, directory)
        kubelet = EmbeddedKubelet(
            plugin_dir=settings.device_plugin_dir,
            pod_resources_socket=settings.pod_resources_socket,
        )
        show = _Show(kubelet=kubelet, story=story, hall=hall)
        try:
            async with (
                kubelet,
                _cluster_of(settings, directory=directory, show=show) as cluster,
                asyncio.TaskGroup() as group,
            ):
                # The agent counts a scenario's times from its own beginning, which takes a moment.
                started = asyncio.get_running_loop().time()
                agent = Agent(
                    cluster.settings if cluster else settings,
                    worker_environment=worker_environment,
                    host=SimulatedFiles(),
                    numa=SimulatedNuma(npus=story.node.count),
                    spawn=spawn,
                )
                times = _Times(started=started, patience_s=patience_s)
                show.begin(group, agent, cluster, shares=settings.shares, times=times)
        except* (_OverError, ReaderGoneError):
            pass  # an orderly end
    return show.failures


@asynccontextmanager
async def _cluster_of(
    settings: Settings, *, directory: Path, show: "_Show"
) -> AsyncIterator["HamiCluster | None"]:
    """Have the cluster that the dialect needs around its node, None where it needs none."""
    if settings.dialect is not DialectName.HAMI:
        yield None
        return
    from ascend_agent.sim.hami.cluster import HamiCluster  # noqa: PLC0415 -- for this dialect alone

    cluster = HamiCluster(
        settings,
        directory=directory,
        kubelet=show.kubelet,
        view=show.view,
        tell=show.tell,
        pace=show.pace,
    )
    async with cluster.running():
        yield cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """When the play began (loop time), and how much later what is expected may come true."""

    started: float
    patience_s: float


class _Show:
    """One play: who acts, who watches, and what they make of it."""

    def __init__(self, *, kubelet: EmbeddedKubelet, story: Story, hall: Hall) -> None:
        self.kubelet = kubelet
        self._story = story
        self._hall = hall
        self._observer: Observer | None = None
        self._examiner: Examiner | None = None
        self._bus: Bus | None = None

    @property
    def failures(self) -> Sequence[str]:
        """What was not as expected, where that was looked at."""
        return self._examiner.failures if self._examiner else ()

    @property
    def pace(self) -> float:
        """How fast the story is told; below 1, faster than usual."""
        return self._story.pace

    def view(self) -> NodeView | None:
        """Return the agent's view of the node."""
        return self._bus.node.value if self._bus else None

    def tell(self, entry: Entry) -> None:
        """Tell *entry* in its turn; before the curtain nobody is there to be told."""
        if self._observer is not None:
            self._observer.add(entry)

    def begin(
        self,
        group: asyncio.TaskGroup,
        agent: Agent,
        cluster: "HamiCluster | None",
        *,
        shares: int,
        times: _Times,
    ) -> None:
        """Start the agent, whoever acts, and whoever watches; the group holds them all."""
        started, started_ns = times.started, time.monotonic_ns()
        hall, kubelet, bus = self._hall, self.kubelet, agent.bus
        self._bus = bus
        npus_of = by_die(self.view) if cluster else by_number(shares)
        audience = _audience(group, bus, hall=hall, started_ns=started_ns)
        observer = Observer(bus=bus, kubelet=kubelet, npus_of=npus_of, tell=audience.tell)
        self._observer = observer
        group.create_task(agent.run(), name="agent")
        group.create_task(observer.run(), name="observer")
        if cluster:
            _have(group, cluster, agent, observer)
        if hall.check:
            sights = Sights(
                bus=bus, kubelet=kubelet, npus_of=npus_of, pods=cluster.pods if cluster else None
            )
            self._examiner = Examiner(
                sights=sights,
                expectations=self._story.node.expect,
                started=started,
                tell=observer.add,
                patience_s=times.patience_s,
            )
            group.create_task(self._examiner.run(), name="examiner")
        conductor = Conductor(kubelet=kubelet, started=started, tell=observer.add, cluster=cluster)
        for act in self._story.acts:
            group.create_task(conductor.perform(act), name=f"act at {act.at_s:.1f} s")
        to_its_end = hall.for_s is None and (hall.check or not hall.live)
        for_s = self._story.ends_s if to_its_end else hall.for_s
        if for_s is not None:
            group.create_task(_end_after(for_s), name="curtain")
        else:
            group.create_task(_say_over(observer, self._story.ends_s), name="epilogue")


def _have(
    group: asyncio.TaskGroup, cluster: "HamiCluster", agent: Agent, observer: Observer
) -> None:
    """Let the cluster live, and read the agent's metrics as a monitoring system does."""
    from ascend_agent.sim.hami.meter import Meter  # noqa: PLC0415 -- for this dialect alone

    meter = Meter(render=agent.report.metrics, tell=observer.add)
    group.create_task(cluster.run(), name="cluster")
    group.create_task(meter.run(), name="meter")


def _audience(group: asyncio.TaskGroup, bus: Bus, *, hall: Hall, started_ns: int) -> Audience:
    if not hall.live:
        return Lines(stream=hall.stream, started_ns=started_ns, as_json=hall.as_json)
    from ascend_agent.sim.view import LiveView  # noqa: PLC0415 -- rich, only where a person looks

    view = LiveView(bus=bus, started_ns=started_ns, stream=hall.stream)
    group.create_task(view.run(), name="view")
    return view


async def _end_after(seconds: float) -> NoReturn:
    await asyncio.sleep(seconds)
    raise _OverError


async def _say_over(observer: Observer, seconds: float) -> None:
    """Tell people that nothing more will happen; the node lives on as long as they look at it."""
    await asyncio.sleep(seconds)
    observer.add(Entry(at_ns=time.monotonic_ns(), event="over"))


@contextmanager
def _stage() -> Iterator[Path]:
    """Make the temporary directory of one play, and remove it whatever happens."""
    parent = tempfile.gettempdir()
    too_long = len(os.fsencode(parent)) > _LONGEST_STAGE - len("/ascend-agent-12345678")
    with tempfile.TemporaryDirectory(
        prefix="ascend-agent-",
        dir="/tmp" if too_long else None,  # noqa: S108 -- the directory itself is made private
        ignore_cleanup_errors=True,
    ) as name:
        yield Path(name)


def _on_stage(settings: Settings, story: Story, directory: Path) -> Settings:
    """Return *settings* with every path inside *directory*, and the story's node.

    A story told faster is polled faster, or a chip without fault callbacks would miss it.
    """
    plugins = directory / "plugins"
    for path in (plugins, directory / "run", directory / "cdi"):
        path.mkdir()
    return settings.model_copy(
        update={
            "simulated": story.node,
            "poll_interval_s": max(_FASTEST_POLL_S, settings.poll_interval_s * story.pace),
            "kubelet_dir": directory,
            "device_plugin_dir": plugins,
            "kubelet_socket": plugins / "kubelet.sock",
            "pod_resources_socket": directory / "pod-resources" / "kubelet.sock",
            "run_dir": directory / "run",
            "state_dir": directory / "state",
            "cdi_dir": directory / "cdi",
        }
    )
