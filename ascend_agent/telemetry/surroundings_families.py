"""What the metrics page tells about switches (A3) and DPU NICs (A5), where the node has any."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from ascend_agent.model.health import NodeView
from ascend_agent.model.surroundings import DpuHealth, SwitchHealth
from ascend_agent.telemetry.series import gauge, states


def switch_families(view: NodeView | None) -> Iterator[Metric]:
    """Yield how the node's switches are; their faults are counted by text, not by port."""
    switches = view.switches if view else None
    yield gauge(
        "switch_health",
        "1 for what the faults of the node's switches mean for the node, 0 for the others; absent "
        "without switches.",
        ("health",),
        list(states((), SwitchHealth, switches.health)) if switches else [],
    )
    faults = Counter((each.text, each.level.value) for each in switches.faults) if switches else {}
    yield gauge(
        "switch_faults",
        "Faults of the node's switches that stand, by text and level.",
        ("fault", "level"),
        list(faults.items()),
    )
    yield gauge(
        "switch_faults_incomplete",
        "1 where switches have more faults than were told, or some were lost; absent without "
        "switches.",
        (),
        [((), not switches.complete)] if switches else [],
    )


def dpu_families(view: NodeView | None) -> Iterator[Metric]:
    """Yield how DPU NICs are, and what they mean for the NPUs that use them."""
    npus = view.npus if view else ()
    dpus = view.dpus.dpus if view and view.dpus else ()
    yield gauge(
        "npu_dpu_health",
        "1 for what its DPU NICs mean for an NPU, 0 for the others; absent without DPU NICs.",
        ("npu", "health"),
        [
            row
            for npu in npus
            if npu.dpu is not None
            for row in states((npu.npu.phy,), DpuHealth, npu.dpu)
        ],
    )
    yield gauge(
        "dpu_up",
        "1 while a DPU NIC can be used, 0 while it can't.",
        ("interface",),
        [((dpu.name,), dpu.up) for dpu in dpus],
    )
