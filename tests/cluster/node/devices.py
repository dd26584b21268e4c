"""What a kubelet says of its devices itself, which is true at once (PodResources v1).

A Node object says it too, but up to a second late: the kubelet tells the API server of its node
by the clock. So for a moment the object still shows what an agent offered that has ended.
"""

from pathlib import Path

import grpc
import grpc.aio

from tests.peer._generated.podresources.v1 import api_pb2, api_pb2_grpc

Taken = dict[str, tuple[str, ...]]
"""Device ids of one resource, by container."""


async def count_fit(socket: Path, resource: str) -> int | None:
    """Return how many devices of a resource the kubelet would give out; None if it is away."""
    async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
        lister = api_pb2_grpc.PodResourcesListerStub(channel)  # type: ignore[no-untyped-call]
        try:
            answer = await lister.GetAllocatableResources(api_pb2.AllocatableResourcesRequest())
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return None
            raise
    return sum(len(each.device_ids) for each in answer.devices if each.resource_name == resource)


async def taken(socket: Path, *, namespace: str, pod: str, resource: str) -> Taken:
    """Return which devices the kubelet gave a pod's containers, by their order in the pod."""
    async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
        lister = api_pb2_grpc.PodResourcesListerStub(channel)  # type: ignore[no-untyped-call]
        answer = await lister.List(api_pb2.ListPodResourcesRequest())
    (found,) = (
        each for each in answer.pod_resources if (each.namespace, each.name) == (namespace, pod)
    )
    return {
        container.name: tuple(
            device
            for each in container.devices
            if each.resource_name == resource
            for device in each.device_ids
        )
        for container in found.containers
    }
