"""What reads the driver and folds what it says into each NPU's health."""

from ascend_agent import chips
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.news import DriverEvents
from ascend_agent.driver.switches import DriverSwitches
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fault_config import FILES
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.flows.follow_fault_config import FollowFaultConfig
from ascend_agent.flows.keep_isolation import KeepIsolation
from ascend_agent.flows.read_health import ReadHealth, ReadPeriods
from ascend_agent.flows.read_usage import ReadUsage
from ascend_agent.flows.refresh_devices import RefreshDevices, RefreshPeriods
from ascend_agent.flows.subscribe_faults import SubscribeFaults
from ascend_agent.flows.watch_switches import WatchSwitches
from ascend_agent.host.fault_files import FaultDirectory
from ascend_agent.host.state_file import ISOLATION, LocalStateFile
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.wiring.parts import ENDLESS, SPECS, Parts, spec_of

_USAGE_EVERY_S = 30.0
_PATIENT_RESCAN_S = 30.0


def tasks(parts: Parts) -> list[TaskSpec]:
    """Return what a list for the kubelet is made from, and what else the driver can tell."""
    return [*_reading_tasks(parts), *_health_tasks(parts), *_further_tasks(parts)]


def _reading_tasks(parts: Parts) -> list[TaskSpec]:
    bus, settings, worker = parts.bus, parts.settings, parts.worker
    subscribe = SubscribeFaults(
        news=DriverEvents(worker),
        inventory=bus.inventory,
        faults=bus.faults.claim("subscribe-faults"),
        clock=parts.clock,
    )
    refresh = RefreshDevices(
        reader=DriverInventory(worker),
        identify=chips.identify,
        place=parts.host.numa.read_numa,
        bus=bus,
        inventory=bus.inventory.claim("refresh-devices"),
        periods=RefreshPeriods(
            rescan_s=settings.rescan_interval_s,
            patient_s=_PATIENT_RESCAN_S,
            eager_for_s=settings.device_reset_timeout_s,
        ),
        config=bus.hami if parts.hami else None,
    )
    read = ReadHealth(
        health=DriverHealth(worker),
        bus=bus,
        readings=bus.readings.claim("read-health"),
        periods=ReadPeriods(
            with_callbacks_s=settings.health_interval_s, polled_s=settings.poll_interval_s
        ),
        clock=parts.clock,
    )
    return [
        TaskSpec(name="driver-worker", run=worker.run),
        TaskSpec(name="subscribe-faults", run=subscribe.run),
        TaskSpec(name="refresh-devices", run=refresh.run),
        TaskSpec(name="read-health", run=read.run),
    ]


def _health_tasks(parts: Parts) -> list[TaskSpec]:
    bus, settings = parts.bus, parts.settings
    directory = settings.fault_config_dir
    rules = FollowFaultConfig(
        files=FaultDirectory(directory=directory, names=FILES) if directory else None,
        directory=f"directory {directory}",
        watch=parts.cluster,
        config_map=f"ConfigMap {settings.fault_config_map}",
        fault_config=bus.fault_config.claim("follow-fault-config"),
    )
    fold = FoldHealth(
        bus=bus,
        sinks=HealthSinks.claim(bus, "fold-health"),
        ledger=_ledger(parts),
        clock=parts.clock,
        rules_awaited=directory is not None,
    )
    keep = KeepIsolation(
        file=LocalStateFile(directory=settings.state_dir, name=ISOLATION),
        bus=bus,
        restored=bus.restored.claim("keep-isolation"),
        clock=parts.clock,
    )
    return [
        TaskSpec(name="follow-fault-config", backoff=ENDLESS, run=rules.run),
        TaskSpec(name="fold-health", run=fold.run),
        TaskSpec(name="keep-isolation", backoff=ENDLESS, run=keep.run),
    ]


def _further_tasks(parts: Parts) -> list[TaskSpec]:
    """Return what may fail without an NPU being lost."""
    bus, worker = parts.bus, parts.worker
    usage = ReadUsage(
        usage=DriverUsage(worker),
        inventory=bus.inventory,
        usages=bus.usage.claim("read-usage"),
        every_s=_USAGE_EVERY_S,
    )
    switches = WatchSwitches(
        reader=DriverSwitches(worker),
        has_switches=lambda npu: spec_of(npu).has_switches,
        bus=bus,
        switches=bus.switches.claim("watch-switches"),
        clock=parts.clock,
    )
    made = [
        TaskSpec(name="read-usage", backoff=ENDLESS, run=usage.run),
        TaskSpec(name="watch-switches", backoff=ENDLESS, run=switches.run),
    ]
    if parts.mode.needs_device_share:
        made.append(_share_task(parts))
    return made


def _share_task(parts: Parts) -> TaskSpec:
    from ascend_agent.driver.share import DriverShares  # noqa: PLC0415 -- for --shares alone
    from ascend_agent.flows.enable_shares import EnableShares  # noqa: PLC0415 -- the same

    bus = parts.bus
    flow = EnableShares(
        share=DriverShares(parts.worker),
        inventory=bus.inventory,
        faults=bus.faults,
        readings=bus.readings,
        shares=bus.shares.claim("enable-shares"),
    )
    return TaskSpec(name="enable-shares", run=flow.run)


def _ledger(parts: Parts) -> Ledger:
    rules = HealthRules(
        shares_required=parts.mode.needs_device_share,
        driver_grace_ms=round(parts.settings.driver_grace_s * 1000),
        failed_rounds=parts.settings.failed_rounds,
        restore_awaited=True,
    )
    return Ledger.empty(fault_rules=BUILT_IN, rules=rules, specs=SPECS)
