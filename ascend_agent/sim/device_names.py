"""Which NPUs are behind the kubelet's devices: how a device is named depends on the dialect."""

from collections.abc import Callable, Iterable

from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import (
    PhyId,
    PluginDeviceId,
    ResourceName,
    parse_device_name,
    parse_device_word,
    parse_share_name,
)

NpusOf = Callable[[Iterable[PluginDeviceId], ResourceName], list[PhyId]]
"""Returns the NPUs behind devices of a resource, ascending, without repeats."""


def by_number(shares: int) -> NpusOf:
    """Return what reads names that end in the NPU's number, each NPU with so many *shares*."""

    def npus_of(devices: Iterable[PluginDeviceId], resource: ResourceName) -> list[PhyId]:
        word = parse_device_word(resource)
        names = (parse_device_name(device, word=word, shares=shares) for device in devices)
        return sorted({name.phy for name in names if name is not None})

    return npus_of


def by_die(view: Callable[[], NodeView | None]) -> NpusOf:
    """Return what reads names that begin with the NPU's die; *view* tells whose die that is."""

    def npus_of(
        devices: Iterable[PluginDeviceId],
        resource: ResourceName,  # noqa: ARG001 -- a die is one of a kind
    ) -> list[PhyId]:
        now = view()
        dies = {one.npu.identity.die: one.npu.phy for one in now.npus} if now else {}
        names = (parse_share_name(device) for device in devices)
        return sorted({dies[name[0]] for name in names if name is not None and name[0] in dies})

    return npus_of
