"""What an embedded kubelet saw or did; each with CLOCK_MONOTONIC nanoseconds in ``at_ns``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.sim.kubelet.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The kubelet is up; ``starts`` counts from 1, so anything above is a restart."""

    starts: int
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A plugin registered, and was dialled back."""

    resource: ResourceName
    endpoint: str
    prefers: bool  # the plugin wants to be asked which ids to take
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRefused:
    """A plugin's registration was wrong, or its endpoint did not answer."""

    resource: ResourceName
    reason: str
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A device list arrived; ``changed`` holds the devices whose health is new, with that health.

    A device of the first list of a stream counts as changed only if an earlier stream of this
    resource showed it otherwise.
    """

    resource: ResourceName
    total: int
    healthy: int
    changed: tuple[tuple[PluginDeviceId, bool], ...]
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    """The stream of a resource is over: all its devices count as unhealthy."""

    resource: ResourceName
    reason: str
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocated:
    """A pod was admitted and holds these devices.

    ``variables`` and ``paths`` are the answer's: environment by name, host paths by the
    container's.
    """

    pod: Pod
    devices: tuple[PluginDeviceId, ...]
    envs: int  # how many variables, device nodes, mounts and CDI names the answer held
    nodes: int
    mounts: int
    cdi_devices: int
    took_s: float
    variables: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRemoved:
    """A pod is gone and its devices are free."""

    pod: Pod
    at_ns: int


Happening = (
    Started | Registered | RegistrationRefused | Listed | StreamEnded | Allocated | PodRemoved
)
