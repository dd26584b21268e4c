"""Which NPUs a request and a slot name, and whether they can be handed out.

Decides that the kubelet's ids must exist, though they name arbitrary NPUs, and that what the
scheduler chose must be here, of the configured chip and in service (HAMi B6).
"""

from collections.abc import Mapping

from ascend_agent.dialects.hami.annotation import shown
from ascend_agent.model.allocation import AllocationRequest, RefusalReason, Refused
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import DieId, parse_share_name
from ascend_agent.model.world import World


def asked(request: AllocationRequest, world: World) -> tuple[DieId, ...] | Refused:
    """Return the dies that the kubelet's ids name; their health says nothing (KL-10)."""
    if not request.devices:
        return Refused(
            reason=RefusalReason.NO_DEVICE,
            detail=f"0 devices of {request.resource} asked for; at least 1 is needed: "
            f"set limits of {request.resource} in the pod",
        )
    offered = {device for group in world.groups for device in group.devices}
    dies: list[DieId] = []
    for device in request.devices:
        name = parse_share_name(device)
        if name is None or device not in offered:
            return Refused(
                reason=RefusalReason.UNKNOWN_DEVICE,
                detail=f"device {shown(device)} is not offered as {request.resource} on this "
                "node: recreate the pod, so that the kubelet chooses anew",
            )
        dies.append(name[0])
    if len(set(request.devices)) != len(request.devices):
        return Refused(
            reason=RefusalReason.DUPLICATE_DEVICE,
            detail=f"one container asks for a device of {request.resource} twice; this is the "
            "kubelet's mistake: recreate the pod",
        )
    return tuple(dies)


def find_chosen(
    die: DieId, views: Mapping[DieId | None, NpuView], chip: HamiChip
) -> NpuView | Refused:
    """Return the NPU that the scheduler chose."""
    view = views.get(die)
    if view is None or view.npu.identity.chip.chip_name != chip.chip_name:
        return Refused(
            reason=RefusalReason.UNKNOWN_DEVICE,
            detail=f"the scheduler chose NPU {shown(die)}, which this node does not offer as "
            f"{chip.word}: delete the pod and create it anew",
        )
    return view


def out_of_service(view: NpuView) -> str:
    """Return that an NPU which the scheduler chose takes no container, empty where it does."""
    if view.healthy and view.kept is None:
        return ""
    reasons = ", ".join(reason.value for reason in view.reasons) or "it takes no containers"
    return (
        f"the scheduler chose NPU {view.npu.phy} ({view.npu.identity.die}), which is out of "
        f"service ({reasons})"
    )
