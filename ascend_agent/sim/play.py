"""Plays a story: the real agent on a simulated node, with an embedded kubelet, for an audience.

Everything lives in one temporary directory that is gone afterwards. What happens is the story's
business, how it looks the audience's.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

from ascend_agent.app import Agent
from ascend_agent.bus import Bus
from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.errors import AgentError
from ascend_agent.settings import Settings
from ascend_agent.sim.conductor import Conductor
from ascend_agent.sim.device_names import NpusOf, by_number
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.examiner import PATIENCE_S, Examiner
from ascend_agent.sim.host import SimulatedFiles, SimulatedNuma
from ascend_agent.sim.kubelet import EmbeddedKubelet
from ascend_agent.sim.observer import Observer
from ascend_agent.sim.output import Audience, Lines, ReaderGoneError
from ascend_agent.sim.sights import Sights
from ascend_agent.sim.story import Story

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
    examiner = None
    with _stage() as directory:
        settings = _on_stage(settings, story, directory)
        kubelet = EmbeddedKubelet(
            plugin_dir=settings.device_plugin_dir,
            pod_resources_socket=settings.pod_resources_socket,
        )
        try:
            async with kubelet, asyncio.TaskGroup() as group:
                started = asyncio.get_running_loop().time()
                agent = Agent(
                    settings,
                    worker_environment=worker_environment,
                    host=SimulatedFiles(),
                    numa=SimulatedNuma(npus=story.node.count),
                    spawn=spawn,
                )
                npus_of = by_number(settings.shares)
                observer = _raise_curtain(
                    group, agent, kubelet, story=story, hall=hall, npus_of=npus_of
                )
                if hall.check:
                    examiner = Examiner(
                        sights=Sights(bus=agent.bus, kubelet=kubelet, npus_of=npus_of),
                        expectations=story.node.expect,
                        started=started,
                        tell=observer.add,
                        patience_s=patience_s,
                    )
                    group.create_task(examiner.run(), name="examiner")
        except* (_OverError, ReaderGoneError):
            pass  # an orderly end
    return examiner.failures if examiner else ()


def _raise_curtain(
    group: asyncio.TaskGroup,
    agent: Agent,
    kubelet: EmbeddedKubelet,
    *,
    story: Story,
    hall: Hall,
    npus_of: NpusOf,
) -> Observer:
    """Start the agent, whoever acts, and whoever watches; the group holds them all."""
    started_ns = time.monotonic_ns()
    audience = _audience(group, agent.bus, hall=hall, started_ns=started_ns)
    observer = Observer(bus=agent.bus, kubelet=kubelet, npus_of=npus_of, tell=audience.tell)
    conductor = Conductor(
        kubelet=kubelet, started=asyncio.get_running_loop().time(), tell=observer.add
    )
    group.create_task(agent.run(), name="agent")
    group.create_task(observer.run(), name="observer")
    for act in story.acts:
        group.create_task(conductor.perform(act), name=f"act at {act.at_s:.1f} s")
    to_its_end = hall.for_s is None and (hall.check or not hall.live)
    for_s = story.ends_s if to_its_end else hall.for_s
    if for_s is not None:
        group.create_task(_end_after(for_s), name="curtain")
    else:
        group.create_task(_say_over(observer, story.ends_s), name="epilogue")
    return observer


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
