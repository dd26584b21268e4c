"""The metrics page, made of what was measured.

Names follow Prometheus' conventions: base units, ``_total`` for counters, ``_info`` for labels
worth joining. What is told is decided in the modules beside this one.
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
from ascend_agent.telemetry.fault_families import (
    fault_families,
    notice_families,
    rule_families,
)
from ascend_agent.telemetry.measured import Measured
from ascend_agent.telemetry.npu_families import (
    health_families,
    holder_families,
    inventory_families,
    usage_families,
)
from ascend_agent.telemetry.port_families import port_families
from ascend_agent.telemetry.series import gauge
from ascend_agent.telemetry.surroundings_families import dpu_families, switch_families


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
        seen, counted = measured.seen, measured.counted
        yield from inventory_families(seen.inventory)
        yield from health_families(seen.view)
        yield from fault_families(seen.view, seen.fault_config)
        yield from usage_families(seen)
        yield from port_families(seen.links)
        yield from switch_families(seen.view)
        yield from dpu_families(seen.view)
        yield from holder_families(seen.allocations)
        yield from rule_families(seen.fault_config)
        yield from notice_families(counted)
        yield from list_families(seen, counted)
        yield from serving_families(seen)
        yield from allocate_families(counted)
        yield from driver_families(seen.driver)
        yield from cluster_families(seen.cluster)
        yield from count_families(measured.api_counts)
        yield from agent_families(measured)
        if measured.hami is not None:
            # Loaded where HAMi schedules alone: elsewhere it would only take memory.
            from ascend_agent.telemetry import hami_families as of_hami  # noqa: PLC0415 -- as said

            yield from of_hami.hami_families(seen, measured.hami, counted)
