"""What the metrics page tells about network ports of NPUs."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.telemetry.series import gauge


def port_families(links: LinkStates | None) -> Iterator[Metric]:
    """Yield which ports are down, and of which NPUs nobody can tell; nothing before a look."""
    npus = sorted(links.npus.items()) if links else []
    unread = links.unread if links else frozenset()
    yield gauge(
        "npu_ports_down",
        "Network ports of an NPU that are down, as last told; a kind that was never told is "
        "absent.",
        ("npu", "kind"),
        [
            ((npu, kind), count)
            for npu, state in npus
            for kind, count in _counts(state)
            if count is not None
        ],
    )
    yield gauge(
        "npu_ports_unread",
        "1 where the driver's tool did not tell of the network ports of an NPU when last asked.",
        ("npu",),
        [((npu,), npu in unread) for npu, _ in npus],
    )


def _counts(state: LinkState) -> tuple[tuple[str, int | None], ...]:
    return (
        ("roce", state.link_down),
        ("bonded", state.bonding_down),
        ("ub", state.ub_down),
    )
