"""Request → decision → grant → acknowledged edits → answer; behind the kubelet's Allocate.

One call is one transaction: what must be acknowledged before the answer is, and where there is no
answer, whatever the reason, what was made is undone and the failure is left to ``settle``. Which
NPUs is the dialect's decision (``decide``), what the container is handed ``answer``'s. Everything
has one deadline, and a refusal becomes an error for the pod.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ascend_agent.bus import Bus
from ascend_agent.errors import AllocationError, ClusterError, HostError
from ascend_agent.flows.answer import Answer
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.offers import Offers
from ascend_agent.interfaces import ClusterEditor
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    ContainerGrant,
    PreferenceRequest,
    Refused,
    Settlement,
)
from ascend_agent.model.cluster import Edit, PodEdit
from ascend_agent.model.ids import PhyId, PluginDeviceId
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.pods import PodRef
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """How decisions get to the API server: at once, or after the answer."""

    editor: ClusterEditor
    settlements: Publisher[Settlement]


@dataclass(slots=True, kw_only=True)
class _Call:
    """What one call has come to so far."""

    assignments: list[Assignment] = field(default_factory=list)
    refused: Refused | None = None
    unchecked: list[PhyId] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @property
    def pod(self) -> PodRef | None:
        """Whose call it is, as far as that is known."""
        pods = [each.pod for each in self.assignments]
        return (self.refused.pod if self.refused else None) or (pods[-1] if pods else None)

    @property
    def commit(self) -> tuple[PodEdit, ...]:
        """What must be acknowledged, one edit a pod: the last word on each key counts.

        Of what is expected the first does, since that is what the API server has.
        """
        merged: dict[PodRef, PodEdit] = {}
        for edit in self._pod_edits():
            ref = PodRef(key=edit.pod, uid=edit.uid)
            before = merged.get(ref)
            merged[ref] = edit if before is None else _merged(before, edit)
        return tuple(merged.values())

    def _pod_edits(self) -> Iterable[PodEdit]:
        for assignment in self.assignments:
            yield from (edit for edit in assignment.commit if isinstance(edit, PodEdit))


class Allocate:
    """Answers Allocate, GetPreferredAllocation and PreStartContainer for one resource.

    *turn* is held while a call is served, and by whoever must not work beside one. *edits* None:
    nothing is ever edited.
    """

    def __init__(  # noqa: PLR0913 -- one for each thing that an answer rests on
        self,
        *,
        offers: Offers,
        decide: Decide,
        answer: Answer,
        bus: Bus,
        served: Publisher[AllocateServed],
        clock: Clock,
        timeout_s: float,
        turn: asyncio.Lock,
        edits: Edits | None = None,
    ) -> None:
        self._offers = offers
        self._decide = decide
        self._answer = answer
        self._bus = bus
        self._served = served
        self._clock = clock
        self._timeout_s = timeout_s
        self._turn = turn
        self._edits = edits

    async def allocate(self, requests: Sequence[AllocationRequest]) -> tuple[ContainerGrant, ...]:
        """Return one grant a container; raises AllocationError, and then nothing was given."""
        clock = asyncio.get_running_loop().time
        started = clock()
        waited_s: float | None = None
        granted: tuple[ContainerGrant, ...] = ()
        call = _Call()
        refusal = "cancelled"
        try:
            # One at a time within the deadline (AL-9); the lock is freed on every path (AL-10).
            async with asyncio.timeout(self._timeout_s), self._turn:
                waited_s = clock() - started
                try:
                    granted = tuple([await self._serve(each, call) for each in requests])
                    await self._commit(call)
                except BaseException:
                    granted = ()
                    await self._fail(call)
                    raise
            refusal = ""
        except TimeoutError:
            refusal = (
                f"no answer within {self._timeout_s:g} s: the host's files, the driver, the API "
                "server or another Allocate took too long; see the agent's log and /status"
            )
            raise AllocationError(refusal) from None
        except AllocationError as error:
            refusal = str(error)
            raise
        except (HostError, ClusterError) as error:
            refusal = str(error)
            raise AllocationError(refusal) from error
        finally:
            self._note(call, granted, refusal, took_s=clock() - started, waited_s=waited_s)
        self._settle(call.pod, [each.settle for each in call.assignments], why="allocated")
        return granted

    async def prefer(
        self, requests: Sequence[PreferenceRequest]
    ) -> tuple[tuple[PluginDeviceId, ...], ...]:
        """Return the ids the kubelet should take, one tuple a container; empty: no wish."""
        world = self._decide.world()
        held = self._answer.lately_held()
        avoid = {device for g in world.groups if g.npu in held for device in g.devices}
        return tuple(
            self._offers.dialect.prefer(_without(request, avoid), world) for request in requests
        )

    async def check(self, devices: Sequence[PluginDeviceId]) -> None:
        """Raise AllocationError where one of *devices* is unknown or unhealthy (KL-10).

        Where a scheduler chooses, the kubelet's ids name arbitrary NPUs: they only must be there.
        """
        world = self._decide.world()
        if world.facts is not None:
            offered = {device for group in world.groups for device in group.devices}
            if unknown := [device for device in devices if device not in offered]:
                raise AllocationError(
                    f"device {unknown[0][:80]!r} is not offered as {self._offers.resource} on this "
                    "node: recreate the pod"
                )
            return
        request = AllocationRequest(resource=self._offers.resource, devices=tuple(devices))
        outcome = self._offers.dialect.assign(request, world)
        if isinstance(outcome, Refused):
            raise AllocationError(outcome.detail)

    async def _serve(self, request: AllocationRequest, call: _Call) -> ContainerGrant:
        decided = await self._decide.decide(request, pending=call.commit)
        if isinstance(decided, Refused):
            call.refused = decided
            raise AllocationError(decided.detail)
        call.assignments.append(decided.assignment)
        return await self._answer.grant(decided, unchecked=call.unchecked, made=call.made)

    async def _commit(self, call: _Call) -> None:
        """Have acknowledged what the answer rests on: after it no slot is given again."""
        if self._edits is None:
            return
        for edit in call.commit:
            await self._edits.editor.apply(edit)
        doubted = any(each.doubted for each in call.assignments)
        self._decide.remember(call.pod, call.commit, doubted=doubted)

    async def _fail(self, call: _Call) -> None:
        """Undo what was made and leave the failure to be settled; also where we are cancelled."""
        failures = [each.failure for each in call.assignments[-1:]]
        if call.refused is not None:
            failures.append(call.refused.failure)
        given_up = [edit for each in failures for edit in each if isinstance(edit, PodEdit)]
        if call.refused is not None and call.refused.asked is not None:
            given_up.append(call.refused.asked)
        self._decide.remember_failed(given_up)
        self._settle(call.pod, failures, why="failed")
        if call.made:
            try:
                await asyncio.shield(self._answer.undo(call.made))
            except HostError as error:
                # What stays is found by those who look for directories of no container.
                log.warning("directory not undone", extra={"names": call.made, "why": str(error)})

    def _settle(self, pod: PodRef | None, edits: Iterable[Sequence[Edit]], *, why: str) -> None:
        wanted: list[Edit] = []
        for edit in (edit for each in edits for edit in each):
            if edit not in wanted:
                wanted.append(edit)
        if wanted and self._edits is not None:
            self._edits.settlements.publish(Settlement(pod=pod, edits=tuple(wanted), why=why))

    def _note(
        self,
        call: _Call,
        granted: tuple[ContainerGrant, ...],
        refusal: str,
        *,
        took_s: float,
        waited_s: float | None,
    ) -> None:
        """Log and publish how a call ended; *waited_s* None: it never had its turn."""
        npus: tuple[PhyId, ...] = tuple(npu for grant in granted for npu in grant.npus)
        facts: dict[str, object] = {
            "resource": self._offers.resource,
            "took_s": round(took_s, 4),
        }
        if call.pod is not None:
            facts["pod"] = str(call.pod.key)
        remarks = tuple(note for each in call.assignments for note in each.remarks)
        if refusal:
            log.warning("allocate refused", extra=facts | {"why": refusal})
        else:
            if remarks:
                facts["remarks"] = list(remarks)
            if kept := [each.kept_lock for each in call.assignments if each.kept_lock]:
                facts["kept_lock"] = kept[-1]
            if any(each.again for each in call.assignments):
                facts["again"] = True  # the kubelet began anew before it wrote down the answer
            log.info("allocated", extra=facts | {"npus": list(npus)})
        self._served.publish(
            AllocateServed(
                resource=self._offers.resource,
                npus=npus,
                took_s=took_s,
                refusal=refusal,
                at_ms=self._clock.now(),
                waited_s=took_s if waited_s is None else waited_s,
                unchecked=tuple(call.unchecked) if granted else (),
                pod=call.pod,
                remarks=remarks,
                slices=tuple(each.slice for each in call.assignments) if granted else (),
            )
        )


def _merged(before: PodEdit, edit: PodEdit) -> PodEdit:
    """Return one edit that does what both do, in that order."""
    return replace(
        edit,
        annotations={**before.annotations, **edit.annotations},
        expects={**edit.expects, **before.expects},
    )


def _without(request: PreferenceRequest, avoid: set[PluginDeviceId]) -> PreferenceRequest:
    """Return *request* without those devices, as far as others are left to choose from."""
    names = avoid - {*request.must_include}
    others = tuple(device for device in request.available if device not in names)
    return replace(request, available=others) if len(others) >= request.size else request
