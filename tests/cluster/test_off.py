"""Without an API server nothing is shown, nothing is acknowledged, and the reason can be read."""

import asyncio

import pytest

from ascend_agent.cluster.off import ClusterOff
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import PodKey
from tests.cluster.connected import labels

OFF = ClusterOff(why="no --node-name", now=Millis(5))


async def test_the_reason_is_told_once() -> None:
    states = OFF.states()
    state = await anext(states)

    assert (state.phase, state.since_ms, state.detail) == (ApiPhase.OFF, 5, "no --node-name")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await anext(states)


@pytest.mark.parametrize("what", ["nodes", "pods", "foreign_edits", "fault_config"])
async def test_nothing_is_ever_shown(what: str) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await anext(getattr(OFF, what)())


async def test_what_needs_it_waits_until_its_deadline() -> None:
    for call in (
        OFF.apply(labels(a="1")),
        OFF.reader.read_node(),
        OFF.reader.read_pods(),
        OFF.reader.read_pod(PodKey(namespace="a", name="b")),
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await call
