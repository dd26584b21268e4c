"""HAMi's files, the NPUs and the host → what holds on this node, and what of it goes wrong.

Nobody is told anything before the files were looked at once: an NPU that they hide must not even
be asked how it is. What the files mean is decided in ``dialects/hami``.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import NoReturn

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.effective import effective
from ascend_agent.dialects.hami.in_force import InForce, judge
from ascend_agent.errors import TaskEndedError
from ascend_agent.interfaces import HamiConfigFiles
from ascend_agent.model.hami import HamiFiles, HamiRules, HamiState
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.threads import Threads
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_JUDGING_S = 60.0  # the largest file takes a quarter of a second


class FollowHamiConfig:
    """Keeps what holds current; *names* are what people call the files, by role."""

    def __init__(
        self,
        *,
        files: HamiConfigFiles,
        names: Mapping[str, str],
        node: NodeName,
        rules: HamiRules,
        bus: Bus,
        hami: LatestWriter[HamiState],
    ) -> None:
        self._files = files
        self._node = node
        self._rules = rules
        self._inputs = (bus.inventory, bus.soft)
        self._inventory = bus.inventory
        self._soft = bus.soft
        self._writer = hami
        self._threads = Threads(name="hami-config", limit=1)
        self._wakeup = Wakeup()
        # Kept when the flow is started again: what is in force stays so.
        self._look: HamiFiles | None = None
        self._judged: HamiFiles | None = None
        self._in_force = InForce(names=names)
        self._state: HamiState | None = None
        self._told = _Told(names)

    async def run(self) -> NoReturn:
        """Follow all of it for ever."""
        for channel in self._inputs:
            channel.attach(self._wakeup)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_files(), name="follow-hami-files")
                while True:
                    await self._wakeup.wait()
                    if self._look is not None:
                        await self._judge(self._look)
        finally:
            for channel in self._inputs:
                channel.detach(self._wakeup)

    async def _follow_files(self) -> NoReturn:
        async for look in self._files.looks():
            self._look = look
            self._wakeup.set()
        raise TaskEndedError("hami files")

    async def _judge(self, look: HamiFiles) -> None:
        if look is not self._judged:
            # Beside the loop: a long file must not hold up a fault.
            work = partial(judge, self._in_force, look, node=self._node)
            self._in_force = await self._threads.run(work, deadline_s=_JUDGING_S)
            self._judged = look
        state = effective(
            self._in_force,
            node=self._node,
            inventory=self._inventory.value,
            soft_host=self._soft.value,
            rules=self._rules,
        )
        self._writer.put(state)
        self._told.about_files(self._in_force.refused)
        self._told.about(self._state, state, looked=self._inventory.version > 0)
        self._state = state


class _Told:
    """Logs what starts, changes and ends, each text once for as long as it stands."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._refused: Mapping[str, str] = {}
        self._trouble = ""

    def about_files(self, refused: Mapping[str, str]) -> None:
        for role, file in self._names.items():
            why, before = refused.get(role), self._refused.get(role)
            if why and why != before:
                log.warning("hami configuration refused", extra={"file": file, "why": why})
            elif before and not why:
                log.info("hami configuration accepted", extra={"file": file})
        self._refused = refused

    def about(self, old: HamiState | None, new: HamiState, *, looked: bool) -> None:
        before = old.warnings if old else ()
        for text in new.warnings:
            if text not in before:
                log.warning("hami configuration doubtful", extra={"why": text})
        if before and not new.warnings:
            log.info("hami configuration not doubtful any more")
        if not looked:
            return  # before there is a list of NPUs nothing can be said of chips
        if new.trouble and new.trouble != self._trouble:
            log.warning("chip not configured for hami", extra={"why": new.trouble})
        elif self._trouble and not new.trouble:
            log.info("chip configured for hami")
        self._trouble = new.trouble
        facts = _facts(new)
        if facts and (old is None or facts != _facts(old)):
            log.info("hami configuration in force", extra=facts)


def _facts(state: HamiState) -> Mapping[str, object]:
    """Return what an operator compares with the scheduler and his pods; empty without a chip."""
    chip, entry = state.chip, state.config.entry
    if chip is None:
        return {}
    return {
        "chip": chip.chip_name,
        "resource": chip.resource,
        "memory_resource": chip.memory_resource,
        "core_resource": chip.core_resource,
        "layout": state.config.layout.value,
        "shares": state.shares,
        "mode": "soft" if state.wants_soft else "hard",
        "hidden_dies": sorted(entry.hidden_dies) if entry else [],
        "hidden_cards": sorted(entry.hidden_cards) if entry else [],
        "origins": dict(state.origins),
    }
