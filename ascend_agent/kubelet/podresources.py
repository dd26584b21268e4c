"""The kubelet's own account of its pods, and of who holds which kubelet device.

Decided here: which version of the API is asked, and how a large answer is read without holding
up the loop. What a holder means for an NPU is left to the dialect.
"""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from ascend_agent.errors import BadMessageError, KubeletBusyError, KubeletError
from ascend_agent.kubelet import codec
from ascend_agent.kubelet.channel import KubeletChannel
from ascend_agent.kubelet.texts import shown
from ascend_agent.model.allocation import Holder
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.model.pods import PodKey

_V1 = "/v1.PodResourcesLister/List"
_V1ALPHA1 = "/v1alpha1.PodResourcesLister/List"
_LARGEST_ANSWER = 16 * 1024 * 1024
_TIMEOUT_S = 2.0

_LONGEST_LABEL = 63
_LONGEST_NAME = 253
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_DNS_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")


class KubeletPodResources:
    """A ``PodResources`` over the kubelet's pod-resources socket; keeps one connection."""

    def __init__(self, *, socket: Path, timeout_s: float = _TIMEOUT_S) -> None:
        self._channel = KubeletChannel(path=socket, largest_answer=_LARGEST_ANSWER)
        self._timeout_s = timeout_s
        self._without_v1: int | None = None  # the connection on which v1 was not served

    async def read_holders(self) -> Mapping[ResourceName, Mapping[PluginDeviceId, Holder]]:
        """Return the holders of all devices, by resource; whoever has no ids is not there.

        A device that is listed twice belongs to the container listed last: the kubelet names a
        pod's init containers before those that go on running, and may give the device of one
        that has ended to one that comes after it.

        Raises:
            KubeletGoneError: nobody answers.
            KubeletBusyError: the kubelet asks us to wait.
            KubeletError: it answered with another error, or with something that is no answer.

        """
        holders: dict[ResourceName, dict[PluginDeviceId, Holder]] = {}
        for pod in codec.split_pods(await self._list()):
            for resource, device, holder in codec.parse_pod(pod):
                _check_names(holder)
                holders.setdefault(resource, {})[device] = holder
            await asyncio.sleep(0)  # a node has hundreds of pods, and the loop other work
        return holders

    async def read_listed(self, resource: ResourceName) -> Mapping[PodKey, frozenset[str]]:
        """Return which containers have devices of *resource*, by pod, pods without any as well.

        Raises:
            KubeletGoneError, KubeletBusyError, KubeletError: as ``read_holders``.

        """
        listed: dict[PodKey, frozenset[str]] = {}
        for pod in codec.split_pods(await self._list()):
            key, containers = codec.parse_listed(pod, resource=resource)
            listed[key] = listed.get(key, frozenset()) | containers
            await asyncio.sleep(0)  # as above
        return listed

    def close(self) -> None:
        """Give the connection up; the next read makes a new one."""
        self._channel.close()

    async def _list(self) -> bytes:
        try:
            if self._without_v1 != self._channel.connections:
                try:
                    return await self._call(_V1)
                except GRPCError as error:
                    if error.status is not Status.UNIMPLEMENTED:
                        raise
                self._without_v1 = self._channel.connections
            return await self._call(_V1ALPHA1)
        except GRPCError as error:
            raise _failure(error) from error

    async def _call(self, method: str) -> bytes:
        return await self._channel.call(method, codec.LIST_REQUEST, timeout_s=self._timeout_s)


def _failure(error: GRPCError) -> KubeletError:
    text = shown(error.message or "")
    match error.status:
        case Status.RESOURCE_EXHAUSTED:
            return KubeletBusyError(f"the kubelet limits pod-resources calls: {text}")
        case Status.UNIMPLEMENTED:
            return KubeletError("the kubelet serves neither pod-resources v1 nor v1alpha1")
        case status:
            return KubeletError(f"the kubelet did not list its pods: {status.name}: {text}")


def _check_names(holder: Holder) -> None:
    """Refuse an answer with names that can't be: to skip one would call its NPUs free."""
    valid = (
        len(holder.pod) <= _LONGEST_NAME
        and _DNS_NAME.fullmatch(holder.pod)
        and all(
            len(label) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(label)
            for label in (holder.namespace, holder.container)
        )
    )
    if not valid:
        names = f"{holder.namespace}/{holder.pod}/{holder.container}"
        raise BadMessageError(f"no container can be called '{shown(names)}'")
