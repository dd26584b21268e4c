"""What the embedded kubelet saw → what to tell about it."""

from collections.abc import Iterator
from typing import assert_never

from ascend_agent.model.ids import PhyId
from ascend_agent.sim.device_names import NpusOf
from ascend_agent.sim.entries import Entry, Fact
from ascend_agent.sim.kubelet import (
    Allocated,
    Happening,
    Listed,
    PodRemoved,
    Registered,
    RegistrationRefused,
    Started,
    StreamEnded,
)

_VISIBLE = "ASCEND_VISIBLE_DEVICES"
_OF_A_SLICE = ("ASCEND_VNPU_SPECS", "NPU_MEM_QUOTA", "NPU_PRIORITY")


def kubelet_news(happening: Happening, *, npus_of: NpusOf) -> Entry:
    """Return the entry of one happening; device ids come with the NPUs they stand for."""
    event, facts = _told(happening, npus_of)
    return Entry(at_ns=happening.at_ns, event=event, facts=facts)


def turned_npus(listed: Listed, *, npus_of: NpusOf) -> Iterator[tuple[PhyId, bool]]:
    """Yield each NPU that a list shows with a new health, once, with that health."""
    seen = set()
    for device, healthy in listed.changed:
        for npu in npus_of([device], listed.resource):
            if npu not in seen:
                seen.add(npu)
                yield npu, healthy


def _told(  # noqa: PLR0911 -- one return a kind of happening
    happening: Happening, npus_of: NpusOf
) -> tuple[str, dict[str, Fact]]:
    match happening:
        case Started(starts=starts):
            return ("kubelet_started" if starts == 1 else "kubelet_restarted"), {}
        case Registered(resource=resource, endpoint=endpoint):
            return "registered", {"resource": resource, "endpoint": endpoint}
        case RegistrationRefused(resource=resource, reason=reason):
            return "registration_refused", {"resource": resource, "reason": reason}
        case Listed(resource=resource, total=total, healthy=healthy):
            return "devices", {"resource": resource, "total": total, "healthy": healthy}
        case StreamEnded(resource=resource, reason=reason):
            return "stream_ended", {"resource": resource, "reason": reason}
        case Allocated():
            return _allocation(happening, npus_of)
        case PodRemoved(pod=pod):
            return "pod_removed", {"pod": pod.key}
        case other:
            assert_never(other)


def _allocation(allocated: Allocated, npus_of: NpusOf) -> tuple[str, dict[str, Fact]]:
    pod, variables = allocated.pod, allocated.variables
    told = [name for name in _OF_A_SLICE if name in variables]
    # Where it is said in the answer, that is true: with HAMi the kubelet's ids are arbitrary.
    named = [npu for npu in variables.get(_VISIBLE, "").split(",") if npu.isdigit()]
    npus = [int(npu) for npu in named or npus_of(allocated.devices, pod.resource)]
    facts: dict[str, Fact] = {
        "pod": pod.key,
        "resource": pod.resource,
        "devices": [str(device) for device in allocated.devices],
        "npus": npus,
        "took_ms": round(allocated.took_s * 1000, 3),
    }
    if not told:
        return "allocated", facts
    facts["container"] = pod.container
    facts["variables"] = [f"{name}={variables[name]}" for name in told]
    return "sliced", facts
