"""Metric families as values that a test can compare."""

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric

Samples = dict[str, float]


def samples(families: Iterable[Metric]) -> Samples:
    """Return each series with its value, spelled as on the page but without the prefix."""
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            name = sample.name.removeprefix("ascend_agent_")
            found[f"{name}{{{labels}}}" if labels else name] = sample.value
    return found


def of(found: Samples, name: str) -> Samples:
    """Return the series of one metric."""
    return {key: value for key, value in found.items() if key.partition("{")[0] == name}
