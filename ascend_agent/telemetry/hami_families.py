"""What the metrics page tells where HAMi schedules, under names of ours; and HAMi's own beside it.

What is no account at all is left out and counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.metrics_core import Metric

from ascend_agent.model.hami import HamiState, RegistrationPhase
from ascend_agent.model.ids import PhyId
from ascend_agent.model.metered import ContainerDevice, HamiSeen, TurnUsage
from ascend_agent.model.npu import Npu
from ascend_agent.model.seen import Seen
from ascend_agent.model.vnpu import VnpuSweep
from ascend_agent.telemetry.exporter_families import exporter_families, once
from ascend_agent.telemetry.measured import Counted
from ascend_agent.telemetry.series import counter, gauge, states

_MIB = 1024 * 1024
_MS_PER_S = 1000
_US_PER_S = 1_000_000
_HOLDER = ("npu", "holder_namespace", "holder_pod", "holder_container")


def hami_families(seen: Seen, hami: HamiSeen, counted: Counted) -> Iterator[Metric]:
    """Yield all that is told of HAMi; *seen* has the NPUs and how busy they are."""
    skipped: Counter[str] = Counter()
    yield from exporter_families(seen, hami, skipped)
    yield from _granted_families(hami.devices, skipped)
    yield from _state_families(hami.state)
    yield from _registration_families(hami, seen.inventory.npus if seen.inventory else ())
    yield from _sweep_families(hami.sweep)
    yield from _turn_families(hami.turns)
    yield counter(
        "hami_allocates",
        "Containers that got NPUs, by how much of them: whole, template or soft.",
        ("slice",),
        sorted(((kind,), count) for kind, count in counted.slices.items()),
    )
    yield counter(
        "hami_locks_released",
        "Node locks that were given back because their pod needed them no more.",
        (),
        [((), hami.locks.released)] if hami.locks else [],
    )
    for why, count in hami.unread.items():
        skipped[why.value] += count
    yield gauge(
        "hami_skipped_series",
        "What this page leaves out: series told twice, NPUs without a die id, files of containers "
        "that can't be read in time or at all, or have impossible numbers.",
        ("reason",),
        sorted(((why,), count) for why, count in skipped.items()),
    )


def _granted_families(
    devices: Sequence[ContainerDevice], skipped: Counter[str]
) -> Iterator[Metric]:
    granted = once(
        [((each.npu, each.namespace, each.pod, each.container), each) for each in devices], skipped
    )
    yield gauge(
        "hami_granted_memory_bytes",
        "Memory of an NPU that the scheduler granted to a container, whatever its slice.",
        _HOLDER,
        [(labels, each.granted_mib * _MIB) for labels, each in granted],
    )
    yield gauge(
        "hami_granted_cores_ratio",
        "Part of an NPU's cores that the scheduler granted to a container, 0 to 1; 0 is no limit.",
        _HOLDER,
        [(labels, each.granted_core_percent / 100) for labels, each in granted],
    )


def _state_families(state: HamiState | None) -> Iterator[Metric]:
    chip = state.chip if state else None
    yield gauge(
        "hami_info",
        "The chip as HAMi's files call it, its word in annotations, and the resource that is "
        "served; absent while no NPU here is configured.",
        ("chip", "word", "resource"),
        [((chip.chip_name, chip.word, chip.resource), 1)] if chip else [],
    )
    yield gauge(
        "hami_shares",
        "Devices an NPU, and where the number comes from.",
        ("origin",),
        [((state.origins.get("shares", ""),), state.shares)] if state else [],
    )
    yield gauge(
        "hami_allocatable_memory_bytes",
        "Memory of each NPU that the scheduler may grant.",
        (),
        [((), chip.allocatable_mib * _MIB)] if chip else [],
    )
    yield gauge(
        "hami_soft_mode",
        "1 in soft mode: as HAMi's files want it (wanted), and as it is (done).",
        ("which",),
        [(("wanted",), state.wants_soft), (("done",), state.soft)] if state else [],
    )
    yield gauge(
        "hami_config_troubles",
        "What is wrong with HAMi's files: warnings, and contents refused; /status names them.",
        ("kind",),
        [(("warning",), len(state.warnings)), (("refused",), len(state.refused))] if state else [],
    )


def _registration_families(hami: HamiSeen, npus: Sequence[Npu]) -> Iterator[Metric]:
    told = hami.registration
    yield gauge(
        "hami_registration_phase",
        "1 for where this node stands with HAMi's scheduler, 0 for the others.",
        ("phase",),
        list(states((), RegistrationPhase, told.phase)) if told else [],
    )
    yield gauge(
        "hami_handshake_timestamp_seconds",
        "When the agent last wrote the handshake, in seconds since the epoch.",
        (),
        [((), told.told_at_ms / _MS_PER_S)] if told and told.told_at_ms is not None else [],
    )
    counts = told.counts if told else {}
    yield gauge(
        "hami_published_devices",
        "Devices of an NPU in the list that the scheduler was told last, 0 while the NPU is sick.",
        ("npu",),
        [((npu.phy,), counts[die]) for npu in npus if (die := npu.identity.die) and die in counts],
    )


def _sweep_families(sweep: VnpuSweep | None) -> Iterator[Metric]:
    found = sweep.found if sweep else {}
    surplus = sweep.surplus if sweep else {}
    yield gauge(
        "hami_vnpus",
        "How many vNPUs an NPU has.",
        ("npu",),
        [((npu,), len(vnpus)) for npu, vnpus in sorted(found.items())],
    )
    yield gauge(
        "hami_vnpus_surplus",
        "How many vNPUs of an NPU no container owns.",
        ("npu",),
        [((npu,), len(vnpus)) for npu, vnpus in sorted(surplus.items())],
    )
    yield counter(
        "hami_vnpus_removed",
        "How many vNPUs were removed because no container owned them.",
        (),
        [((), sweep.removed)] if sweep else [],
    )
    yield gauge(
        "hami_vnpus_unremovable",
        "1 where a vNPU that no container owns can't be removed; /status says why.",
        ("npu",),
        [((npu,), 1) for npu in sorted(sweep.failed)] if sweep else [],
    )


def _turn_families(turns: Mapping[PhyId, TurnUsage]) -> Iterator[Metric]:
    by_npu = sorted(turns.items())
    yield gauge(
        "hami_managers",
        "Containers that take turns on an NPU, as the limiting library says.",
        ("npu",),
        [((npu,), turn.managers) for npu, turn in by_npu],
    )
    yield gauge(
        "hami_turn_queue",
        "Containers that wait for their turn on an NPU.",
        ("npu",),
        [((npu,), turn.waiting) for npu, turn in by_npu],
    )
    yield gauge(
        "hami_turn_since_timestamp_seconds",
        "When the container whose turn it is on an NPU got it, in seconds since the epoch.",
        ("npu",),
        [
            ((npu,), turn.turn_since_us / _US_PER_S)
            for npu, turn in by_npu
            if turn.turn_since_us is not None
        ],
    )
