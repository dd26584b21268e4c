"""The composition root: one agent, put together from its parts (``wiring``) and run.

No decision about NPUs is made here.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_agent.bus import Bus
from ascend_agent.cluster.off import ClusterOff
from ascend_agent.dialects import load_dialect
from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.driver.deadlines import Deadlines
from ascend_agent.driver.process import DriverWorker
from ascend_agent.flows.feed_metrics import FeedMetrics, look
from ascend_agent.flows.follow_allocations import FollowAllocations
from ascend_agent.flows.hold_instance import HoldInstance
from ascend_agent.flows.log_changes import LogChanges
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.flows.report_status import StatusReport
from ascend_agent.flows.serve_http import ServeHttp
from ascend_agent.flows.watch_sockets import WatchSockets
from ascend_agent.host.files import LocalHostFiles
from ascend_agent.host.fsevents import PluginDirectoryWatcher
from ascend_agent.host.layouts import KUBELET_DIRS, locate
from ascend_agent.host.lock import FileInstanceLock
from ascend_agent.host.numa import SysfsNuma
from ascend_agent.interfaces import HostFiles, NumaReader
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.cluster import ApiCounts
from ascend_agent.model.hami import SLOT as HAMI_SLOT
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.supervisor import Supervisor, TaskSpec
from ascend_agent.settings import DialectName, InjectionWay, Settings
from ascend_agent.slicing import load_mode
from ascend_agent.telemetry.http import HttpServer
from ascend_agent.telemetry.metrics import Metrics
from ascend_agent.wiring import api_server, devices, serving, surroundings
from ascend_agent.wiring.parts import ENDLESS, Host, Parts

if TYPE_CHECKING:
    from ascend_agent.wiring.hami import HamiParts

log = logging.getLogger(__name__)

_NS_PER_S = 1_000_000_000
_NO_RUNTIME = "ascend-docker-runtime sets ASCEND_DOCKER_RUNTIME=True in what it starts; not here"
_SWITCH_INTERVAL_S = 0.0005


class Agent:
    """One agent, wired and ready to run; make it inside the running loop.

    ``bus`` may be read by whoever shows the agent to people. *host* and *numa* are replaced by
    a simulated node, *spawn* by whoever wants the worker in its own process; *dropped_logs* tells
    how many log lines were lost so far. *kubelet_dirs* is where a kubelet may have its directories
    that no setting names.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        worker_environment: Mapping[str, str],
        host: HostFiles | None = None,
        numa: NumaReader | None = None,
        spawn: Spawn = spawn_worker,
        dropped_logs: Callable[[], int] = lambda: 0,
        kubelet_dirs: Sequence[Path] = KUBELET_DIRS,
    ) -> None:
        self._settings = settings = locate(settings, known=kubelet_dirs)
        dialect, clock = load_dialect(settings.dialect.value), Clock()
        resources = [dialect.resource_of(word) for word in dialect.words]
        if settings.dialect is DialectName.HAMI:
            resources = [HAMI_SLOT]
        self.bus = Bus(resources)
        self._reregister = self.bus.reregister.claim("app")
        library_path = worker_environment.get("LD_LIBRARY_PATH", "")
        started = asyncio.get_running_loop().time()
        worker = DriverWorker(
            driver=settings.driver.value,
            config=settings.worker_config(
                library_path=library_path,
                # On the default loop this is CLOCK_MONOTONIC, which the worker counts from as well.
                started_ns=round(started * _NS_PER_S),
            ),
            state=self.bus.driver.claim("driver-worker"),
            environment=worker_environment,
            deadlines=Deadlines(query_s=settings.query_deadline_s),
            spawn=spawn,
        )
        self._parts = Parts(
            settings=settings,
            bus=self.bus,
            clock=clock,
            worker=worker,
            cluster=api_server.reach(settings, clock),
            host=Host(
                files=host or LocalHostFiles(root=settings.host_root), numa=numa or SysfsNuma()
            ),
            dialect=dialect,
            mode=load_mode("shared" if settings.shares > 1 else "whole"),
            started=started,
            library_path=library_path,
        )
        self._hami = _hami_parts(self._parts)
        self._metrics = Metrics(
            seen=lambda: look(self.bus),
            dropped_logs=dropped_logs,
            api_counts=self._api_counts,
            hami=self._hami.meter() if self._hami else lambda: None,
        )
        self.report = StatusReport(
            bus=self.bus, version=version("ascend-agent"), render_metrics=self._metrics.render
        )
        self._supervisor = Supervisor(
            specs=self._tasks(), states=self.bus.tasks.claim("supervisor")
        )

    async def run(self) -> None:
        """Run until cancelled, then drain; raises an ExceptionGroup if a vital task is lost."""
        # Threads here wait for files; while one happens to compute, the loop must not wait 5 ms.
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._introduce()
        if self._settings.way is InjectionWay.RUNTIME and not self._settings.docker_runtime:
            log.warning("container runtime not seen", extra={"why": _NO_RUNTIME})
        await self._supervisor.run()

    def _introduce(self) -> None:
        """Log what was chosen: one wrong directory, and a node has no NPUs."""
        settings = self._settings
        facts = {
            "version": version("ascend-agent"),
            "driver": settings.driver.value,
            "dialect": settings.dialect.value,
            "device_plugin_dir": settings.device_plugin_dir,
            "kubelet_socket": settings.kubelet_socket,
            "pod_resources_socket": settings.pod_resources_socket,
            "inject": settings.way.value,
            "shares": settings.shares,
        }
        log.info("agent starts", extra=facts)
        if settings.allow_unsafe_library:
            log.warning("driver library not checked", extra={"library": settings.library})
        if isinstance(self._parts.cluster, ClusterOff):
            why = self._parts.cluster.why
            log.info("api server not used", extra={"why": why})
            if self._parts.hami:
                log.warning("scheduler out of reach", extra={"why": why})
            if settings.fault_config_map is not None:
                unfollowed = {"config_map": settings.fault_config_map, "why": why}
                log.warning("fault config map not followed", extra=unfollowed)

    def reregister(self) -> None:
        """Re-create every socket and register anew (SIGHUP)."""
        self._reregister.put((self.bus.reregister.value or 0) + 1)

    def _tasks(self) -> list[TaskSpec]:
        parts, hami = self._parts, self._hami
        offers = serving.offers_of(parts)
        made = [
            *devices.tasks(parts),
            *surroundings.dpu_tasks(parts),
            *surroundings.port_tasks(parts),
            *self._socket_tasks(),
            *(hami.tasks() if hami else serving.tasks(parts, offers)),
            *api_server.tasks(parts, hami.announcements() if hami else None),
            *self._telling_tasks(offers),
        ]
        if self._settings.way is InjectionWay.CDI:
            made.append(serving.cdi_task(parts))
        return made

    def _socket_tasks(self) -> list[TaskSpec]:
        """Return what sees to it that one agent serves, and looks at the kubelet's directory."""
        bus, settings = self.bus, self._settings
        hold = HoldInstance(
            lock=FileInstanceLock(settings.run_dir / "ascend-agent.lock"),
            bus=bus,
            instance=bus.instance.claim("hold-instance"),
        )
        watch = WatchSockets(
            watcher=PluginDirectoryWatcher(
                directory=settings.device_plugin_dir, kubelet_socket=settings.kubelet_socket
            ),
            directory=bus.directory.claim("watch-sockets"),
            own=self._hami.own_sockets if self._hami else self._own_sockets,
        )
        return [
            TaskSpec(name="hold-instance", backoff=ENDLESS, run=hold.run),
            TaskSpec(name="watch-sockets", run=watch.run),
        ]

    def _telling_tasks(self, offers: Sequence[ResourceOffers]) -> list[TaskSpec]:
        """Return what tells people what is so, and finds out which NPUs are in use for it."""
        bus, settings = self.bus, self._settings
        follow = FollowAllocations(
            pod_resources=KubeletPodResources(socket=settings.pod_resources_socket),
            dialect=self._parts.dialect,
            offers=self._hami.current_offers if self._hami else lambda: offers,
            bus=bus,
            allocations=bus.allocations.claim("follow-allocations"),
            clock=self._parts.clock,
        )
        changes = LogChanges(node=bus.node, rules=bus.fault_config)
        feed = FeedMetrics(bus=bus, metrics=self._metrics)
        made = [
            TaskSpec(name="follow-allocations", backoff=ENDLESS, run=follow.run),
            TaskSpec(name="log-changes", backoff=ENDLESS, run=changes.run),
            TaskSpec(name="feed-metrics", backoff=ENDLESS, run=feed.run),
        ]
        if settings.http is not None:
            server = HttpServer(
                address=settings.http.host or "", port=settings.http.port, pages=self.report
            )
            flow = ServeHttp(server=server, bus=bus)
            made.append(TaskSpec(name="http", backoff=ENDLESS, run=flow.run))
        return made

    def _own_sockets(self) -> Sequence[str]:
        return [f"{word}.sock" for word in self._parts.dialect.words]

    def _api_counts(self) -> ApiCounts | None:
        cluster = self._parts.cluster
        return None if isinstance(cluster, ClusterOff) else cluster.counts


def _hami_parts(parts: Parts) -> "HamiParts | None":
    if not parts.hami:
        return None
    from ascend_agent.wiring.hami import HamiParts  # noqa: PLC0415 -- no other dialect's

    return HamiParts(parts=parts, turn=asyncio.Lock())
