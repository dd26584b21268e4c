"""No scheduler beside the kubelet's own: the kubelet's ids are the NPUs (AL-8, AL-9, AL-11).

Decides which NPUs the ids of a request mean, which ids the kubelet had better take, and who holds
what. Names and node labels are those of MindCluster, so that pods written for it run unchanged.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from ascend_agent.dialects import node_annotations
from ascend_agent.dialects.node_labels import Labels, labels
from ascend_agent.dialects.placement import find_spots, keep_together, spread_out
from ascend_agent.interfaces import SchedulerDialect
from ascend_agent.model.allocation import (
    AllocationRequest,
    Allocations,
    Assignment,
    DeviceGroup,
    Holder,
    PreferenceRequest,
    RefusalReason,
    Refused,
)
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import ForeignEdit, NodeEdit, NodeObject, Report
from ascend_agent.model.fault import FaultLevel, format_fault_code
from ascend_agent.model.health import NpuView, UnhealthyReason
from ascend_agent.model.ids import (
    DeviceName,
    PhyId,
    PluginDeviceId,
    ResourceName,
    parse_device_name,
    parse_device_word,
)
from ascend_agent.model.isolation import PublishedIsolation
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import NodeWorld, SharePolicy, World

_DOMAIN: Final = "huawei.com"
_MOST_DEVICES: Final = 800
"""Ids in one request; the limit of MindCluster's plugin."""

_MOST_SHARES: Final = 100
_SHOWN_TEXT: Final = 80
"""Characters of a foreign text that an answer repeats at most."""


class PlainDialect:
    """The kubelet chooses by itself, with our advice."""

    name: ClassVar[str] = "plain"
    words: ClassVar[tuple[str, ...]] = ("Ascend310", "Ascend310P", "Ascend910", "npu")

    def word_of(self, npu: Npu, spec: ChipSpec) -> str:  # noqa: ARG002 -- the seam's signature
        """Return the device word of the NPU's generation."""
        return spec.word

    def resource_of(self, word: str) -> ResourceName:
        """Return ``huawei.com/<word>``."""
        return ResourceName(f"{_DOMAIN}/{word}")

    def assign(self, request: AllocationRequest, world: World) -> Assignment | Refused:
        """Return the NPUs that the ids name; two shares of one NPU are that NPU once.

        Refuses the whole request for one id that is unknown, unhealthy or there twice: a
        container with less than it asked for would be started all the same.
        """
        if refused := _refuse_count(request):
            return refused
        names = _Names.of(world)
        seen: set[PluginDeviceId] = set()
        npus: set[PhyId] = set()
        for device in request.devices:
            name = names.find(device)
            if name is None:
                return _unknown(device, world)
            if device in seen:
                return Refused(
                    reason=RefusalReason.DUPLICATE_DEVICE,
                    detail=f"device {_cut(device)} is asked for twice by one container; "
                    "this is the kubelet's mistake: recreate the pod",
                )
            if not names.groups[name.phy].fit(name.share or 0):
                return _unhealthy(device, name.phy, world)
            seen.add(device)
            npus.add(name.phy)
        return Assignment(resource=request.resource, npus=tuple(sorted(npus)))

    def prefer(self, request: PreferenceRequest, world: World) -> tuple[PluginDeviceId, ...]:
        """Return the ids that keep a container together and big groups whole.

        What must be included comes first. Ids that mean nothing here are passed over, so the
        answer may be shorter than asked for: the kubelet then takes the rest as it likes. More
        devices than ``assign`` would give are not worth a thought.
        """
        if request.size > _MOST_DEVICES:
            return ()
        pack = world.share_policy is SharePolicy.PACK
        shared = any(group.shares > 1 for group in world.groups)
        spots = find_spots(world.view, stacked=shared and pack)
        known = {
            device: (group.npu, group.fit(share))
            for group in world.groups
            if group.npu in spots
            for share, device in enumerate(group.devices)
        }
        must = {device: known[device][0] for device in request.must_include if device in known}
        available = set(request.available) - must.keys()
        free: dict[PhyId, list[PluginDeviceId]] = {}
        for device, (phy, fit) in known.items():
            if device in available and fit:
                free.setdefault(phy, []).append(device)
        choose = spread_out if shared and not pack else keep_together
        chosen = choose(
            {phy: len(ids) for phy, ids in free.items()},
            request.size - len(must),
            used=must.values(),
            spots=spots,
        )
        queues = {phy: iter(ids) for phy, ids in free.items()}
        picked = [next(queues[phy]) for phy in chosen]
        return (*must, *picked)[: max(request.size, 0)]

    def holders(
        self,
        held: Mapping[ResourceName, Mapping[PluginDeviceId, Holder]],
        worlds: Sequence[World],
    ) -> Allocations:
        """Return who holds which NPU, by the ids the kubelet gave them, and which shares of it.

        Ids of another number of shares than today's count too: their pods still run. But they are
        no shares of today, which nobody holds then.
        """
        found: dict[PhyId, set[Holder]] = {}
        shares: dict[PhyId, set[int]] = {}
        for world in worlds:
            offered = {group.shares for group in world.groups}
            for device, holder in held.get(world.resource, {}).items():
                word = parse_device_word(world.resource)
                name = parse_device_name(device, word=word, shares=1) or parse_device_name(
                    device, word=word, shares=_MOST_SHARES
                )
                if name is not None:
                    found.setdefault(name.phy, set()).add(holder)
                    of_today = {name.share or 0} if _is_of_today(name, offered) else set()
                    shares.setdefault(name.phy, set()).update(of_today)
        ordered = {
            phy: tuple(sorted(found[phy], key=lambda h: (h.namespace, h.pod, h.container)))
            for phy in sorted(found)
        }
        kept = {phy: frozenset(shares[phy]) for phy in ordered}
        return Allocations(
            known=True, holders=MappingProxyType(ordered), shares=MappingProxyType(kept)
        )

    def report(self, world: NodeWorld) -> Report:
        """Return the labels about the NPUs, and the annotations about those that are isolated.

        Of a node that has no NPU, nothing. Each is an edit of its own: what keeps one from being
        written need not keep the other.
        """
        found = labels(world) if world.labels else Labels(wanted={}, left_out=())
        isolated = node_annotations.isolation_report(world)
        edit = NodeEdit(labels=found.wanted, annotations={})
        edits = (edit,) if found.wanted else ()
        return Report(
            edits=(*edits, *isolated.edits), left_out=(*found.left_out, *isolated.left_out)
        )

    def isolation_said(self, node: NodeObject) -> PublishedIsolation:
        """Return what the annotations of *node* say."""
        return node_annotations.said(node)

    def is_release(self, edit: ForeignEdit) -> bool:
        """Return whether *edit* is of the annotation that lists the separated NPUs."""
        return node_annotations.is_of_list(edit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a resource's devices, for look-up."""

    word: str
    groups: Mapping[PhyId, DeviceGroup]
    shares: frozenset[int]

    @classmethod
    def of(cls, world: World) -> "_Names":
        return cls(
            word=parse_device_word(world.resource),
            groups={group.npu: group for group in world.groups},
            shares=frozenset(group.shares for group in world.groups),
        )

    def find(self, device: PluginDeviceId) -> DeviceName | None:
        """Return what *device* names, None where this resource has no such device."""
        for shares in self.shares:
            name = parse_device_name(device, word=self.word, shares=shares)
            group = name and self.groups.get(name.phy)
            if group and group.shares == shares:
                return name
        return None


def _is_of_today(name: DeviceName, offered: Collection[int]) -> bool:
    """Return whether *name* is spelled as the devices are that are *offered* in so many shares.

    Where none is offered yet, nothing speaks against it.
    """
    share = -1 if name.share is None else name.share
    return not offered or any((count == 1) == (share < 0) and share < count for count in offered)


# --- refusals ------------------------------------------------------------------------------


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}...")


def _refuse_count(request: AllocationRequest) -> Refused | None:
    count = len(request.devices)
    if count == 0:
        return Refused(
            reason=RefusalReason.NO_DEVICE,
            detail=f"0 devices of {request.resource} asked for; at least 1 is needed: "
            f"set limits of {request.resource} in the pod",
        )
    if count > _MOST_DEVICES:
        return Refused(
            reason=RefusalReason.TOO_MANY_DEVICES,
            detail=f"{count} devices of {request.resource} asked for by one container, at most "
            f"{_MOST_DEVICES} can be given: lower the pod's limits",
        )
    return None


def _unknown(device: PluginDeviceId, world: World) -> Refused:
    names = [f"{group.npu}" for group in world.groups]
    shares = sorted({group.shares for group in world.groups})
    offer = f"NPUs {', '.join(names)} with {shares[-1]} share(s) each" if names else "no NPU"
    return Refused(
        reason=RefusalReason.UNKNOWN_DEVICE,
        detail=f"device {_cut(device)} is not on this node, which offers {offer} as "
        f"{world.resource}: recreate the pod, so that the kubelet chooses anew",
    )


def _unhealthy(device: PluginDeviceId, phy: PhyId, world: World) -> Refused:
    why = [text for view in world.view.npus if view.npu.phy == phy for text in _reasons(view)]
    return Refused(
        reason=RefusalReason.UNHEALTHY_DEVICE,
        detail=f"device {_cut(device)} is out of service ({', '.join(why) or 'no reason known'}): "
        "recreate the pod, so that it gets another NPU; see /status of the node's agent",
    )


def _reasons(view: NpuView) -> list[str]:
    serves_out = view.healthy and view.kept is not None
    faults = [
        f"fault {format_fault_code(fault.code)} {fault.level.value}"
        for fault in view.faults
        if fault.isolates or (serves_out and fault.level is FaultLevel.PRE_SEPARATE_NPU)
    ]
    others = [reason.value for reason in view.reasons if reason is not UnhealthyReason.FAULT]
    closed = ["it keeps the containers it has and takes no others"] if serves_out else []
    return [*faults, *others, *closed]


DIALECT: Final[SchedulerDialect] = PlainDialect()
