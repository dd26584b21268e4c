"""The editor: has edits acknowledged."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, assert_never

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.node_edits import NodeEdits
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pace import Pace
from ascend_agent.cluster.patches import difference, pod_patch, removal_patch, values_of
from ascend_agent.cluster.read import Reader
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.retry import PATIENCE, delay_s
from ascend_agent.cluster.sender import AGAIN_ON_CONFLICT, Sender
from ascend_agent.cluster.server import Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.written import Values, Written
from ascend_agent.errors import (
    ClusterUnreachableError,
    ConflictError,
    ForbiddenError,
    RejectedError,
    ThrottledError,
)
from ascend_agent.model.cluster import (
    Edit,
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    NodeObject,
    PodEdit,
)
from ascend_agent.model.ids import NodeName
from ascend_agent.model.pods import Pod
from ascend_agent.runtime.backoff import Backoff

T = TypeVar("T")

# Patches of the whole node at once, and so many more a second: an Allocate takes two, and a kubelet
# admits pods as fast as they are answered. What errs has a back-off of its own.
_BURST: Final = 100
_EVERY_S: Final = 0.02
_BACKOFF: Final = Backoff(delays_s=(0.1, 0.3, 1.0, 2.0, 5.0, 10.0), endless=True)
_WITHIN_S: Final = 10.0


class Editor:
    """A ``ClusterEditor`` on whatever connection there is; waits for one where there is none."""

    def __init__(
        self,
        *,
        node: NodeName,
        door: Door,
        reader: Reader,
        nodes: Objects[NodeObject],
        pods: Objects[Pod],
        written: Written,
        tally: Tally,
    ) -> None:
        self._node = node
        self._door = door
        self._reader = reader
        self._nodes = nodes
        self._written = written
        self._pods = pods
        self._tally = tally
        self._pace = Pace(burst=_BURST, every_s=_EVERY_S)
        self._pod_sender = Sender(
            door=door, pace=self._pace, objects=pods, written=written, tally=tally
        )
        node_sender = Sender(
            door=door, pace=self._pace, objects=nodes, written=written, tally=tally
        )
        self.node_edits = NodeEdits(node=node, nodes=nodes, sender=node_sender)

    async def apply(self, edit: Edit) -> None:
        """Have *edit* acknowledged; see ``ClusterEditor``."""
        match edit:
            case NodeEdit():
                await self.node_edits.apply(edit)
            case PodEdit():
                await self._edit_pod(edit)
            case NodeAnnotationRemoval():
                await self._remove(edit)
            case never:
                assert_never(never)

    async def _edit_pod(self, edit: PodEdit) -> None:
        values = values_of(edit)
        sent = 0

        def request(missing: Values) -> Request:
            nonlocal sent
            sent += 1
            return pod_patch(edit, missing)

        try:
            await self._pod_sender.send(
                known=lambda: self._pod(edit),
                values=lambda: values,
                request=request,
                retries=AGAIN_ON_CONFLICT,  # many write to a pod at once while it starts
            )
        except RejectedError as error:
            # Another UID and a failed test are refused as any other patch that can't be: look.
            found = await _patiently(lambda: self._reader.read_pod(edit.pod))
            why = _why_refuted(edit, found)
            if why is None:
                raise
            # An attempt whose answer was lost may have been carried out.
            if sent > 1 and found is not None and not difference(values, found):
                self._pod_sender.remember(found, values)
                return
            raise ConflictError(error.verb, error.target, why) from error

    def _pod(self, edit: PodEdit) -> Pod | None:
        """Return the pod that *edit* is for; a namesake is none."""
        known = self._pods.find(edit.pod)
        return known if known is not None and known.uid == edit.uid else None

    async def _remove(self, edit: NodeAnnotationRemoval) -> None:
        """Remove the annotation, whatever the cache says of it: it may be behind."""
        request = removal_patch(self._node, edit)
        own = self._nodes.find(self._node)
        if own is not None:
            self._written.release(own.uid, (MetadataField.ANNOTATIONS, edit.key))
        failures, unsure = 0, False
        while True:
            server = await self._door.server()
            await self._pace.turn()
            self._tally.patches += 1
            try:
                answer = await server.ask(request, within_s=_WITHIN_S)
            except RejectedError:
                # A failed test is answered as any other patch that can't be carried out: look.
                if await self._refuted(edit, request.asked, unsure=unsure):
                    return
                raise
            except (ClusterUnreachableError, ThrottledError, ForbiddenError) as error:
                if isinstance(error, ForbiddenError) and failures >= PATIENCE:
                    raise
                unsure = unsure or isinstance(error, ClusterUnreachableError)
                await asyncio.sleep(delay_s(error, failures=failures, backoff=_BACKOFF))
                failures += 1
            else:
                self._nodes.acknowledge(answer)
                return

    async def _refuted(self, edit: NodeAnnotationRemoval, asked: Asked, *, unsure: bool) -> bool:
        """Say whether the annotation is gone by an attempt of ours whose answer was lost.

        False where the value is the expected one, so that something else was wrong with the patch.

        Raises:
            ConflictError: another value is there, or none that we could have removed.

        """
        node = await _patiently(self._reader.read_node)
        found = node.annotations.get(edit.key)
        if found == edit.expected:
            return False
        if found is None and unsure:
            return True
        state = "has another value" if found is not None else "is not there"
        raise ConflictError(asked.verb, asked.target, f"annotation {edit.key} {state}")


def _why_refuted(edit: PodEdit, found: Pod | None) -> str | None:
    """Return why *edit* can't be meant for *found*, the pod as it is now; None: it can."""
    if found is None or found.uid != edit.uid:
        return f"the pod with UID {edit.uid} is gone"
    for key, expected in edit.expects.items():
        if found.annotations.get(key) != expected:
            return f"annotation {key} has another value"
    return None


async def _patiently(read: Callable[[], Awaitable[T]]) -> T:
    """Return what *read* does, as soon as the server can answer."""
    failures = 0
    while True:
        try:
            return await read()
        except (ClusterUnreachableError, ThrottledError) as error:
            await asyncio.sleep(delay_s(error, failures=failures, backoff=_BACKOFF))
            failures += 1
