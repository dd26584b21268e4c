"""The metrics page, made of what was measured.

Names follow Prometheus' conventions: base units, ``_total`` for counters, ``_info`` for labels
worth joining. What is told is decided in ``npu_families``, ``port_families``,
``agent_families`` and ``cluster_families``.
"""

import platform
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ascend_agent.telemetry.agent_families import (
    agent_families,
    allocate_families,
    driver_families,
    list_families,
    serving_families,
)
from ascend_agent.telemetry.cluster_families import cluster_families, count_families
from ascend_agent.telemetry.measured import Measured
from ascend_agent.telemetry.npu_families import (
    health_families,
    holder_families,
    inventory_families,
    usage_families,
)
from ascend_agent.telemetry.port_families import port_families
from ascend_agent.telemetry.series import gauge


def page(measured: Measured) -> bytes:
    """Return the page, with the standard ``process_*`` metrics of the agent itself."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(measured))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def collect(self) -> Iterator[Metric]:
        measured = self._measured
        yield gauge(
            "build_info",
            "The agent's version and the Python it runs on.",
            ("version", "python"),
            [((measured.version, platform.python_version()), 1)],
        )
        yield from inventory_families(measured.inventory)
        yield from health_families(measured.view)
        yield from usage_families(measured)
        yield from port_families(measured.links)
        yield from holder_families(measured)
        yield from list_families(measured)
        yield from serving_families(measured)
        yield from allocate_families(measured)
        yield from driver_families(measured.driver)
        yield from cluster_families(measured.cluster)
        yield from count_families(measured.api_counts)
        yield from agent_families(measured)
