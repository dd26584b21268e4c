"""What Allocates leave behind → edits of pod and Node, each whatever becomes of the others (A10).

An answer does not wait for them, and one that fails costs nothing but itself: a bind phase is for
people, and a lock that stays is found by ``repair_lock``. The editor tries again by itself, so an
edit has a time to live instead of a number of attempts. At the end of the agent they get a moment.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from ascend_agent.errors import ClusterError, ConflictError, LaggedError, NotFoundError
from ascend_agent.interfaces import ClusterEditor
from ascend_agent.model.allocation import Settlement
from ascend_agent.model.cluster import Edit, NodeAnnotationRemoval, NodeEdit, PodEdit
from ascend_agent.runtime.topic import Topic

log = logging.getLogger(__name__)

_LIFE_S: Final = 60.0
_LAST_S: Final = 2.0
_NO_ANSWER: Final = f"no answer of the API server within {_LIFE_S:g} s"


class SettleAllocations:
    """Has the edits of settlements acknowledged."""

    def __init__(self, *, editor: ClusterEditor, settlements: Topic[Settlement]) -> None:
        self._editor = editor
        self._settlements = settlements.subscribe()  # kept where this flow is restarted
        self._trouble = ""
        self._open: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Settle for ever; when cancelled, what is open has a moment to be acknowledged."""
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    self._begin(group, await self._next())
            except asyncio.CancelledError:
                self._begin(group, self._rest())
                if self._open:
                    await asyncio.wait(self._open, timeout=_LAST_S)
                raise

    async def _next(self) -> Sequence[Settlement]:
        try:
            return await self._settlements.next()
        except LaggedError as error:
            return _missed(error)

    def _rest(self) -> Sequence[Settlement]:
        try:
            return self._settlements.drain()
        except LaggedError as error:
            return _missed(error)

    def _begin(self, group: asyncio.TaskGroup, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            for edit in settlement.edits:
                task = group.create_task(self._settle(edit, settlement), name="settle")
                self._open.add(task)
                task.add_done_callback(self._open.discard)

    async def _settle(self, edit: Edit, settlement: Settlement) -> None:
        facts: dict[str, object] = {"edit": _told(edit), "after": settlement.why}
        if settlement.pod is not None:
            facts["pod"] = str(settlement.pod.key)
        try:
            async with asyncio.timeout(_LIFE_S):
                await self._editor.apply(edit)
        except (ConflictError, NotFoundError) as error:
            # The lock is another's by now, or the pod is gone: that is settled as well.
            log.info("settlement not needed", extra={**facts, "why": str(error)})
        except (ClusterError, TimeoutError) as error:
            self._hear(str(error) or _NO_ANSWER, facts)
        else:
            self._hear("", facts)

    def _hear(self, trouble: str, facts: dict[str, object]) -> None:
        """Say when edits begin to fail, fail for another reason, or work again."""
        before, self._trouble = self._trouble, trouble
        if trouble and trouble != before:
            log.warning("allocation not settled", extra={**facts, "why": trouble})
        elif before and not trouble:
            log.info("allocations settled again", extra=facts)


def _missed(error: LaggedError) -> Sequence[Settlement]:
    log.warning("settlements missed", extra={"count": error.missed})
    return ()


def _told(edit: Edit) -> str:
    """Return for people what *edit* is about."""
    match edit:
        case NodeAnnotationRemoval():
            return f"remove annotation {edit.key} of the node"
        case PodEdit():
            return f"annotate pod {edit.pod}: {_pairs(edit)}"
        case NodeEdit():
            return f"annotate the node: {_pairs(edit)}"


def _pairs(edit: PodEdit | NodeEdit) -> str:
    return ", ".join(f"{key}={value}" for key, value in edit.annotations.items())
