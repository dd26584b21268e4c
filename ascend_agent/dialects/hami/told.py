"""What people are told by Events of HAMi's side: refused pods, configuration, soft mode, vNPUs.

Each function compares what was with what is and says what is new; how often an Event is sent and
what counts as the same thing happening again is decided by whoever posts them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ascend_agent.model.hami import HamiChip, HamiState, SoftHost
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.notices import Announcement
from ascend_agent.model.npu import Inventory
from ascend_agent.model.vnpu import VnpuSweep

ALLOCATE_FAILED: Final = "AscendAllocateFailed"
ALLOCATE_REMARK: Final = "AscendAllocateRemark"

_OWN_END: Final = "cancelled"  # the agent was about to end: the kubelet says that the call failed
_KEPT: Final = "what was in force before stays, or nothing is offered if nothing was; correct it"


def of_allocate(served: AllocateServed) -> Iterator[Announcement]:
    """Yield that a container was refused (AL-8), or what its pod's owner should know (CF-7)."""
    if served.refusal and served.refusal != _OWN_END:
        yield Announcement(
            reason=ALLOCATE_FAILED,
            message=f"{served.resource}: {served.refusal}",
            warning=True,
            at_ms=served.at_ms,
            pod=served.pod,
        )
    elif served.pod is not None and not served.refusal:
        for remark in served.remarks:
            yield Announcement(
                reason=ALLOCATE_REMARK,
                message=remark,
                warning=True,
                at_ms=served.at_ms,
                pod=served.pod,
                about=remark,
            )


def chip_trouble(state: HamiState, inventory: Inventory | None) -> str:
    """Return which chip is not configured; empty as well while none was read yet.

    Of a file that can't be used there is an Event of its own: nobody knows what it configures.
    """
    if state.chip is not None or inventory is None or state.refused:
        return ""
    names = {npu.identity.chip.chip_name for npu in inventory.npus}
    names |= {unknown.chip.chip_name for unknown in inventory.unknown}
    # What holds is told a moment after the inventory: until then it is about an earlier one.
    return state.trouble if any(name in state.trouble for name in names) else ""


def of_chip(
    before: str, trouble: str, chip: HamiChip | None, now: Millis
) -> Iterator[Announcement]:
    """Yield that the chip is not configured, for another reason than *before*, or is by now."""
    if trouble and trouble != before:
        yield _of_node("HamiChipNotConfigured", trouble, warning=True, now=now)
    elif before and not trouble and chip is not None:
        message = f"chip {chip.chip_name} is configured, as {chip.word}"
        yield _of_node("HamiChipConfigured", message, warning=False, now=now)


def of_files(before: HamiState | None, state: HamiState, now: Millis) -> Iterator[Announcement]:
    """Yield that contents of the files can't be used, or can again."""
    refused = before.refused if before else ()
    if state.refused and state.refused != refused:
        message = f"HAMi's configuration refused, {_KEPT}: {'; '.join(state.refused)}"
        yield _of_node("HamiConfigRefused", message, warning=True, now=now)
    elif refused and not state.refused:
        message = "HAMi's configuration in order again"
        yield _of_node("HamiConfigTaken", message, warning=False, now=now)


def soft_trouble(state: HamiState | None, host: SoftHost | None) -> str:
    """Return why soft mode is wanted and not offered; empty as well while the host is prepared."""
    if state is None or host is None or host.ready or host.preparing or not state.wants_soft:
        return ""
    return host.trouble


def of_soft(before: str, trouble: str, *, wanted: bool, now: Millis) -> Iterator[Announcement]:
    """Yield that soft mode was withdrawn for another reason than *before*, or is back."""
    if trouble and trouble != before:
        message = f"soft mode is not offered, only whole cards and templates: {trouble}"
        yield _of_node("HamiSoftModeWithdrawn", message, warning=True, now=now)
    elif before and not trouble and wanted:
        yield _of_node("HamiSoftModeOffered", "soft mode is offered again", warning=False, now=now)


def of_shares(
    before: ShareStates | None, shares: ShareStates, now: Millis
) -> Iterator[Announcement]:
    """Yield of which NPUs the driver refuses to let several containers open one, or does again."""
    known = before.enabled if before else {}
    for phy, enabled in sorted(shares.enabled.items()):
        if not enabled and known.get(phy, True):
            yield _of_npu(
                "HamiShareRefused",
                f"NPU {phy} can't be shared: the driver's device-share switch can't be set; end "
                "what runs on it, and see the agent's log",
                phy,
                warning=True,
                now=now,
            )
        elif enabled and not known.get(phy, True):
            yield _of_npu("HamiShareEnabled", f"NPU {phy} is shared", phy, warning=False, now=now)


def of_sweep(before: VnpuSweep | None, sweep: VnpuSweep, now: Millis) -> Iterator[Announcement]:
    """Yield which vNPUs nobody owns, how many were removed, and which could not be."""
    for phy, surplus in sorted(sweep.surplus.items()):
        known = {vnpu.vnpu for vnpu in before.surplus.get(phy, ())} if before else set()
        if any(vnpu.vnpu not in known for vnpu in surplus):
            names = _few(f"{vnpu.vnpu} ({vnpu.template})" for vnpu in surplus)
            message = f"NPU {phy} has vNPUs that no pod owns: {names}; sweep: {sweep.mode.value}"
            yield _of_npu("VnpuLeaked", message, phy, warning=True, now=now)
    removed = sweep.removed - (before.removed if before else 0)
    if removed > 0:
        message = f"{removed} vNPU(s) that no pod owned were removed"
        yield _of_node("VnpuRemoved", message, warning=False, now=now)
    for phy, why in sorted(sweep.failed.items()):
        if why != (before.failed.get(phy) if before else None):
            message = f"a vNPU of NPU {phy} that no pod owns could not be removed: {why}"
            yield _of_npu("VnpuNotRemoved", message, phy, warning=True, now=now)


def _of_node(reason: str, message: str, *, warning: bool, now: Millis) -> Announcement:
    return Announcement(reason=reason, message=message, warning=warning, at_ms=now)


def _of_npu(reason: str, message: str, phy: PhyId, *, warning: bool, now: Millis) -> Announcement:
    return Announcement(
        reason=reason, message=message, warning=warning, at_ms=now, about=f"npu {phy}"
    )


_MOST_NAMED: Final = 8


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
