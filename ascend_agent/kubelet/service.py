"""The device plugin service of one resource: what each call of the kubelet asks of whom.

Decided here: which method leads to which question, and that an answer has one part a container.
Free of gRPC: bytes go in and come out, errors leave as our own and get their status in ``calls``.
"""

from collections.abc import AsyncGenerator, Sequence

from ascend_agent.errors import KubeletError
from ascend_agent.interfaces import Allocator
from ascend_agent.kubelet import codec
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.lists import DeviceLists
from ascend_agent.model.ids import ResourceName

_SERVICE = "/v1beta1.DevicePlugin"


class DevicePluginService:
    """Kubelet device plugin API v1beta1, service DevicePlugin."""

    def __init__(self, *, resource: ResourceName, allocator: Allocator, lists: DeviceLists) -> None:
        self._resource = resource
        self._allocator = allocator
        self._lists = lists

    def calls(self) -> Calls:
        """Return the methods by their paths, for one serve cycle."""
        return Calls(
            unary={
                f"{_SERVICE}/GetDevicePluginOptions": self.get_options,
                f"{_SERVICE}/GetPreferredAllocation": self.get_preferred_allocation,
                f"{_SERVICE}/Allocate": self.allocate,
                f"{_SERVICE}/PreStartContainer": self.pre_start_container,
            },
            streaming={f"{_SERVICE}/ListAndWatch": self.list_and_watch},
        )

    async def get_options(self, body: bytes) -> bytes:  # noqa: ARG002 -- an empty message
        """Answer at once, whatever else goes on: the kubelet does not ask again soon (KL-6)."""
        return codec.format_options()

    def list_and_watch(self, body: bytes) -> AsyncGenerator[bytes, None]:  # noqa: ARG002 -- empty
        """Return the stream of device lists."""
        return self._lists.watch()

    async def get_preferred_allocation(self, body: bytes) -> bytes:
        """Return which ids the kubelet should take."""
        requests = codec.parse_preferences(body, resource=self._resource)
        choices = await self._allocator.prefer(requests)
        _check_parts(asked=requests, answered=choices)
        return codec.format_choices(choices)

    async def allocate(self, body: bytes) -> bytes:
        """Return what each container gets; raises AllocationError where one can't be served."""
        requests = codec.parse_allocate(body, resource=self._resource)
        grants = await self._allocator.allocate(requests)
        _check_parts(asked=requests, answered=grants)
        return codec.format_grants(grants)

    async def pre_start_container(self, body: bytes) -> bytes:
        """Refuse to start a container on NPUs that are gone or unhealthy by now (KL-10).

        We do not ask for this call; who makes it all the same gets the check.
        """
        await self._allocator.check(codec.parse_prestart(body))
        return codec.NOTHING


def _check_parts(*, asked: Sequence[object], answered: Sequence[object]) -> None:
    # The kubelet matches parts to containers by position: a missing one would shift devices.
    if len(asked) != len(answered):
        raise KubeletError(f"{len(answered)} answers for {len(asked)} containers")
