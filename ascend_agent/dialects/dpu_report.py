"""How MindCluster is told about DPU NICs: a list of names, fault entries and one document.

Decides the form alone; which ConfigMap they go into, and when, is left to the dialect. Times are
those of the change, so that equal states make equal texts. Source: MindCluster 26.0, whose
scheduler, node collector and fault manager read them.
"""

from collections.abc import Mapping
from typing import Final

from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.ids import DeviceName, Millis, PhyId, format_device_name
from ascend_agent.model.surroundings import DpuHealth, DpuStates

_SUB_HEALTH_CODE: Final = "200001001"  # decimal, where all other codes are hex
_MS_PER_S: Final = 1000


def unhealthy_key(word: str) -> str:
    """Return the key, beside the lists of unhealthy NPUs, under which ``unhealthy_names`` goes."""
    return f"huawei.com/{word}-DPUUnhealthy"


def unhealthy_names(states: DpuStates | None, *, word: str) -> str:
    """Return the NPUs none of whose DPU NICs is up, joined by commas, ascending; empty if none."""
    return ",".join(_name(word, phy) for phy in _npus(states, DpuHealth.UNHEALTHY))


def sub_health_faults(states: DpuStates | None, *, word: str) -> list[Mapping[str, object]]:
    """Return one fault entry for each NPU some of whose DPU NICs are down, ascending."""
    if states is None:
        return []
    return [
        _fault(_name(word, phy), states.since_ms[phy])
        for phy in _npus(states, DpuHealth.SUB_HEALTHY)
    ]


def info_document(states: DpuStates | None, *, now: Millis) -> Mapping[str, object] | None:
    """Return the value of ``DpuInfoCfg``, None where there is nothing to tell.

    The collector refuses a document without a bus type.
    """
    if states is None or not states.bus_type:
        return None
    return {
        "BusType": states.bus_type,
        "DPUList": [
            {
                "Name": dpu.name,
                "Operstate": dpu.operstate,
                "DeviceID": dpu.device_id,
                "VendorID": dpu.vendor_id,
            }
            for dpu in states.dpus
        ],
        "NpuToDpusMap": {str(phy): list(names) for phy, names in states.by_npu.items()},
        "UpdateTime": now // _MS_PER_S,
    }


def _npus(states: DpuStates | None, health: DpuHealth) -> list[PhyId]:
    found = states.health if states else {}
    return sorted(phy for phy, each in found.items() if each is health)


def _name(word: str, phy: PhyId) -> str:
    return format_device_name(DeviceName(word, phy, None))


def _fault(name: str, since_ms: Millis) -> Mapping[str, object]:
    level = FaultLevel.NOT_HANDLE.value
    return {
        "fault_type": "DpuSubhealthy",
        "npu_name": name,
        "large_model_fault_level": level,
        "fault_level": level,
        "fault_handling": level,
        "fault_code": _SUB_HEALTH_CODE,
        "fault_time_and_level_map": {
            _SUB_HEALTH_CODE: {"fault_time": since_ms, "fault_level": level}
        },
    }
