"""Stands in the connection's place where the agent uses no API server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import NoReturn

from ascend_agent.model.cluster import ApiPhase, ApiState, Edit, ForeignEdit, NodeObject
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import Pod, PodKey, Pods


class ClusterOff:
    """A ``ClusterWatch`` that never shows anything and a ``ClusterEditor`` that waits for ever.

    *why* is what people read of it.
    """

    def __init__(self, *, why: str, now: Millis) -> None:
        self.why = why
        self.reader = NobodyToRead()
        self._state = ApiState(phase=ApiPhase.OFF, since_ms=now, detail=why)

    async def nodes(self) -> AsyncIterator[NodeObject]:
        """Never yield."""
        yield await _never()

    async def pods(self) -> AsyncIterator[Pods]:
        """Never yield."""
        yield await _never()

    async def states(self) -> AsyncIterator[ApiState]:
        """Yield once that the API server is not used."""
        yield self._state
        await _never()

    async def foreign_edits(self) -> AsyncIterator[ForeignEdit]:
        """Never yield."""
        yield await _never()

    async def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        """Never yield."""
        yield await _never()

    async def apply(self, edit: Edit) -> None:  # noqa: ARG002 -- the seam's signature
        """Wait until the caller's deadline: nobody is there to acknowledge anything."""
        await _never()


class NobodyToRead:
    """A ``ClusterReader`` that waits until its caller's deadline."""

    async def read_node(self) -> NodeObject:
        """Wait until the caller's deadline."""
        return await _never()

    async def read_pods(self) -> tuple[Pod, ...]:
        """Wait until the caller's deadline."""
        return await _never()

    async def read_pod(self, key: PodKey) -> Pod | None:  # noqa: ARG002 -- the seam's signature
        """Wait until the caller's deadline."""
        return await _never()


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError  # nobody has the event
