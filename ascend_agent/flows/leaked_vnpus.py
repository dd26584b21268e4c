"""What is logged of vNPUs that nobody owns: each when it is found, when it goes, and why not."""

import logging
from collections.abc import Collection
from typing import Final

from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import Npu
from ascend_agent.model.vnpu import Vnpu, VnpuId

log = logging.getLogger(__name__)

Key = tuple[PhyId, VnpuId]

_MOST: Final = 8
_WITHIN_MS: Final = 60_000


class LeakedVnpus:
    """Remembers what was logged, so that nothing is said again every look."""

    def __init__(self) -> None:
        self._leaked: dict[Key, Vnpu] = {}
        self._refused: dict[Key, str] = {}
        self._unread: dict[PhyId, str] = {}
        self._held_back: str | None = None
        self._told_at: list[Millis] = []

    def note_mode(self, why: str, now: Millis) -> None:
        """Tell that what is surplus is removed, or *why* not.

        Whoever may edit a pod can change that as often as he likes: of more than a few changes a
        minute the next call after it tells the last.
        """
        if why == self._held_back:
            return
        self._told_at = [at for at in self._told_at if now - at < _WITHIN_MS]
        if len(self._told_at) >= _MOST:
            return
        if why:
            log.info("vnpu sweep only reports", extra={"why": why})
        elif self._held_back:
            log.info("vnpu sweep removes")
        self._held_back = why
        self._told_at.append(now)

    def see(self, npu: Npu, surplus: Collection[Vnpu]) -> None:
        """Tell which vNPUs of *npu* nobody owns, as of one look."""
        here = {(npu.phy, vnpu.vnpu): vnpu for vnpu in surplus}
        for key in [key for key in self._leaked if key[0] == npu.phy and key not in here]:
            log.info("vnpu no longer leaked", extra=_facts(npu, self._leaked.pop(key)))
            self._refused.pop(key, None)
        for key, vnpu in here.items():
            if key not in self._leaked:
                log.warning("vnpu leaked", extra=_facts(npu, vnpu))
            self._leaked[key] = vnpu

    def note_removed(self, npu: Npu, vnpu: Vnpu) -> None:
        """Tell that one was removed."""
        key = (npu.phy, vnpu.vnpu)
        self._leaked.pop(key, None)
        self._refused.pop(key, None)
        log.info("vnpu removed", extra=_facts(npu, vnpu))

    def note_refused(self, npu: Npu, vnpu: Vnpu, why: str) -> None:
        """Tell that one could not be removed."""
        key = (npu.phy, vnpu.vnpu)
        if self._refused.get(key) != why:
            log.warning("vnpu not removed", extra={**_facts(npu, vnpu), "why": why})
        self._refused[key] = why

    def note_read(self, npu: Npu, why: str = "") -> None:
        """Tell that the vNPUs of *npu* could be read, or *why* not."""
        before = self._unread.pop(npu.phy, "")
        if why:
            self._unread[npu.phy] = why
            if why != before:
                log.warning("vnpus not readable", extra={**npu.names, "why": why})
        elif before:
            log.info("vnpus readable again", extra={**npu.names})


def _facts(npu: Npu, vnpu: Vnpu) -> dict[str, object]:
    return {
        **npu.names,
        "vnpu": vnpu.vnpu,
        "template": vnpu.template,
        "container": f"{vnpu.container:012x}",
    }
