"""Moments in the course of an Allocate, at which a test has something happen; what may be in force.

They are told by what the agent asks of the API server and of the host.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum

from aiohttp import web

from ascend_agent.model.hami import HamiState, HamiTemplate
from ascend_agent.model.ids import ResourceName
from ascend_agent.sim.cluster import FakeApiServer, RefusedError, Trouble
from tests.fakes.hami import CHIP_910B3, state
from tests.fakes.hami_scene import LEFT, HamiScene

SOON_S = 0.05


class Moment(Enum):
    """When in the course of an Allocate something happens."""

    BEFORE = "before"  # before any watch can tell of it
    READ = "read"  # as Node or pods are read live for the first time
    MADE = "made"  # as the container's directory is made
    PATCH = "patch"  # before the slot is taken
    PATCHED = "patched"  # after it is taken, before that is acknowledged
    SOON = "soon"  # a moment after the begin, when all was read live once


class Held(Enum):
    """What HAMi's files and the host come to."""

    SOFT = "soft"
    HARD = "hard"
    PENDING = "pending"  # the host is being prepared for soft slices
    WITHDRAWN = "withdrawn"  # and could not be
    RENAMED = "renamed"  # the chip has another word
    CUT = "cut"  # templates have other names
    FEWER = "fewer"  # shares, so that the kubelet's ids are not offered

    @property
    def state(self) -> HamiState:
        """What the agent has by it."""
        soft = state(soft=True)
        if self is Held.HARD:
            return state()
        if self is Held.PENDING:
            return replace(soft, soft=False, soft_pending=True, soft_trouble="being prepared")
        if self is Held.WITHDRAWN:
            return replace(soft, soft=False, soft_trouble="no library")
        if self is Held.RENAMED:
            resource = ResourceName("huawei.com/AscendNew")
            return state(replace(CHIP_910B3, word="AscendNew", resource=resource), soft=True)
        if self is Held.CUT:
            first, *rest = CHIP_910B3.templates
            cut: tuple[HamiTemplate, ...] = (replace(first, name="vir99"), *rest)
            return state(replace(CHIP_910B3, templates=cut), soft=True)
        return state(soft=True, shares=1) if self is Held.FEWER else soft


@asynccontextmanager
async def amid(
    scene: HamiScene, moment: Moment, happens: Callable[[], None]
) -> AsyncIterator[None]:
    """Have *happens* called once at *moment*, if the Allocate comes to it."""
    left = [happens]
    server, directories = scene.server, scene.directories

    def now() -> None:
        if left:
            left.pop()()

    trouble = _at(moment, now, server)
    server.troubles.append(trouble)
    directories.meanwhile = now if moment is Moment.MADE else None
    soon = asyncio.get_running_loop().call_later(SOON_S, now)
    if moment is not Moment.SOON:
        soon.cancel()
    if moment is Moment.BEFORE:
        now()
    try:
        yield
    finally:
        soon.cancel()
        directories.meanwhile = None
        server.troubles[:] = [each for each in server.troubles if each is not trouble]


def _at(moment: Moment, happens: Callable[[], None], server: FakeApiServer) -> Trouble:
    """Return what has *happens* called when the API server is asked for what is of *moment*."""

    async def trouble(request: web.Request) -> web.StreamResponse | None:
        if "watch" in request.query:
            return None
        if moment is Moment.READ and request.method == "GET":
            happens()
        if request.method != "PATCH" or LEFT not in await request.text():
            return None
        if moment is Moment.PATCH:
            happens()
        if moment is Moment.PATCHED:
            with contextlib.suppress(RefusedError):
                answer = await server._serve(request, await request.json())
                happens()
                return answer
        return None

    return trouble


async def silent(request: web.Request) -> web.StreamResponse | None:
    """Hear nothing of what an agent says that was killed."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
