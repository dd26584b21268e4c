"""The whole agent after pods that came and went: it keeps nothing of them, on virtual time."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

# What an agent of this dialect loads late is loaded here: it would hold up a step of the loop.
import ascend_agent.dialects.hami.dialect
import ascend_agent.wiring.hami  # noqa: F401 -- as said
from tests.agent.pod_stream import PodStream, pod_stream, weigh

_BEFORE, _AFTER = 15, 60
"""Allocates in each mode of the node: until it is weighed for the first time, and the second."""

_REST_S = 90
"""Longer than anything is remembered by time."""

_CHANCE = 20
"""What may be more or less, such as a connection; a quarter of the pods in between."""

_BOUNDED = {"cluster.objects.Objects._dead": 2 * 256}
"""Names of the dead, so that a late word of one does not bring it back: at most so many of each."""


async def weighed(stream: PodStream, allocates: int) -> Mapping[str, int]:
    """Serve so many requests in each mode and return what is kept some time later."""
    for soft in (False, True):
        await stream.turn(soft=soft)
        await stream.serve(allocates, soft=soft)
    await asyncio.sleep(_REST_S)
    await stream.serve(1, soft=True)  # what is looked through with the next call alone
    return await asyncio.to_thread(weigh)


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_nothing_is_kept_of_pods_that_are_gone(tmp_path: Path) -> None:
    """Neither in a flow's table nor in a file: 150 Allocates leave as much as thirty."""
    async with pod_stream(tmp_path) as stream:
        before = await weighed(stream, _BEFORE)
        after = await weighed(stream, _AFTER)
        await asyncio.sleep(_REST_S)

        assert stream.allocates >= 2 * (_BEFORE + _AFTER)
        assert stream.directories == []
    grown = {name: (before.get(name, 0), count) for name, count in after.items()}
    assert {
        name: counts
        for name, counts in grown.items()
        if counts[1] > _BOUNDED.get(name, counts[0] + _CHANCE)
    } == {}
