"""Between the wire and the model; the one file that knows the generated names.

Decided here: what a request of the kubelet may look like (bounds, well-formedness) and how our
answers are spelled. Whether a device exists, is healthy or fits is left to the allocator.

Each container's maps are written in sorted order, so that equal grants are equal bytes.
Annotations are never written: nothing an Ascend container needs travels in them.
"""

import functools
from collections.abc import Iterator, Sequence

from ascend_agent._generated.deviceplugin import v1beta1 as device_plugin
from ascend_agent._generated.podresources import v1alpha1 as pod_resources
from ascend_agent.errors import BadMessageError
from ascend_agent.kubelet import wire
from ascend_agent.kubelet.texts import shown
from ascend_agent.model.allocation import (
    AllocationRequest,
    ContainerGrant,
    DeviceGroup,
    Holder,
    PreferenceRequest,
)
from ascend_agent.model.ids import NumaNode, PluginDeviceId, ResourceName
from ascend_agent.model.pods import PodKey

API_VERSION = "v1beta1"
# Encoding a first message loads more of betterproto2's libraries, which would hold up the loop in
# the middle of the first registration: here it is part of the import.
NOTHING = bytes(device_plugin.Empty())

_MOST_CONTAINERS = 1000
_MOST_IDS = 800  # a container; the most that any Ascend scheduler hands out
_MOST_AVAILABLE = 10_000  # in a question about preference: all devices of the resource
_LONGEST_ID = 63
_MOST_PODS = 10_000

_TEXT, _NUMBER = wire.Kind.TEXT, wire.Kind.NUMBER
_ALLOCATE: wire.Shape = {1: {1: _TEXT}}
_PREFERENCES: wire.Shape = {1: {1: _TEXT, 2: _TEXT, 3: _NUMBER}}
_PRESTART: wire.Shape = {1: _TEXT}
_POD: wire.Shape = {1: _TEXT, 2: _TEXT, 3: {1: _TEXT, 2: {1: _TEXT, 2: _TEXT}}}
_POD_FIELD = 1
_DEVICE_FIELD = 1
_ID_FIELD = 1


# --- what the kubelet asks -------------------------------------------------------------------


def parse_allocate(body: bytes, *, resource: ResourceName) -> tuple[AllocationRequest, ...]:
    """Return one request a container, ids in the kubelet's order.

    Raises:
        BadMessageError: malformed, no container at all, or beyond our bounds.

    """
    wire.check(body, _ALLOCATE)
    containers = device_plugin.AllocateRequest.parse(body).container_requests
    _check_count("container requests", len(containers), _MOST_CONTAINERS)
    return tuple(
        AllocationRequest(resource=resource, devices=_parse_ids(one.devices_ids, _MOST_IDS))
        for one in containers
    )


def parse_preferences(body: bytes, *, resource: ResourceName) -> tuple[PreferenceRequest, ...]:
    """Return one question a container.

    Raises:
        BadMessageError: malformed, no container at all, or beyond our bounds.

    """
    wire.check(body, _PREFERENCES)
    containers = device_plugin.PreferredAllocationRequest.parse(body).container_requests
    _check_count("container requests", len(containers), _MOST_CONTAINERS)
    for one in containers:
        if not 0 <= one.allocation_size <= _MOST_IDS:
            raise BadMessageError(f"allocation size {one.allocation_size} is not 0 to {_MOST_IDS}")
    return tuple(
        PreferenceRequest(
            resource=resource,
            available=_parse_ids(one.available_deviceIDs, _MOST_AVAILABLE),
            must_include=_parse_ids(one.must_include_deviceIDs, _MOST_IDS),
            size=one.allocation_size,
        )
        for one in containers
    )


def parse_prestart(body: bytes) -> tuple[PluginDeviceId, ...]:
    """Return the ids of the container that is about to start; raises BadMessageError."""
    wire.check(body, _PRESTART)
    return _parse_ids(device_plugin.PreStartContainerRequest.parse(body).devices_ids, _MOST_IDS)


def _check_count(what: str, count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise BadMessageError(f"{count} {what} in one call, not 1 to {most}: change the pod")


def _parse_ids(texts: Sequence[str], most: int) -> tuple[PluginDeviceId, ...]:
    if len(texts) > most:
        raise BadMessageError(
            f"{len(texts)} device ids for one container, {most} are the most: lower its limits"
        )
    for text in texts:
        if not 0 < len(text) <= _LONGEST_ID:
            raise BadMessageError(
                f"device id '{shown(text)}' has {len(text)} characters, not 1 to {_LONGEST_ID}: "
                "none of this agent's is like that, recreate the pod"
            )
    return tuple(PluginDeviceId(text) for text in texts)


# --- what we answer --------------------------------------------------------------------------


def format_options() -> bytes:
    """Return our options: preferences are answered, no call before each container start."""
    return bytes(_options())


def format_registration(*, endpoint: str, resource: ResourceName) -> bytes:
    """Return what Register carries; *endpoint* is the socket's file name, not a path."""
    request = device_plugin.RegisterRequest(
        version=API_VERSION, endpoint=endpoint, resource_name=resource, options=_options()
    )
    return bytes(request)


def format_grants(grants: Sequence[ContainerGrant]) -> bytes:
    """Return the answer to Allocate, one response a grant."""
    responses = [
        device_plugin.ContainerAllocateResponse(
            envs=dict(sorted(grant.envs.items())),
            mounts=[
                device_plugin.Mount(
                    container_path=mount.container_path,
                    host_path=mount.host_path,
                    read_only=mount.read_only,
                )
                for mount in grant.mounts
            ],
            devices=[
                device_plugin.DeviceSpec(
                    container_path=node.container_path,
                    host_path=node.host_path,
                    permissions=node.permissions,
                )
                for node in grant.nodes
            ],
            cdi_devices=[device_plugin.CdiDevice(name=name) for name in grant.cdi_devices],
        )
        for grant in grants
    ]
    return bytes(device_plugin.AllocateResponse(container_responses=responses))


def format_choices(choices: Sequence[Sequence[PluginDeviceId]]) -> bytes:
    """Return the answer to GetPreferredAllocation, one list of ids a container."""
    responses = [
        device_plugin.ContainerPreferredAllocationResponse(device_i_ds=list(choice))
        for choice in choices
    ]
    return bytes(device_plugin.PreferredAllocationResponse(container_responses=responses))


def format_group(group: DeviceGroup) -> bytes:
    """Return the devices of one NPU as they stand in a ListAndWatch message.

    A message is nothing but such pieces one after another. Only the ids differ within a group,
    so the rest of a device is encoded once.
    """
    rest = {fit: _format_state(fit, group.numa) for fit in (True, False)}
    return b"".join(
        wire.format_field(
            _DEVICE_FIELD,
            wire.format_field(_ID_FIELD, device.encode()) + rest[group.fit(share)],
        )
        for share, device in enumerate(group.devices)
    )


def _options() -> device_plugin.DevicePluginOptions:
    return device_plugin.DevicePluginOptions(get_preferred_allocation_available=True)


@functools.lru_cache(maxsize=64)
def _format_state(healthy: bool, numa: NumaNode | None) -> bytes:  # noqa: FBT001 -- a cache key
    """Return all of a device but its id."""
    health = "Healthy" if healthy else "Unhealthy"
    return bytes(device_plugin.Device(health=health, topology=_topology(numa)))


def _topology(numa: NumaNode | None) -> device_plugin.TopologyInfo | None:
    # Node 0 is an empty message inside the list of nodes, and must be there; no list at all
    # means "no preference".
    if numa is None:
        return None
    return device_plugin.TopologyInfo(nodes=[device_plugin.NumaNode(id=numa)])


# --- what the kubelet says about pods --------------------------------------------------------


def split_pods(body: bytes) -> Iterator[bytes]:
    """Yield the bytes of each pod in an answer to List, undecoded.

    Raises:
        BadMessageError: malformed, or too many pods.

    """
    pods = 0
    for number, value in wire.fields(body):
        if number != _POD_FIELD:
            continue
        if not isinstance(value, bytes):
            raise BadMessageError("malformed protobuf: a pod is no message")
        pods += 1
        if pods > _MOST_PODS:
            raise BadMessageError(f"more than {_MOST_PODS} pods in one answer")
        yield value


def parse_pod(body: bytes) -> tuple[tuple[ResourceName, PluginDeviceId, Holder], ...]:
    """Return which device of which resource is whose, in the kubelet's order of containers.

    Empty for a pod without devices: to be in the list means nothing. v1 has the same fields as
    v1alpha1 and more after them, which we have no use for, so one class reads both.

    Raises:
        BadMessageError: malformed.

    """
    pod = _parse_pod(body)
    return tuple(
        (
            ResourceName(devices.resource_name),
            PluginDeviceId(device),
            Holder(namespace=pod.namespace, pod=pod.name, container=container.name),
        )
        for container in pod.containers
        for devices in container.devices
        for device in devices.device_ids
    )


def parse_listed(body: bytes, *, resource: ResourceName) -> tuple[PodKey, frozenset[str]]:
    """Return which pod it is, and which of its containers have devices of *resource*.

    Raises:
        BadMessageError: malformed.

    """
    pod = _parse_pod(body)
    containers = (
        container.name
        for container in pod.containers
        if any(each.resource_name == resource and each.device_ids for each in container.devices)
    )
    return PodKey(namespace=pod.namespace, name=pod.name), frozenset(containers)


def _parse_pod(body: bytes) -> pod_resources.PodResources:
    wire.check(body, _POD)
    return pod_resources.PodResources.parse(body)


LIST_REQUEST = bytes(pod_resources.ListPodResourcesRequest())
