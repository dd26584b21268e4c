"""How a metric family is made of rows; names get the agent's prefix here."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import accumulate

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from ascend_agent.telemetry.measured import Distribution

_PREFIX = "ascend_agent_"

Row = tuple[Sequence[object], float]
"""Label values in the order of the labels, and the value."""


def states(labels: Sequence[object], kind: type[Enum], current: Enum) -> Iterator[Row]:
    """Yield a row for each member of *kind*, 1 for *current* and 0 for the others."""
    for state in kind:
        yield (*labels, state.value), state is current


def gauge(name: str, text: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    """Return a family of levels."""
    family = GaugeMetricFamily(_PREFIX + name, text, labels=labels)
    for values, value in rows:
        family.add_metric([str(each) for each in values], float(value))
    return family


def counter(name: str, text: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    """Return a family of counts; its series are called ``<name>_total``."""
    family = CounterMetricFamily(_PREFIX + name, text, labels=labels)
    for values, value in rows:
        family.add_metric([str(each) for each in values], float(value))
    return family


def histogram(
    name: str,
    text: str,
    labels: Sequence[str],
    rows: Iterable[tuple[Sequence[object], Distribution]],
) -> Metric:
    """Return a family of distributions, with cumulative buckets as Prometheus wants them."""
    family = HistogramMetricFamily(_PREFIX + name, text, labels=labels)
    for values, distribution in rows:
        bounds = [*map(str, distribution.bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(distribution.counts), strict=True))
        family.add_metric([str(each) for each in values], buckets, distribution.total)
    return family
