"""An embedded kubelet: real gRPC on real sockets, without cgroups, containers or a cluster.

For ``sim`` and for tests of whatever talks to a kubelet.
"""

from ascend_agent.sim.kubelet.embedded import AdmissionError, EmbeddedKubelet
from ascend_agent.sim.kubelet.happenings import (
    Allocated,
    Happening,
    Listed,
    PodRemoved,
    Registered,
    RegistrationRefused,
    Started,
    StreamEnded,
)
from ascend_agent.sim.kubelet.pods import DeviceState, Pod, PodBook

__all__ = [
    "AdmissionError",
    "Allocated",
    "DeviceState",
    "EmbeddedKubelet",
    "Happening",
    "Listed",
    "Pod",
    "PodBook",
    "PodRemoved",
    "Registered",
    "RegistrationRefused",
    "Started",
    "StreamEnded",
]
