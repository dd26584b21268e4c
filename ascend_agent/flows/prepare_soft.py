"""The wish for soft slices → a host that can limit containers, or why this one can't.

Besides its files the host must have a way to let several containers open an NPU: without any, soft
slices alone are off, and NPUs stay in service (HAMi E10).

Only while soft slices are wanted: a node in hard mode needs nothing of it (HAMi E7). Looked at
again where it failed, slowly while all is well, since the host may lose a file (IM-7), and soon
after an Allocate was refused, which may have missed one. What is installed, and what fits, is
decided in ``host/assets``.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    HostError,
    LaggedError,
    NotSupportedError,
)
from ascend_agent.injection.resolve import checked_paths, paths, resolve_mounts
from ascend_agent.interfaces import HostFiles, ShareSwitch, SoftPreparation
from ascend_agent.model.allocation import InjectionWants, Refused
from ascend_agent.model.hami import HamiState, SoftHost, SoftPaths
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.npu import Inventory
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.topic import Topic, TopicReader
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.slicing.soft import shared_mounts

log = logging.getLogger(__name__)

_RETRY_S = 30.0
_CHECK_S = 600.0
_AFTER_REFUSAL_S = 10.0
"""At the earliest after the last look: a pod that is refused again and again costs no more."""
_BEGINNING = "the host is being prepared for soft slices; this takes a few seconds"


class PrepareSoft:
    """Says whether containers can be limited on this host, and keeps it so."""

    def __init__(  # noqa: PLR0913 -- one for each thing that soft slices rest on
        self,
        *,
        preparation: SoftPreparation,
        host: HostFiles,
        shares: ShareSwitch,
        where: SoftPaths,
        inventory: Latest[Inventory],
        hami: Latest[HamiState],
        served: Topic[AllocateServed],
        soft: LatestWriter[SoftHost],
    ) -> None:
        self._preparation = preparation
        self._host = host
        self._shares = shares
        self._mounts = shared_mounts(where)
        self._inventory = inventory
        self._hami = hami
        self._served = served
        self._soft = soft
        self._said = SoftHost(ready=False)

    async def run(self) -> NoReturn:
        """Follow the wish for ever."""
        wakeup = Wakeup()
        served = self._served.subscribe(wakeup)
        for each in (self._hami, self._inventory):
            each.attach(wakeup)
        try:
            while True:
                wanted, known = self._wanted(), self._inventory.value is not None
                if wanted:
                    await self._look()
                else:
                    self._say(SoftHost(ready=False))
                await self._wait(wakeup, served, wanted=wanted, known=known)
        finally:
            for each in (self._hami, self._inventory):
                each.detach(wakeup)
            served.close()

    def _wanted(self) -> bool:
        state = self._hami.value
        return state is not None and state.wants_soft

    async def _wait(
        self, wakeup: Wakeup, served: TopicReader[AllocateServed], *, wanted: bool, known: bool
    ) -> None:
        """Wait until it is time for another look, or soft slices are wanted no more, or again."""
        looked = asyncio.get_running_loop().time()
        until = None
        if wanted:
            until = looked + (_CHECK_S if self._said.ready else _RETRY_S)
        while await wakeup.wait(until):
            refused = _any_refused(served.drain)
            if self._wanted() is not wanted or (self._inventory.value is not None) is not known:
                return
            if refused and until is not None:
                until = min(until, looked + _AFTER_REFUSAL_S)

    async def _look(self) -> None:
        if not self._said.trouble and not self._said.ready:
            self._soft.put(SoftHost(ready=False, trouble=_BEGINNING, preparing=True))
        try:
            await self._preparation.prepare()
            trouble = await self._missing() or await self._unshareable()
        except HostError as error:
            trouble = str(error)
        self._say(SoftHost(ready=not trouble, trouble=trouble))

    async def _missing(self) -> str:
        """Return what of each container's mounts can't be, so that no Allocate finds out (IM-1)."""
        wanted = paths(InjectionWants(mounts=self._mounts))
        existing = await self._host.existing(wanted)
        kinds = await self._host.kinds(checked_paths(self._mounts))
        found = resolve_mounts(self._mounts, existing=existing, kinds=kinds)
        return found.detail if isinstance(found, Refused) else ""

    async def _unshareable(self) -> str:
        """Return why no NPU can be shared, empty as soon as one may; a single one is told apart."""
        why = ""
        for npu in self._inventory.value.npus if self._inventory.value else ():
            if npu.address is None:
                continue
            try:
                await self._shares.read_share(npu.address)
            except NotSupportedError as error:
                why = f"no NPU can be shared by several containers: {error}; install a driver that "
                why += "can, or npu-smi, or put the node into hard mode"
            except (DriverError, DriverUnavailableError):
                return ""  # of this NPU alone, or for now: it says nothing about the others
            else:
                return ""
        return why

    def _say(self, now: SoftHost) -> None:
        before, self._said = self._said, now
        self._soft.put(now)
        if now.trouble and now.trouble != before.trouble:
            log.warning("soft slices not possible", extra={"why": now.trouble})
        elif now.ready and not before.ready:
            log.info("host prepared for soft slices")


def _any_refused(drain: Callable[[], list[AllocateServed]]) -> bool:
    try:
        return any(each.refusal for each in drain())
    except LaggedError:
        return True
