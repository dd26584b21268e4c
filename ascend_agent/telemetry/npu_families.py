"""What the metrics page tells about NPUs.

Every series of an NPU has the label ``npu``, its physical id; all its other names are on
``ascend_agent_npu_info`` alone (OB-3), so that they cost one series an NPU. Who holds an NPU has
label names of its own, since a scraper puts its own ``pod`` over ours (OB-4).
"""

from collections.abc import Iterator, Sequence

from prometheus_client.metrics_core import Metric

from ascend_agent.model.allocation import Allocations
from ascend_agent.model.health import HealthState, NodeView
from ascend_agent.model.npu import Inventory, Npu
from ascend_agent.model.seen import Seen
from ascend_agent.telemetry.series import gauge, states

_MIB = 1024 * 1024


def inventory_families(inventory: Inventory | None) -> Iterator[Metric]:
    """Yield what the node has; nothing before the driver listed it."""
    if inventory is None:
        return
    yield gauge(
        "npu_info",
        "All names of one NPU: physical and logic id, card and slot, die id (UUID), PCI bus, chip.",
        ("npu", "logic", "card", "slot", "die", "bus", "generation", "chip"),
        [(_names(npu), 1) for npu in inventory.npus],
    )
    yield gauge(
        "npus", "NPUs that this node has and we can offer.", (), [((), len(inventory.npus))]
    )
    yield gauge(
        "cards_lost",
        "Cards that the host has but the driver could not bring up.",
        (),
        [((), inventory.lost_cards)],
    )
    yield gauge(
        "chips_unread",
        "Chips that are listed but have not told what they are; they are not offered.",
        (),
        [((), len(inventory.unread))],
    )
    yield gauge(
        "chips_unknown",
        "Chips of a generation that this version does not know; they are not offered.",
        (),
        [((), len(inventory.unknown))],
    )


def _names(npu: Npu) -> Sequence[object]:
    names = ("" if name is None else name for name in npu.names.values())
    return (*names, npu.generation, npu.identity.chip.chip_name)


def health_families(view: NodeView | None) -> Iterator[Metric]:
    """Yield how each NPU fares, and why."""
    npus = view.npus if view else ()
    yield gauge(
        "npu_healthy",
        "1 while the kubelet may give this NPU out, 0 while it may not.",
        ("npu",),
        [((npu.npu.phy,), npu.healthy) for npu in npus],
    )
    yield gauge(
        "npu_state",
        "1 for the state an NPU is in, 0 for the others; sub-healthy is offered but reported.",
        ("npu", "state"),
        [row for npu in npus for row in states((npu.npu.phy,), HealthState, npu.state)],
    )
    yield gauge(
        "npu_state_since_timestamp_seconds",
        "When the state of an NPU last changed, in seconds since the epoch.",
        ("npu",),
        [((npu.npu.phy,), npu.since_ms / 1000) for npu in npus],
    )
    yield gauge(
        "npu_level",
        "1 for the level an NPU stands under, faults and rules alike; absent where no fault is.",
        ("npu", "level"),
        [((npu.npu.phy, npu.level.value), 1) for npu in npus if npu.level is not None],
    )
    yield gauge(
        "npu_unhealthy_reason",
        "1 for each reason for which an NPU is out of service.",
        ("npu", "reason"),
        [((npu.npu.phy, reason.value), 1) for npu in npus for reason in npu.reasons],
    )


def usage_families(seen: Seen) -> Iterator[Metric]:
    """Yield how busy each NPU is; an NPU that is no longer listed is not busy."""
    listed = {npu.npu.phy for npu in seen.view.npus} if seen.view else set()
    usage = {npu: use for npu, use in sorted(seen.usage.items()) if npu in listed}
    yield gauge(
        "npu_memory_bytes",
        "Memory of an NPU: HBM, or DDR where it has none.",
        ("npu",),
        [
            ((npu,), use.memory_mib * _MIB)
            for npu, use in usage.items()
            if use.memory_mib is not None
        ],
    )
    yield gauge(
        "npu_memory_used_bytes",
        "Memory of an NPU in use.",
        ("npu",),
        [
            ((npu,), use.memory_used_mib * _MIB)
            for npu, use in usage.items()
            if use.memory_used_mib is not None
        ],
    )
    parts = [
        (npu, part, percent)
        for npu, use in usage.items()
        for part, percent in (
            ("ai-core", use.ai_core_percent),
            ("vector", use.vector_percent),
            ("npu", use.npu_percent),
        )
    ]
    yield gauge(
        "npu_utilisation_ratio",
        "How busy a part of an NPU is, 0 to 1; parts that the chip does not tell are absent.",
        ("npu", "part"),
        [((npu, part), percent / 100) for npu, part, percent in parts if percent is not None],
    )


def holder_families(allocations: Allocations | None) -> Iterator[Metric]:
    """Yield who holds each NPU, as far as it is known."""
    holders = allocations.holders if allocations else {}
    yield gauge(
        "npu_holder_info",
        "The containers that hold an NPU, as the kubelet says.",
        ("npu", "holder_namespace", "holder_pod", "holder_container"),
        [
            ((npu, holder.namespace, holder.pod, holder.container), 1)
            for npu, held in sorted(holders.items())
            for holder in dict.fromkeys(held)  # two shares of one NPU may be in one container
        ],
    )
