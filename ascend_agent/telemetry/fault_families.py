"""What the metrics page tells about fault codes, the rules about them, and what happened so far.

The number of series is bounded: of each NPU the most severe codes are named, all are counted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.metrics_core import Metric

from ascend_agent.model.fault import FaultCode, FaultLevel, format_fault_code
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import ActiveFault, NodeView, NpuView
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.notices import NoticeKind
from ascend_agent.telemetry.measured import Counted
from ascend_agent.telemetry.series import counter, gauge

MOST_CODES: Final = 16
"""So many codes of one NPU are named; more at once tell nobody more."""

_RANK: Final = {level: rank for rank, level in enumerate(FaultLevel)}


def fault_families(view: NodeView | None, config: FaultConfigState | None) -> Iterator[Metric]:
    """Yield which codes stand on each NPU, what rules have raised, and how its network is.

    Codes are spelled as the rules in force spell them.
    """
    npus = view.npus if view else ()
    yield gauge(
        "npu_faults",
        "Fault codes that stand on an NPU.",
        ("npu",),
        [((npu.npu.phy,), len(npu.faults)) for npu in npus],
    )
    yield gauge(
        "npu_fault_active",
        "1 for each fault code that stands on an NPU, with its level by the rules in force; of "
        f"many codes the {MOST_CODES} most severe.",
        ("npu", "fault", "level"),
        [
            ((npu.npu.phy, _text(fault.code, config), fault.level.value), 1)
            for npu in npus
            for fault in _worst(npu.faults)
        ],
    )
    yield gauge(
        "npu_upgrades",
        "Reasons why rules about how often or how long have raised the level of an NPU.",
        ("npu", "kind", "level"),
        [((npu.npu.phy, *key), count) for npu in npus for key, count in _upgrades(npu).items()],
    )
    yield gauge(
        "npu_manually_separated",
        "1 while a rule isolates an NPU, or its network, until people release it or the rule's "
        "time is over.",
        ("npu",),
        [((npu.npu.phy,), _waits_for_people(npu)) for npu in npus],
    )
    yield gauge(
        "npu_network_healthy",
        "1 while the network of an NPU counts as fit, which the kubelet is not told.",
        ("npu",),
        [((npu.npu.phy,), npu.network.healthy) for npu in npus],
    )
    yield gauge(
        "npu_network_level",
        "1 for the level the network of an NPU stands under; absent where no fault of it is.",
        ("npu", "level"),
        [
            ((npu.npu.phy, npu.network.level.value), 1)
            for npu in npus
            if npu.network.level is not None
        ],
    )


def rule_families(config: FaultConfigState | None) -> Iterator[Metric]:
    """Yield which fault rules are in force; nothing before there are any."""
    states = [config] if config else []
    yield gauge(
        "fault_rules_info",
        "Where the fault levels and rules in force come from.",
        ("source",),
        [((state.rules.source,), 1) for state in states],
    )
    yield gauge(
        "fault_rules_version",
        "Changes of the fault rules since the start.",
        (),
        [((), state.version) for state in states],
    )
    yield gauge(
        "fault_rules_refused",
        "Fault files, keys or entries that were offered and can't be used; /status names them.",
        (),
        [((), len(state.refused)) for state in states],
    )


def notice_families(counted: Counted) -> Iterator[Metric]:
    """Yield how much has happened to NPUs so far."""
    yield counter(
        "npu_notices",
        "What happened to NPUs: faults that occurred, recovered or were noticed once, levels that "
        "rules raised and released.",
        ("kind",),
        [((kind.value,), counted.notices.get(kind, 0)) for kind in NoticeKind],
    )
    yield counter(
        "npu_notices_missed",
        "What happened to NPUs while too much happened at once to count it by kind.",
        (),
        [((), counted.notices_missed)],
    )


def _text(code: FaultCode, config: FaultConfigState | None) -> str:
    return config.rules.catalog.text_of(code) if config else format_fault_code(code)


def _worst(faults: Sequence[ActiveFault]) -> Sequence[ActiveFault]:
    if len(faults) <= MOST_CODES:
        return faults
    return sorted(faults, key=lambda fault: _RANK[fault.level], reverse=True)[:MOST_CODES]


def _upgrades(npu: NpuView) -> Counter[tuple[str, str]]:
    return Counter((upgrade.kind.value, upgrade.level.value) for upgrade in npu.upgrades)


def _waits_for_people(npu: NpuView) -> bool:
    return any(
        upgrade.level is FaultLevel.MANUALLY_SEPARATE_NPU or upgrade.kind is UpgradeKind.AUTOFILL
        for upgrade in npu.upgrades
    )
