"""Driver's process lists + owners → whose pod still holds an NPU, asked live before it is given.

The kubelet may offer an NPU as free that a running pod still uses: after its checkpoint was lost
it has forgotten what it gave. What is decided here: what counts as held, how often that is asked
again while a pod may be just ending, and that what is not known holds nobody up. What becomes of
a request for a held NPU is ``allocate``'s decision.

No pod is held against itself. A container that is started again causes no Allocate. Init and app
containers of one pod may get the same ids, but the kubelet allocates for all of them when it
admits the pod, before any process of it runs. And a kubelet that comes back lets containers be
that it finds running.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    HostError,
    NotSupportedError,
    NpuUnresponsiveError,
)
from ascend_agent.interfaces import ProcessOwners, UsageReader
from ascend_agent.model.ids import PhyId, PodUid
from ascend_agent.model.npu import DriverPhase, DriverState, Npu, NpuAddress, NpuProcess
from ascend_agent.runtime.latest import Latest

log = logging.getLogger(__name__)

_LOOK_S = 0.3
"""All NPUs are asked at once, and together may take so long."""

_PAUSES = (0.05, 0.15, 0.3, 0.5)
"""Waits before asking again, in parts of all patience: a pod that is just ending gives its NPU back
a moment later."""

_LEAVE_ALONE_S = 600.0
"""How long an NPU that did not answer in time is not asked: a question that hangs takes its card
out of service, and may do so each time."""

_AVOID_S = 600.0
"""How long an NPU that was found held is not recommended: the kubelet would offer it to one pod
after the other, and each would fail."""

_SLOW = f"the driver did not answer within {_LOOK_S:g} s"

_NOT_TOLD = "the driver tells no processes for this chip (-8255)"

Processes = tuple[NpuProcess, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One NPU and a live process of a pod that holds it."""

    npu: PhyId
    pid: int
    pod: PodUid


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The NPUs that are held, ascending, and those of which that could not be found out."""

    held: tuple[Held, ...] = ()
    unknown: tuple[PhyId, ...] = ()


class HeldNpus:
    """Finds out which NPUs a live process of a pod holds; one for all resources of a node.

    *patience_s* is how long a pod that may be ending is waited for.
    """

    def __init__(
        self,
        *,
        usage: UsageReader,
        owners: ProcessOwners,
        driver: Latest[DriverState],
        patience_s: float = 1.0,
    ) -> None:
        self._usage = usage
        self._owners = owners
        self._driver = driver
        self._patience_s = patience_s
        self._not_before: dict[PhyId, float] = {}
        self._found_at: dict[PhyId, float] = {}
        self._troubles: dict[PhyId, str] = {}
        self._owners_trouble = ""

    async def find(self, npus: Sequence[Npu]) -> Holdings:
        """Return which of *npus* are held, after some patience with those that are.

        What can't be asked again counts as last answered, as far as those processes still live.
        """
        lists = await self._read(npus)
        held = await self._owned(lists)
        unknown = [npu.phy for npu in npus if npu.phy not in lists]
        if held is None:
            unknown += [phy for phy, processes in lists.items() if processes]
        for pause in _PAUSES:
            if not held:
                break
            await asyncio.sleep(pause * self._patience_s)
            again = [npu for npu in npus if npu.phy in held]
            lists = {npu.phy: lists[npu.phy] for npu in again} | await self._read(again)
            newer = await self._owned(lists)
            held = held if newer is None else newer
        self._remember(npus, held or {})
        return Holdings(held=tuple((held or {}).values()), unknown=tuple(sorted(unknown)))

    def lately(self) -> frozenset[PhyId]:
        """Return the NPUs that were held when they were last looked at, not long ago."""
        since = asyncio.get_running_loop().time() - _AVOID_S
        return frozenset(phy for phy, found in self._found_at.items() if found > since)

    def _remember(self, npus: Sequence[Npu], held: Mapping[PhyId, Held]) -> None:
        for npu in npus:
            if npu.phy in held:
                self._found_at[npu.phy] = asyncio.get_running_loop().time()
            else:
                self._found_at.pop(npu.phy, None)

    async def _owned(self, lists: Mapping[PhyId, Processes]) -> dict[PhyId, Held] | None:
        """Return the NPUs that live processes of pods hold, None where that can't be found out."""
        pids = [process.pid for processes in lists.values() for process in processes]
        if not pids:
            return {}
        try:
            pods = await self._owners.pod_of(pids)
        except HostError as error:
            if str(error) != self._owners_trouble:
                log.warning("process owners not readable", extra={"why": str(error)})
            self._owners_trouble = str(error)
            return None
        if self._owners_trouble:
            log.info("process owners readable again")
        self._owners_trouble = ""
        return {
            phy: Held(npu=phy, pid=process.pid, pod=pod)
            for phy, processes in lists.items()
            for process in processes
            if (pod := pods.get(process.pid)) is not None
        }

    async def _read(self, npus: Sequence[Npu]) -> dict[PhyId, Processes]:
        """Return the processes on each NPU whose driver tells them in time."""
        state = self._driver.value
        if state is None or state.phase is not DriverPhase.READY:
            self._note({npu.phy: "the driver is not ready" for npu in npus})
            return {}
        now = asyncio.get_running_loop().time()
        asked = {
            npu.phy: npu.address
            for npu in npus
            if npu.address is not None and now >= self._not_before.get(npu.phy, 0)
        }
        told: dict[PhyId, Processes | str] = {}
        try:
            async with asyncio.timeout(_LOOK_S):
                await asyncio.gather(*[self._ask(*each, told) for each in asked.items()])
        except TimeoutError:
            late = asked.keys() - told.keys()
            told |= dict.fromkeys(late, _SLOW)
            self._not_before |= dict.fromkeys(late, now + _LEAVE_ALONE_S)
        self._note({phy: answer if isinstance(answer, str) else "" for phy, answer in told.items()})
        return {phy: answer for phy, answer in told.items() if not isinstance(answer, str)}

    async def _ask(
        self, phy: PhyId, address: NpuAddress, told: dict[PhyId, Processes | str]
    ) -> None:
        """Add to *told* the processes of an NPU, or why they are not known."""
        try:
            told[phy] = await self._usage.read_processes(address)
        except NpuUnresponsiveError as error:
            told[phy] = str(error)
            self._not_before[phy] = asyncio.get_running_loop().time() + _LEAVE_ALONE_S
        except NotSupportedError:
            told[phy] = _NOT_TOLD
        except (DriverError, DriverUnavailableError) as error:
            told[phy] = str(error)

    def _note(self, troubles: Mapping[PhyId, str]) -> None:
        """Log what changed: which NPUs can't be asked any more, and which can again."""
        changed: dict[str, list[PhyId]] = {}
        for phy, why in troubles.items():
            if why != self._troubles.get(phy, ""):
                changed.setdefault(why, []).append(phy)
            self._troubles[phy] = why
        for why, npus in changed.items():
            if not why:
                log.info("npu processes known again", extra={"npus": npus})
            elif why == _NOT_TOLD:
                log.info("npu processes not told", extra={"npus": npus, "why": why})
            else:
                log.warning("npu processes not known", extra={"npus": npus, "why": why})
