"""The composition root: picks driver, dialect, slicing and injection, and wires every flow.

The one place that knows every class. No decision about NPUs is made here. What stands behind an
option that is off by default is imported where it is wired: a start is short, and memory scarce.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_agent import chips
from ascend_agent.bus import Bus
from ascend_agent.cluster.late import LateConnection
from ascend_agent.cluster.off import ClusterOff
from ascend_agent.dialects import load_dialect
from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.driver.deadlines import Deadlines
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.news import DriverEvents
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.switches import DriverSwitches
from ascend_agent.driver.trusted import check_program
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.errors import WiringError
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fault_config import FILES
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.flows.allocate import Allocate
from ascend_agent.flows.answer import Answer
from ascend_agent.flows.connect_cluster import ConnectCluster
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.feed_metrics import FeedMetrics, look
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.flows.follow_allocations import FollowAllocations
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.follow_fault_config import FollowFaultConfig
from ascend_agent.flows.held_npus import HeldNpus
from ascend_agent.flows.hold_instance import HoldInstance
from ascend_agent.flows.keep_isolation import KeepIsolation
from ascend_agent.flows.log_changes import LogChanges
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.flows.post_events import Announcements, PostEvents
from ascend_agent.flows.read_health import ReadHealth, ReadPeriods
from ascend_agent.flows.read_usage import ReadUsage
from ascend_agent.flows.refresh_devices import RefreshDevices, RefreshPeriods
from ascend_agent.flows.report_status import StatusReport
from ascend_agent.flows.serve_http import ServeHttp
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.flows.subscribe_faults import SubscribeFaults
from ascend_agent.flows.update_annotations import NodeWants, UpdateAnnotations
from ascend_agent.flows.watch_links import WatchLinks
from ascend_agent.flows.watch_sockets import WatchSockets
from ascend_agent.flows.watch_switches import WatchSwitches
from ascend_agent.host.fault_files import FaultDirectory
from ascend_agent.host.files import LocalHostFiles
from ascend_agent.host.fsevents import PluginDirectoryWatcher
from ascend_agent.host.hccn import HccnPorts
from ascend_agent.host.layouts import KUBELET_DIRS, locate
from ascend_agent.host.lock import FileInstanceLock
from ascend_agent.host.numa import SysfsNuma
from ascend_agent.host.processes import ProcOwners, StatedOwners
from ascend_agent.host.small_file import LocalFile
from ascend_agent.host.state_file import ISOLATION, LocalStateFile
from ascend_agent.host.tool import Tool
from ascend_agent.injection import find_injections
from ascend_agent.injection.logical import WithLogicalIds
from ascend_agent.interfaces import (
    HostFiles,
    Injection,
    NicWatcher,
    NumaReader,
    ProcessClock,
    SchedulerDialect,
    SlicingMode,
    SmallFile,
    TrafficReader,
)
from ascend_agent.kubelet.endpoint import KubeletEndpoint
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import ConfigMapKey
from ascend_agent.model.hami import SLOT as HAMI_SLOT
from ascend_agent.model.ids import NodeName
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState
from ascend_agent.runtime.backoff import Backoff
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.supervisor import Supervisor, TaskSpec
from ascend_agent.settings import DialectName, DriverKind, InjectionWay, LinkStep, Settings
from ascend_agent.slicing import load_mode
from ascend_agent.telemetry.http import HttpServer
from ascend_agent.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from ascend_agent.app_hami import HamiParts
    from ascend_agent.cluster.connection import ClusterConnection
    from ascend_agent.flows.write_cdi_spec import WriteCdiSpec
    from ascend_agent.host.stated_ports import PortChange, StatedPorts
    from ascend_agent.model.metered import HamiSeen

log = logging.getLogger(__name__)

_ENDLESS = Backoff(delays_s=(0.05, 0.2, 1.0, 5.0, 10.0, 30.0), endless=True)
"""For tasks the kubelet does not depend on: they are tried for ever, and devices stay offered."""

_SPECS = {spec.generation: spec for spec in chips.SPECS}
_NS_PER_S = 1_000_000_000
_NO_RUNTIME = "ascend-docker-runtime sets ASCEND_DOCKER_RUNTIME=True in what it starts; not here"
_USAGE_EVERY_S = 30.0
_DPU_CONFIG_BYTES = 64 * 1024
_TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_SWITCH_INTERVAL_S = 0.0005
_PATIENT_RESCAN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The two views of the host that a simulated node replaces by its own."""

    files: HostFiles
    numa: NumaReader


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
        self._clock = Clock()
        self._dialect: SchedulerDialect = load_dialect(settings.dialect.value)
        self._mode: SlicingMode = load_mode("shared" if settings.shares > 1 else "whole")
        self._host = Host(
            files=host or LocalHostFiles(root=settings.host_root),
            numa=numa or SysfsNuma(),
        )
        self._library_path = worker_environment.get("LD_LIBRARY_PATH", "")
        resources = [self._dialect.resource_of(word) for word in self._dialect.words]
        if settings.dialect is DialectName.HAMI:
            resources = [HAMI_SLOT]
        self.bus = Bus(resources)
        self._reregister = self.bus.reregister.claim("app")
        self._started = asyncio.get_running_loop().time()
        self._worker = DriverWorker(
            driver=settings.driver.value,
            config=settings.worker_config(
                library_path=self._library_path,
                # On the default loop this is CLOCK_MONOTONIC, which the worker counts from as well.
                started_ns=round(self._started * _NS_PER_S),
            ),
            state=self.bus.driver.claim("driver-worker"),
            environment=worker_environment,
            deadlines=Deadlines(query_s=settings.query_deadline_s),
            spawn=spawn,
        )
        self._cluster = self._reach_cluster()
        self._metrics = Metrics(
            seen=lambda: look(self.bus),
            dropped_logs=dropped_logs,
            api_counts=lambda: None if self._without_api else self._cluster.counts,
            hami=self._hami_meter(),
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
            "inject": self._settings.way.value,
            "shares": settings.shares,
        }
        log.info("agent starts", extra=facts)
        if settings.allow_unsafe_library:
            log.warning("driver library not checked", extra={"library": settings.library})
        if self._without_api:
            log.info("api server not used", extra={"why": self._without_api})
            if settings.dialect is DialectName.HAMI:
                log.warning("scheduler out of reach", extra={"why": self._without_api})
            if settings.fault_config_map is not None:
                unfollowed = {"config_map": settings.fault_config_map, "why": self._without_api}
                log.warning("fault config map not followed", extra=unfollowed)

    def reregister(self) -> None:
        """Re-create every socket and register anew (SIGHUP)."""
        self._reregister.put((self.bus.reregister.value or 0) + 1)

    def _tasks(self) -> list[TaskSpec]:
        bus, settings = self.bus, self._settings
        offers = [self._offers(word) for word in self._dialect.words]
        hami = self._hami_parts() if settings.dialect is DialectName.HAMI else None
        tasks = [
            TaskSpec(name="driver-worker", run=self._worker.run),
            TaskSpec(
                name="follow-fault-config", backoff=_ENDLESS, run=self._fault_config_flow().run
            ),
            *self._device_tasks(),
            *self._dpu_tasks(),
            TaskSpec(
                name="hold-instance",
                backoff=_ENDLESS,
                run=HoldInstance(
                    lock=FileInstanceLock(settings.run_dir / "ascend-agent.lock"),
                    bus=bus,
                    instance=bus.instance.claim("hold-instance"),
                ).run,
            ),
            TaskSpec(
                name="watch-sockets",
                run=WatchSockets(
                    watcher=PluginDirectoryWatcher(
                        directory=settings.device_plugin_dir,
                        kubelet_socket=settings.kubelet_socket,
                    ),
                    directory=bus.directory.claim("watch-sockets"),
                    own=hami.own_sockets if hami else self._own_sockets,
                ).run,
            ),
            *self._port_tasks(),
            *(self._hami_tasks(hami) if hami else self._serving_tasks(offers)),
            *self._cluster_tasks(),
            TaskSpec(
                name="follow-allocations",
                backoff=_ENDLESS,
                run=FollowAllocations(
                    pod_resources=KubeletPodResources(socket=settings.pod_resources_socket),
                    dialect=self._dialect,
                    offers=hami.current_offers if hami else lambda: offers,
                    bus=bus,
                    allocations=bus.allocations.claim("follow-allocations"),
                    clock=self._clock,
                ).run,
            ),
            TaskSpec(
                name="log-changes",
                backoff=_ENDLESS,
                run=LogChanges(node=bus.node, rules=bus.fault_config).run,
            ),
            TaskSpec(
                name="feed-metrics",
                backoff=_ENDLESS,
                run=FeedMetrics(bus=bus, metrics=self._metrics).run,
            ),
        ]
        if settings.http is not None:
            server = HttpServer(
                address=settings.http.host or "", port=settings.http.port, pages=self.report
            )
            flow = ServeHttp(server=server, bus=bus)
            tasks.append(TaskSpec(name="http", backoff=_ENDLESS, run=flow.run))
        if self._settings.way is InjectionWay.CDI:
            tasks.append(
                TaskSpec(name="write-cdi-spec", backoff=_ENDLESS, run=self._cdi_flow().run)
            )
        return tasks

    def _device_tasks(self) -> list[TaskSpec]:
        bus, settings, worker = self.bus, self._settings, self._worker
        tasks = [
            TaskSpec(
                name="subscribe-faults",
                run=SubscribeFaults(
                    news=DriverEvents(worker),
                    inventory=bus.inventory,
                    faults=bus.faults.claim("subscribe-faults"),
                    clock=self._clock,
                ).run,
            ),
            TaskSpec(
                name="refresh-devices",
                run=RefreshDevices(
                    reader=DriverInventory(worker),
                    identify=chips.identify,
                    place=self._host.numa.read_numa,
                    bus=bus,
                    inventory=bus.inventory.claim("refresh-devices"),
                    periods=RefreshPeriods(
                        rescan_s=settings.rescan_interval_s,
                        patient_s=_PATIENT_RESCAN_S,
                        eager_for_s=settings.device_reset_timeout_s,
                    ),
                    config=bus.hami if settings.dialect is DialectName.HAMI else None,
                ).run,
            ),
            TaskSpec(
                name="read-health",
                run=ReadHealth(
                    health=DriverHealth(worker),
                    bus=bus,
                    readings=bus.readings.claim("read-health"),
                    periods=ReadPeriods(
                        with_callbacks_s=settings.health_interval_s,
                        polled_s=settings.poll_interval_s,
                    ),
                    clock=self._clock,
                ).run,
            ),
            TaskSpec(
                name="fold-health",
                run=FoldHealth(
                    bus=bus,
                    sinks=HealthSinks.claim(bus, "fold-health"),
                    ledger=self._ledger(),
                    clock=self._clock,
                    rules_awaited=settings.fault_config_dir is not None,
                ).run,
            ),
            TaskSpec(
                name="keep-isolation",
                backoff=_ENDLESS,
                run=KeepIsolation(
                    file=LocalStateFile(directory=settings.state_dir, name=ISOLATION),
                    bus=bus,
                    restored=bus.restored.claim("keep-isolation"),
                    clock=self._clock,
                ).run,
            ),
            TaskSpec(
                name="read-usage",
                backoff=_ENDLESS,
                run=ReadUsage(
                    usage=DriverUsage(worker),
                    inventory=bus.inventory,
                    usages=bus.usage.claim("read-usage"),
                    every_s=_USAGE_EVERY_S,
                ).run,
            ),
            TaskSpec(
                name="watch-switches",
                backoff=_ENDLESS,
                run=WatchSwitches(
                    reader=DriverSwitches(worker),
                    has_switches=lambda npu: _spec_of(npu).has_switches,
                    bus=bus,
                    switches=bus.switches.claim("watch-switches"),
                    clock=self._clock,
                ).run,
            ),
        ]
        if self._mode.needs_device_share:
            tasks.append(self._share_task())
        return tasks

    def _share_task(self) -> TaskSpec:
        from ascend_agent.driver.share import DriverShares  # noqa: PLC0415 -- for --shares alone
        from ascend_agent.flows.enable_shares import EnableShares  # noqa: PLC0415 -- the same

        bus = self.bus
        flow = EnableShares(
            share=DriverShares(self._worker),
            inventory=bus.inventory,
            faults=bus.faults,
            readings=bus.readings,
            shares=bus.shares.claim("enable-shares"),
        )
        return TaskSpec(name="enable-shares", run=flow.run)

    def _dpu_tasks(self) -> list[TaskSpec]:
        settings = self._settings
        if settings.driver is DriverKind.SIMULATED:
            file, nics = self._stated_dpus()
        elif settings.dpu_config is not None:
            from ascend_agent.host.nics import SysfsNics  # noqa: PLC0415 -- for --dpu-config alone

            # Where the host's file system is mounted, its /sys shows the host's interfaces.
            nics = SysfsNics(root=settings.host_root / "sys")
            file = LocalFile(settings.dpu_config, limit=_DPU_CONFIG_BYTES)
        else:
            return []
        from ascend_agent.flows.poll_dpus import PollDpus  # noqa: PLC0415 -- as above

        flow = PollDpus(
            file=file,
            name=str(settings.dpu_config or "simulated node"),
            nics=nics,
            inventory=self.bus.inventory,
            dpus=self.bus.dpus.claim("poll-dpus"),
            spec_of=_spec_of,
            clock=self._clock,
        )
        return [TaskSpec(name="poll-dpus", backoff=_ENDLESS, run=flow.run)]

    def _stated_dpus(self) -> tuple[SmallFile, NicWatcher]:
        from ascend_agent.host import stated_nics as stated  # noqa: PLC0415 -- no real node's

        node = self._settings.simulated
        changes = [
            stated.StatedChange(at_s=step.at_s, name=step.dpu, operstate=step.operstate)
            for step in node.dpu_steps
        ]
        nics = stated.StatedNics(cards=node.dpus, changes=changes, started=self._started)
        return stated.StatedFile(stated.STATED_CONFIG), nics

    def _serving_tasks(self, offers: Sequence[ResourceOffers]) -> list[TaskSpec]:
        bus, settings = self.bus, self._settings
        sent = bus.sent.claim("kubelet-endpoints")
        served = bus.served.claim("allocate")
        held = self._held_npus() if settings.refuse_held and settings.shares == 1 else None
        tasks = []
        for offer in offers:
            allocator = Allocate(
                offers=offer,
                decide=Decide(offers=offer, bus=bus, clock=self._clock, reader=None),
                answer=Answer(
                    offers=offer,
                    injection=self._injection(),
                    host=self._host.files,
                    held=held,
                    bus=bus,
                ),
                bus=bus,
                served=served,
                clock=self._clock,
                timeout_s=settings.allocate_timeout_s,
                turn=asyncio.Lock(),
            )
            endpoint = KubeletEndpoint(
                plugin_dir=settings.device_plugin_dir,
                file_name=f"{offer.word}.sock",
                kubelet_socket=settings.kubelet_socket,
                resource=offer.resource,
                allocator=allocator,
                sent=sent,
            )
            flow = ServeResource(
                offers=offer,
                endpoint=endpoint,
                bus=bus,
                state=bus.serving[offer.resource].claim(f"serve-resource {offer.word}"),
            )
            tasks.append(TaskSpec(name=f"serve-resource {offer.word}", run=flow.run))
        return tasks

    def _own_sockets(self) -> Sequence[str]:
        return [f"{word}.sock" for word in self._dialect.words]

    def _hami_parts(self) -> "HamiParts":
        from ascend_agent.app_hami import HamiParts  # noqa: PLC0415 -- nothing of it in other dialects

        return HamiParts(
            settings=self._settings,
            bus=self.bus,
            clock=self._clock,
            worker=self._worker,
            cluster=self._cluster,
            host=self._host.files,
            dialect=self._dialect,
            spec_of=_spec_of,
            turn=asyncio.Lock(),
        )

    def _hami_meter(self) -> "Callable[[], HamiSeen | None]":
        """Return what tells of HAMi on the metrics page; nothing in other dialects."""
        if self._settings.dialect is not DialectName.HAMI:
            return lambda: None
        from ascend_agent import app_hami  # noqa: PLC0415 -- as above

        return app_hami.meter_of(self._settings, self.bus)

    def _hami_announcements(self) -> Announcements | None:
        """Return what tells of HAMi by Events, where it schedules."""
        if self._settings.dialect is not DialectName.HAMI:
            return None
        from ascend_agent import app_hami  # noqa: PLC0415 -- as above

        return app_hami.announcements_of(self.bus)

    def _hami_tasks(self, parts: "HamiParts") -> list[TaskSpec]:
        from ascend_agent import app_hami  # noqa: PLC0415 -- as above

        serving = app_hami.serving_tasks(
            parts,
            sent=self.bus.sent.claim("kubelet-endpoints"),
            served=self.bus.served.claim("allocate"),
            injection=self._injection(),
        )
        return [*serving, *app_hami.tasks(parts)]

    def _port_tasks(self) -> list[TaskSpec]:
        """Return what looks at network ports, and for silence, to which their traffic belongs."""
        bus, settings = self.bus, self._settings
        simulated = settings.driver is DriverKind.SIMULATED
        ports = self._stated_ports() if simulated else HccnPorts(self._hccn_tool())
        links = WatchLinks(
            links=ports, specs=_SPECS, bus=bus, states=bus.links.claim("watch-links")
        )
        tasks = [TaskSpec(name="watch-links", backoff=_ENDLESS, run=links.run)]
        if settings.hang_detection:
            tasks.append(self._hang_task(ports))
        return tasks

    def _hang_task(self, traffic: TrafficReader) -> TaskSpec:
        from ascend_agent.flows import detect_hangs  # noqa: PLC0415 -- for --hang-detection alone

        settings = self._settings
        flow = detect_hangs.DetectHangs(
            probes=detect_hangs.HangProbes(
                usage=DriverUsage(self._worker),
                processes=self._process_clock(),
                traffic=traffic,
                config=LocalFile(settings.hang_config) if settings.hang_config else None,
            ),
            specs=_SPECS,
            inventory=self.bus.inventory,
            hangs=self.bus.hangs.claim("detect-hangs"),
            clock=self._clock,
        )
        return TaskSpec(name="detect-hangs", backoff=_ENDLESS, run=flow.run)

    def _process_clock(self) -> ProcessClock:
        if self._settings.driver is DriverKind.SIMULATED:
            from ascend_agent.host.stated_ports import StillProcesses  # noqa: PLC0415 -- as below

            return StillProcesses()
        from ascend_agent.host.process_clock import ProcClock  # noqa: PLC0415 -- as above

        return ProcClock()

    def _stated_ports(self) -> "StatedPorts":
        from ascend_agent.host.stated_ports import StatedPorts  # noqa: PLC0415 -- no real node's

        changes = [_port_change(step) for step in self._settings.simulated.link_steps]
        return StatedPorts(changes, started=self._started)

    def _hccn_tool(self) -> Tool:
        settings = self._settings
        return Tool(
            path=settings.hccn_tool,
            check=partial(check_program, allow_unsafe=settings.allow_unsafe_library),
            environment={"PATH": _TOOL_PATH, "LD_LIBRARY_PATH": self._library_path},
        )

    def _held_npus(self) -> HeldNpus:
        simulated = self._settings.driver is DriverKind.SIMULATED
        stated = self._settings.simulated.pods_of_processes if simulated else {}
        owners = ProcOwners()
        return HeldNpus(
            usage=DriverUsage(self._worker),
            owners=StatedOwners(stated, others=owners) if stated else owners,
            driver=self.bus.driver,
            patience_s=min(1.0, self._settings.allocate_timeout_s / 3),  # a refusal must be in time
        )

    def _reach_cluster(self) -> LateConnection | ClusterOff:
        """Return the way to the API server; nothing is connected yet, and may never be."""
        settings = self._settings
        self._without_api = settings.api_obstacle or _missing_token(settings)
        if self._without_api or settings.node_name is None:
            return ClusterOff(why=self._without_api, now=self._clock.now())
        node = NodeName(settings.node_name)
        return LateConnection(partial(_connection, settings, node, self._clock))

    def _cluster_tasks(self) -> list[TaskSpec]:
        bus, cluster = self.bus, self._cluster
        follow = FollowCluster(
            watch=cluster,
            own_node=bus.own_node.claim("follow-cluster"),
            pods=bus.pods.claim("follow-cluster"),
            api=bus.api.claim("follow-cluster"),
            foreign=bus.foreign.claim("follow-cluster"),
        )
        tasks = [TaskSpec(name="follow-cluster", backoff=_ENDLESS, rank=1, run=follow.run)]
        if isinstance(cluster, ClusterOff):
            return tasks
        connect = ConnectCluster(connection=cluster, bus=bus)
        # Allocates in flight, and what they leave behind, need it until they are through.
        tasks.append(TaskSpec(name="connect-cluster", backoff=_ENDLESS, rank=2, run=connect.run))
        if self._settings.kubernetes_events:
            post = PostEvents(
                poster=cluster,
                bus=bus,
                clock=self._clock,
                announcements=self._hami_announcements(),
            )
            tasks.append(TaskSpec(name="post-events", backoff=_ENDLESS, run=post.run))
        if self._settings.node_labels or self._settings.node_annotations:
            update = UpdateAnnotations(
                dialect=self._dialect,
                specs=_SPECS,
                wants=NodeWants(
                    labels=self._settings.node_labels, isolation=self._settings.node_annotations
                ),
                editor=cluster,
                bus=bus,
                operator=bus.operator.claim("update-annotations"),
                published=bus.published.claim("update-annotations"),
                clock=self._clock,
            )
            tasks.append(TaskSpec(name="update-annotations", backoff=_ENDLESS, run=update.run))
        return tasks

    def _offers(self, word: str) -> ResourceOffers:
        return ResourceOffers(
            word=word,
            resource=self._dialect.resource_of(word),
            dialect=self._dialect,
            mode=self._mode,
            shares=self._settings.shares,
            share_policy=self._settings.share_policy,
            spec_of=_spec_of,
        )

    def _ledger(self) -> Ledger:
        rules = HealthRules(
            shares_required=self._mode.needs_device_share,
            driver_grace_ms=round(self._settings.driver_grace_s * 1000),
            failed_rounds=self._settings.failed_rounds,
            restore_awaited=True,
        )
        return Ledger.empty(fault_rules=BUILT_IN, rules=rules, specs=_SPECS)

    def _fault_config_flow(self) -> FollowFaultConfig:
        directory = self._settings.fault_config_dir
        return FollowFaultConfig(
            files=FaultDirectory(directory=directory, names=FILES) if directory else None,
            directory=f"directory {directory}",
            watch=self._cluster,
            config_map=f"ConfigMap {self._settings.fault_config_map}",
            fault_config=self.bus.fault_config.claim("follow-fault-config"),
        )

    def _injection(self) -> Injection:
        way = find_injections()[self._settings.injection]
        return WithLogicalIds(way) if self._settings.logical_ids else way

    def _cdi_flow(self) -> "WriteCdiSpec":
        from ascend_agent.flows.write_cdi_spec import WriteCdiSpec  # noqa: PLC0415 -- --inject=cdi
        from ascend_agent.host.cdi import CdiFile  # noqa: PLC0415 -- the same

        return WriteCdiSpec(
            bus=self.bus,
            host=self._host.files,
            writer=CdiFile(directory=self._settings.cdi_dir),
            spec_of=_spec_of,
        )


def _missing_token(settings: Settings) -> str:
    """Return why a pod has no credentials, or an empty string."""
    token = settings.service_account_dir / "token"
    if settings.kubeconfig is not None or token.exists():
        return ""
    return f"{token} is not there: let the pod have its service account's token mounted"


def _connection(settings: Settings, node: NodeName, clock: Clock) -> "ClusterConnection":
    from ascend_agent.cluster.connection import ClusterConnection  # noqa: PLC0415 -- see ``late``

    return ClusterConnection(
        node=node,
        api_server=settings.api_server,
        kubeconfig=settings.kubeconfig,
        service_account_dir=settings.service_account_dir,
        relax_tls=settings.relax_tls,
        now=clock.now,
        fault_config_map=_config_map(settings),
    )


def _config_map(settings: Settings) -> ConfigMapKey | None:
    if settings.fault_config_map is None:
        return None
    namespace, _, name = settings.fault_config_map.partition("/")
    return ConfigMapKey(namespace=namespace, name=name)


def _port_change(step: LinkStep) -> "PortChange":
    from ascend_agent.host.stated_ports import PortChange  # noqa: PLC0415 -- as above

    link_down = None if step.link is None else step.link == "down"
    state = LinkState(link_down=link_down, bonding_down=step.bonded_down, ub_down=step.ub_down)
    return PortChange(at_s=step.at_s, npu=step.npu, state=state)


def _spec_of(npu: Npu) -> ChipSpec:
    """Return the spec of an inventoried NPU; the inventory holds only recognised chips."""
    spec = _SPECS.get(npu.generation)
    if spec is None:
        raise WiringError(f"no chip spec for generation {npu.generation}")
    return spec
