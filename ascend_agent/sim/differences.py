"""What a scenario expects of a moment against what is: the difference, in words."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import assert_never

from ascend_agent.model.fault import format_fault_code
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.settings import (
    Expectation,
    NpuExpectation,
    PodExpectation,
    SwitchExpectation,
)
from ascend_agent.settings.expectations import NONE

_MOST = 3
"""So many NPUs are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What can be seen of a node at one moment.

    ``kubelet`` is the health that the kubelet holds of each NPU it was told of, ``pods`` what each
    pod has, by name.
    """

    view: NodeView
    kubelet: Mapping[PhyId, bool]
    pods: Mapping[str, "PodSight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSight:
    """What can be seen of a pod; ``template`` and the quotas are those of HAMi's slices."""

    npus: tuple[PhyId, ...] = ()
    phase: str = "gone"
    template: str | None = None
    memory_mib: int | None = None
    core_percent: int | None = None


def differences(expectation: Expectation, sight: Sight) -> str:
    """Return where *sight* is not as expected; empty: nowhere."""
    match expectation:
        case NpuExpectation():
            return _first(_of_npus(expectation, sight))
        case SwitchExpectation():
            return _of_switches(expectation, sight.view)
        case PodExpectation():
            return _of_pod(expectation, sight.pods.get(expectation.pod, PodSight()))
        case other:
            assert_never(other)


def _of_npus(expectation: NpuExpectation, sight: Sight) -> Iterator[str]:
    views = {npu.npu.phy: npu for npu in sight.view.npus}
    for number in expectation.npu:
        view = views.get(PhyId(number))
        if view is None:
            yield f"NPU {number} is not there"
            continue
        found: dict[str, object] = {"kubelet": _KUBELET[sight.kubelet.get(view.npu.phy)]}
        found |= {key: look(view) for key, look in _SIGHTS.items()}
        if told := _told(expectation, found):
            yield f"NPU {number}: {told}"


def _of_switches(expectation: SwitchExpectation, view: NodeView) -> str:
    if view.switches is None:
        return "the node has no switches to ask"
    found: Mapping[str, object] = {
        "switches": view.switches.health,
        "level": view.switches.level,
        "faults": len(view.switches.faults),
    }
    return _told(expectation, found)


def _of_pod(expectation: PodExpectation, pod: PodSight) -> str:
    found: Mapping[str, object] = {
        "npus": len(pod.npus),
        "phase": pod.phase,
        "template": pod.template,
        "memory_mib": pod.memory_mib,
        "core_percent": pod.core_percent,
    }
    told = _told(expectation, found)
    return f"pod {expectation.pod}: {told}" if told else ""


def _told(expectation: Expectation, found: Mapping[str, object]) -> str:
    wanted = {key: getattr(expectation, key) for key in found if key in expectation.said}
    return ", ".join(
        f"{key} {_shown(key, found[key])}, not {_shown(key, value)}"
        for key, value in wanted.items()
        if found[key] != value
    )


def _network(view: NpuView) -> str:
    return "Healthy" if view.network.healthy else "Unhealthy"


_KUBELET: Mapping[bool | None, str] = MappingProxyType(
    {True: "Healthy", False: "Unhealthy", None: "unlisted"}
)
_SIGHTS: Mapping[str, Callable[[NpuView], object]] = MappingProxyType(
    {
        "state": lambda view: view.state,
        "reasons": lambda view: frozenset(view.reasons),
        "codes": lambda view: frozenset(fault.code for fault in view.faults),
        "level": lambda view: view.level,
        "upgrades": lambda view: frozenset(upgrade.kind for upgrade in view.upgrades),
        "network": _network,
        "network_level": lambda view: view.network.level,
        "dpu": lambda view: view.dpu,
    }
)


def _shown(key: str, value: object) -> str:
    """Return a value as a scenario file has it."""
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"[{', '.join(sorted(_shown(key, one) for one in value))}]"
    if isinstance(value, Enum):
        return str(value.value)
    if value is None:
        return NONE
    return format_fault_code(value) if key == "codes" else str(value)  # type: ignore[arg-type]


def _first(found: Iterator[str]) -> str:
    all_of = list(found)
    more = [f"and {len(all_of) - _MOST} more"] if len(all_of) > _MOST else []
    return "; ".join(all_of[:_MOST] + more)
