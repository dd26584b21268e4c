"""Edits of the own node that wait together: one write a second, the newest value wins (SC-3).

Only these wait for each other. What an Allocate must have acknowledged goes its own way
(``apply``).
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NoReturn

from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pace import Pace
from ascend_agent.cluster.patches import answered_of, merged, node_patch, overtaken, values_of
from ascend_agent.cluster.sender import AGAIN_ON_CONFLICT, Sender
from ascend_agent.cluster.server import Request
from ascend_agent.cluster.written import Values
from ascend_agent.errors import ClusterError, StaleEditError
from ascend_agent.model.cluster import NodeEdit, NodeObject
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.wakeup import Wakeup

_EVERY_S: Final = 1.0

_Waiting = tuple[NodeEdit, asyncio.Future[None]]


class NodeEdits:
    """Takes edits, and sends what is wanted of all of them in one patch."""

    def __init__(
        self, *, node: NodeName, nodes: Objects[NodeObject], sender: Sender[NodeObject]
    ) -> None:
        self._node = node
        self._nodes = nodes
        self._sender = sender
        self._pace = Pace(burst=1, every_s=_EVERY_S)
        self._waiting: list[_Waiting] = []
        self._wakeup = Wakeup()

    async def apply(self, edit: NodeEdit) -> None:
        """Have *edit* acknowledged; one whose caller leaves before it is sent is dropped.

        Raises:
            StaleEditError: a key that *edit* expects was changed by somebody; nothing was written.

        """
        if (key := overtaken(edit, self._own())) is not None:
            raise self._stale(key)
        self._sender.share(answered_of(edit))
        if not self._waiting and self._sender.holds(self._own(), values_of(edit)):
            return
        self._sender.adopt(self._own(), values_of(edit))  # its turn may come in a second
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (edit, done)
        self._waiting.append(entry)
        self._wakeup.set()
        try:
            await done
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    async def run(self) -> NoReturn:
        """Send what waits until cancelled; what is not answered by then waits for the next run."""
        while True:
            # One whose caller was just cancelled is still there. Were it all there is, nothing
            # below would ever wait, and so the caller could never take it out.
            self._waiting[:] = [entry for entry in self._waiting if not entry[1].done()]
            if not self._waiting:
                await self._wakeup.wait()
                continue
            await self._send(self._waiting)

    async def _send(self, waiting: list[_Waiting]) -> None:
        """Send all edits of *waiting* as one, also those that join while it is being tried."""
        batch: list[_Waiting] = []

        def values() -> Values:
            # Between two attempts newer edits join, and those whose callers left are out.
            self._refuse_overtaken(waiting)
            batch[:] = [entry for entry in waiting if not entry[1].done()]
            return values_of(merged(edit for edit, _ in batch))

        def request(missing: Values) -> Request:
            self._pace.charge()
            own = self._own()
            # What the watch has not shown yet must not be written over either.
            version = own.version if own and any(edit.expects for edit, _ in batch) else None
            return node_patch(self._node, missing, version=version)

        try:
            await self._pace.ready()
            await self._sender.send(
                known=self._own,
                values=values,
                request=request,
                retries=AGAIN_ON_CONFLICT,
            )
        except ClusterError as error:
            if len(batch) > 1:
                # One that can't be had must not take the others with it: each by itself.
                for entry in batch:
                    await self._send([entry])
                return
            self._answer(batch, error)
        else:
            self._answer(batch, None)

    def _refuse_overtaken(self, waiting: Sequence[_Waiting]) -> None:
        own = self._own()
        for edit, done in waiting:
            if not done.done() and (key := overtaken(edit, own)) is not None:
                done.set_exception(self._stale(key))

    def _stale(self, key: str) -> StaleEditError:
        own = self._own()
        return StaleEditError(key, own.annotations.get(key) if own else None)

    def _own(self) -> NodeObject | None:
        return self._nodes.find(self._node)

    def _answer(self, batch: Sequence[_Waiting], error: ClusterError | None) -> None:
        for entry in batch:
            _, done = entry
            if entry in self._waiting:
                self._waiting.remove(entry)
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
