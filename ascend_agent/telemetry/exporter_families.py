"""HAMi's own metric families, with its names and labels to the letter, so that dashboards go on.

What would make the page invalid is left out and counted (HAMi F9).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ascend_agent.model.ids import DieId
from ascend_agent.model.metered import ContainerDevice, HamiSeen
from ascend_agent.model.npu import Npu
from ascend_agent.model.seen import Seen
from ascend_agent.telemetry.series import Row

T = TypeVar("T")
Labels = tuple[str, ...]
"""Label values as the page has them."""

_MIB = 1024 * 1024
_HOST = ("device_index", "device_uuid", "device_type")
_CONTAINER = ("namespace", "pod", "container", "vdevice_index", "device_uuid")
_ALWAYS_ZERO = ("context", "module", "buffer")
_LONGEST_LABEL = 256


def exporter_families(seen: Seen, hami: HamiSeen, skipped: Counter[str]) -> Iterator[Metric]:
    """Yield what HAMi's exporter tells: each NPU that the driver lists, each soft container.

    An NPU has its sum over containers where that is asked for (HAMi F7), and else what the driver
    says. Reasons for leaving something out are counted into *skipped*.
    """
    npus = seen.inventory.npus if seen.inventory else ()
    listed = [(npu.identity.die, npu) for npu in npus if npu.identity.die and npu.address]
    skipped["no-die"] += sum(1 for npu in npus if npu.address and not npu.identity.die)
    told = [device for device in hami.devices if device.used_bytes is not None]
    soft = dict(once([(_container_labels(each), each) for each in told], skipped))
    sums = _used_by_containers(soft.values()) if hami.host_sum else {}
    busy = {die: _percent(npu, seen) for die, npu in listed}
    yield _family(
        "hami_host_gpu_memory_used_bytes",
        "Memory of an NPU in use; where its containers in soft mode tell, what they use together.",
        _HOST,
        [(_host_labels(die, npu), sums.get(die) or _used(npu, seen)) for die, npu in listed],
    )
    yield _family(
        "hami_host_gpu_utilization_ratio",
        "How busy the AI cores of an NPU are, 0 to 100; 0 where the driver does not tell.",
        _HOST,
        [(_host_labels(die, npu), busy[die]) for die, npu in listed],
    )
    yield _family(
        "hami_vgpu_memory_used_bytes",
        "Memory of an NPU that a container in soft mode uses.",
        _CONTAINER,
        [(labels, each.used_bytes or 0) for labels, each in soft.items()],
    )
    yield _family(
        "hami_vgpu_memory_limit_bytes",
        "Memory of each NPU that a container in soft mode may use; 0 is no limit.",
        _CONTAINER,
        [(labels, each.limit_bytes or 0) for labels, each in soft.items()],
    )
    yield _family(
        "hami_container_device_utilization_ratio",
        "How busy the AI cores of the whole NPU are that a container has, 0 to 100.",
        _CONTAINER,
        [(labels, busy.get(each.die, 0)) for labels, each in soft.items()],
    )
    for part in _ALWAYS_ZERO:
        yield _family(
            f"hami_vgpu_memory_{part}_bytes",
            "Always 0: what dashboards for GPUs ask for and NPUs do not tell.",
            _CONTAINER,
            [(labels, 0) for labels in soft],
        )


def _used_by_containers(soft: Iterable[ContainerDevice]) -> Mapping[DieId, int]:
    sums: Counter[DieId] = Counter()
    for each in soft:
        sums[each.die] += each.used_bytes or 0
    return sums


def _used(npu: Npu, seen: Seen) -> int:
    usage = seen.usage.get(npu.phy)
    return ((usage.memory_used_mib if usage else None) or 0) * _MIB


def _percent(npu: Npu, seen: Seen) -> int:
    usage = seen.usage.get(npu.phy)
    return (usage.ai_core_percent if usage else None) or 0


def _host_labels(die: DieId, npu: Npu) -> Sequence[object]:
    logic = (npu.address or npu.identity.address).logic
    chip = npu.identity.chip
    return (logic, die, _device_type(chip.product or chip.chip_name))


def _device_type(product: str) -> str:
    return product if product.startswith(("Ascend-", "NVIDIA-")) else f"Ascend-{product}"


def _container_labels(device: ContainerDevice) -> Sequence[object]:
    return (device.namespace, device.pod, device.container, device.place, device.die)


def once(
    rows: Sequence[tuple[Sequence[object], T]], skipped: Counter[str]
) -> list[tuple[Labels, T]]:
    """Return *rows* without those whose labels were there already: a scraper refuses such."""
    first: dict[Labels, T] = {}
    for values, value in rows:
        labels = tuple(_label(each) for each in values)
        if labels in first:
            skipped["duplicate"] += 1
        first.setdefault(labels, value)
    return list(first.items())


def _label(value: object) -> str:
    """Return *value* as the page can hold it, whatever the driver calls its product."""
    return str(value).encode(errors="replace").decode()[:_LONGEST_LABEL]


def _family(name: str, text: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in rows:
        family.add_metric([_label(each) for each in values], float(value))
    return family
