"""What the embedded kubelet saw, as entries."""

import pytest

from ascend_agent.model.ids import PhyId, PluginDeviceId, ResourceName
from ascend_agent.sim.device_names import by_number
from ascend_agent.sim.kubelet import (
    Allocated,
    Happening,
    Listed,
    Pod,
    PodRemoved,
    Registered,
    RegistrationRefused,
    Started,
    StreamEnded,
)
from ascend_agent.sim.kubelet_news import kubelet_news, turned_npus

RESOURCE = ResourceName("huawei.com/Ascend910")
POD = Pod(namespace="default", name="p", container="main", resource=RESOURCE, count=2)


def ids(*names: str) -> tuple[PluginDeviceId, ...]:
    return tuple(PluginDeviceId(name) for name in names)


@pytest.mark.parametrize(
    ("happening", "event", "facts"),
    [
        (Started(starts=1, at_ns=7), "kubelet_started", {}),
        (Started(starts=2, at_ns=7), "kubelet_restarted", {}),
        (
            Registered(resource=RESOURCE, endpoint="Ascend910.sock", prefers=True, at_ns=7),
            "registered",
            {"resource": RESOURCE, "endpoint": "Ascend910.sock"},
        ),
        (
            RegistrationRefused(resource=RESOURCE, reason="no", at_ns=7),
            "registration_refused",
            {"resource": RESOURCE, "reason": "no"},
        ),
        (
            Listed(resource=RESOURCE, total=8, healthy=7, changed=(), at_ns=7),
            "devices",
            {"resource": RESOURCE, "total": 8, "healthy": 7},
        ),
        (
            StreamEnded(resource=RESOURCE, reason="gone", at_ns=7),
            "stream_ended",
            {"resource": RESOURCE, "reason": "gone"},
        ),
        (PodRemoved(pod=POD, at_ns=7), "pod_removed", {"pod": "default/p"}),
        (
            Allocated(
                pod=POD,
                devices=ids("Ascend910-10", "Ascend910-9"),
                envs=1,
                nodes=2,
                mounts=3,
                cdi_devices=0,
                took_s=0.0012345,
                at_ns=7,
            ),
            "allocated",
            {
                "pod": "default/p",
                "resource": RESOURCE,
                "devices": ["Ascend910-10", "Ascend910-9"],
                "npus": [9, 10],
                "took_ms": 1.234,
            },
        ),
        (
            Allocated(
                pod=POD,
                devices=ids("U1-0"),
                envs=3,
                nodes=0,
                mounts=0,
                cdi_devices=0,
                took_s=0.001,
                variables={
                    "ASCEND_VISIBLE_DEVICES": "4,5",
                    "NPU_PRIORITY": "40",
                    "NPU_MEM_QUOTA": "28672",
                    "OTHER": "x",
                },
                at_ns=7,
            ),
            "sliced",
            {
                "pod": "default/p",
                "resource": RESOURCE,
                "devices": ["U1-0"],
                "npus": [4, 5],
                "took_ms": 1.0,
                "container": "main",
                "variables": ["NPU_MEM_QUOTA=28672", "NPU_PRIORITY=40"],
            },
        ),
    ],
)
def test_each_happening_has_its_event_and_facts(
    happening: Happening, event: str, facts: dict[str, object]
) -> None:
    entry = kubelet_news(happening, npus_of=by_number(1))

    assert (entry.at_ns, entry.event, entry.facts) == (7, event, facts)


def test_an_npu_that_turned_is_told_once_for_all_its_shares() -> None:
    listed = Listed(
        resource=RESOURCE,
        total=4,
        healthy=2,
        changed=tuple((device, False) for device in ids("Ascend910-3-0", "Ascend910-3-1")),
        at_ns=7,
    )

    assert list(turned_npus(listed, npus_of=by_number(2))) == [(PhyId(3), False)]
