"""What only the hami dialect needs; loaded with it alone."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.grants import claims
from ascend_agent.dialects.hami.in_force import DEVICE, NODE
from ascend_agent.driver.share import DriverShares
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.driver.vnpus import DriverVnpus
from ascend_agent.flows.allocate import Allocate, Edits
from ascend_agent.flows.announce_hami import HamiAnnouncements
from ascend_agent.flows.answer import Answer, SliceParts
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.enable_shares import EnableShares, SoftShares
from ascend_agent.flows.follow_hami_config import FollowHamiConfig
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.flows.heard_pods import HeardPods
from ascend_agent.flows.meter_hami import MeterHami
from ascend_agent.flows.own_shares import OwnShares
from ascend_agent.flows.prepare_soft import PrepareSoft
from ascend_agent.flows.register_node import Cadence, RegisterNode
from ascend_agent.flows.repair_lock import RepairLock
from ascend_agent.flows.serve_chosen import ServeChosen
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.flows.settle_allocations import SettleAllocations
from ascend_agent.flows.sweep_vnpus import SweepPlan, SweepVnpus
from ascend_agent.flows.tidy_soft import TidySoft
from ascend_agent.host.assets import HostAssets
from ascend_agent.host.container_dirs import LocalContainerDirectories
from ascend_agent.host.hami_files import HamiDirectories
from ascend_agent.host.registry_files import LocalRegistryFiles
from ascend_agent.host.share_record import SHARES, FileShareRecord
from ascend_agent.host.shm import SoftFiles
from ascend_agent.host.state_file import LocalStateFile
from ascend_agent.host.stated_assets import StatedAssets
from ascend_agent.interfaces import SoftPreparation
from ascend_agent.kubelet.endpoint import KubeletEndpoint
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.hami import SLOT, HamiChip
from ascend_agent.model.ids import NodeName
from ascend_agent.model.metered import HamiSeen
from ascend_agent.model.vnpu import SweepMode, VnpuSweep
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.settings import Settings
from ascend_agent.slicing import load_mode, plan
from ascend_agent.wiring.parts import ENDLESS, Parts, spec_of
from ascend_agent.wiring.serving import injection_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiParts:
    """What the dialect's own parts are made from; ``turn`` is held while an Allocate is served."""

    parts: Parts
    turn: asyncio.Lock

    def offers(self, chip: HamiChip) -> HamiOffers:
        """Return what is offered of a configured chip."""
        return HamiOffers(
            word=chip.word,
            resource=chip.resource,
            dialect=self.parts.dialect,
            mode=load_mode("by-die"),
            node_name=NodeName(self.parts.settings.node_name or ""),
            bus=self.parts.bus,
            specs=spec_of,
        )

    def current_offers(self) -> Sequence[HamiOffers]:
        """Return what is offered now: one word, or nothing while none is configured."""
        state = self.parts.bus.hami.value
        return () if state is None or state.chip is None else (self.offers(state.chip),)

    def tasks(self) -> list[TaskSpec]:
        """Return every task of the dialect."""
        return [
            _serving_task(self),
            _config_task(self.parts),
            *_soft_tasks(self),
            _registration_task(self.parts),
            *_settle_tasks(self.parts),
            *_sweep_tasks(self),
        ]

    def meter(self) -> Callable[[], HamiSeen]:
        """Return what tells of HAMi on the metrics page."""
        return meter_of(self.parts.settings, self.parts.bus)

    def announcements(self) -> HamiAnnouncements:
        """Return what tells of HAMi by Events."""
        return HamiAnnouncements(self.parts.bus)

    def own_sockets(self) -> Sequence[str] | None:
        """Return the name of our socket; None: it is not known which that is."""
        return [f"{offers.word}.sock" for offers in self.current_offers()] or None


def meter_of(settings: Settings, bus: Bus) -> Callable[[], HamiSeen]:
    """Return what tells of HAMi on the metrics page, asked on the page's thread."""
    files = SoftFiles(root=settings.hami_root, shared_region=settings.hami_shared_region)
    return MeterHami(bus=bus, meter=files, host_sum=settings.hami_host_sum).seen


def _serving_task(hami: HamiParts) -> TaskSpec:
    settings, bus = hami.parts.settings, hami.parts.bus
    sent = bus.sent.claim("kubelet-endpoints")
    allocator = _allocator_of(hami)
    state = bus.serving[SLOT].claim("serve-chosen")

    def serve(chip: HamiChip) -> ServeResource:
        offers = hami.offers(chip)
        endpoint = KubeletEndpoint(
            plugin_dir=settings.device_plugin_dir,
            file_name=f"{chip.word}.sock",
            kubelet_socket=settings.kubelet_socket,
            resource=chip.resource,
            allocator=allocator(offers),
            sent=sent,
        )
        return ServeResource(offers=offers, endpoint=endpoint, bus=bus, state=state)

    return TaskSpec(name="serve-chosen", run=ServeChosen(make=serve, bus=bus, state=state).run)


def _allocator_of(hami: HamiParts) -> Callable[[HamiOffers], Allocate]:
    """Return what makes the handler of Allocate for one offer."""
    parts, bus = hami.parts, hami.parts.bus
    settings, clock, reader = parts.settings, parts.clock, parts.cluster.reader
    served, settlements = bus.served.claim("allocate"), bus.settlements.claim("allocate")
    injection = injection_of(settings)
    directories = LocalContainerDirectories(root=settings.hami_root)
    slices = SliceParts(plan=partial(plan, paths=settings.soft_paths), directories=directories)
    pod_resources = KubeletPodResources(socket=settings.pod_resources_socket)
    heard = HeardPods(pod_resources=pod_resources, bus=bus)

    def allocator(offers: HamiOffers) -> Allocate:
        return Allocate(
            offers=offers,
            decide=Decide(offers=offers, bus=bus, clock=clock, reader=reader, heard=heard),
            answer=Answer(
                offers=offers,
                injection=injection,
                host=parts.host.files,
                held=None,
                bus=bus,
                slices=slices,
            ),
            bus=bus,
            served=served,
            clock=clock,
            timeout_s=settings.allocate_timeout_s,
            turn=hami.turn,
            edits=Edits(editor=parts.cluster, settlements=settlements),
        )

    return allocator


def _config_task(parts: Parts) -> TaskSpec:
    """Return what reads HAMi's files and says what holds on this node."""
    settings, bus = parts.settings, parts.bus
    paths = {DEVICE: settings.device_config, NODE: settings.node_config}
    given = {DEVICE: "device_config", NODE: "node_config"}
    flow = FollowHamiConfig(
        files=HamiDirectories(
            paths=paths,
            # Without them the built-in chips hold, but a file that was named should be there.
            expected=[role for role, name in given.items() if name in settings.model_fields_set],
        ),
        names={role: str(path) for role, path in paths.items()},
        node=NodeName(settings.node_name or ""),
        rules=settings.hami_rules,
        bus=bus,
        hami=bus.hami.claim("follow-hami-config"),
    )
    return TaskSpec(name="follow-hami-config", run=flow.run)


def _soft_tasks(hami: HamiParts) -> list[TaskSpec]:
    """Return what makes the host ready for soft slices, and keeps it tidy."""
    parts = hami.parts
    settings, bus = parts.settings, parts.bus
    shares = DriverShares(parts.worker)
    prepare = PrepareSoft(
        preparation=_preparation(parts),
        host=parts.host.files,
        shares=shares,
        where=settings.soft_paths,
        inventory=bus.inventory,
        hami=bus.hami,
        served=bus.served,
        soft=bus.soft.claim("prepare-soft"),
    )
    record = FileShareRecord(LocalStateFile(directory=settings.state_dir, name=SHARES))
    own = OwnShares(switch=shares, processes=DriverUsage(parts.worker), record=record)
    enable = EnableShares(
        share=shares,
        inventory=bus.inventory,
        faults=bus.faults,
        readings=bus.readings,
        shares=bus.shares.claim("enable-shares"),
        soft=SoftShares(hami=bus.hami, allocations=bus.allocations, pods=bus.pods, own=own),
    )
    tidy = TidySoft(
        directories=LocalContainerDirectories(root=settings.hami_root),
        registries=LocalRegistryFiles(region=settings.hami_shared_region),
        reader=parts.cluster.reader,
        bus=bus,
        turn=hami.turn,
    )
    return [
        TaskSpec(name="prepare-soft", backoff=ENDLESS, run=prepare.run),
        TaskSpec(name="enable-shares", backoff=ENDLESS, run=enable.run),
        TaskSpec(name="tidy-soft", backoff=ENDLESS, run=tidy.run),
    ]


def _preparation(parts: Parts) -> SoftPreparation:
    settings = parts.settings
    root, region = settings.hami_root, settings.hami_shared_region
    if parts.simulated:
        return StatedAssets((root, region))
    return HostAssets(assets=settings.hami_assets, root=root, region=region)


def _registration_task(parts: Parts) -> TaskSpec:
    """Return what tells the scheduler which NPUs there are."""
    settings = parts.settings
    flow = RegisterNode(
        editor=parts.cluster,
        cadence=Cadence(answer_s=settings.hami_handshake_s, offset_s=settings.hami_report_offset_s),
        bus=parts.bus,
        registered=parts.bus.registered.claim("register-node"),
        clock=parts.clock,
    )
    return TaskSpec(name="register-node", backoff=ENDLESS, run=flow.run)


def _settle_tasks(parts: Parts) -> list[TaskSpec]:
    """Return what edits after an Allocate, and gives stale locks back."""
    bus = parts.bus
    settle = SettleAllocations(editor=parts.cluster, settlements=bus.settlements)
    repair = RepairLock(
        reader=parts.cluster.reader,
        editor=parts.cluster,
        bus=bus,
        locks=bus.locks.claim("repair-lock"),
        clock=parts.clock,
    )
    return [
        TaskSpec(name="settle-allocations", backoff=ENDLESS, rank=1, run=settle.run),
        TaskSpec(name="repair-lock", backoff=ENDLESS, run=repair.run),
    ]


def _sweep_tasks(hami: HamiParts) -> list[TaskSpec]:
    """Return what looks for vNPUs that nobody owns."""
    parts = hami.parts
    settings, bus = parts.settings, parts.bus
    vnpus = bus.vnpus.claim("sweep-vnpus")
    if settings.vnpu_sweep is SweepMode.OFF:
        vnpus.put(VnpuSweep(mode=SweepMode.OFF))
        return []
    flow = SweepVnpus(
        driver=DriverVnpus(parts.worker),
        turn=hami.turn,
        claims=claims,
        plan=SweepPlan(
            mode=settings.vnpu_sweep,
            every_s=settings.vnpu_sweep_interval_s,
            grace_s=settings.vnpu_sweep_grace_s,
        ),
        bus=bus,
        vnpus=vnpus,
        clock=parts.clock,
    )
    return [TaskSpec(name="sweep-vnpus", backoff=ENDLESS, run=flow.run)]
