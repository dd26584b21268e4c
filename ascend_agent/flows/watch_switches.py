"""Switch library → switch Topic: each fault as it is told, and the whole list as a safety net.

Only on a node whose chips have switches (A3); elsewhere this flow waits and the library is never
loaded. A list is read at the start, after lost continuity, slowly for ever, and when the node's
view says that it lacks something; where nothing is told, it is read often. What the faults mean is
decided in ``faults.switches``.

Trouble with this library is trouble with nothing else: what was known of the switches stays, and
a library over which the driver worker dies is left alone for a while, since NPUs die with it.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from ascend_agent.bus import Bus
from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    NotSupportedError,
    NpuUnresponsiveError,
)
from ascend_agent.interfaces import SwitchReader
from ascend_agent.model.npu import DriverPhase, Npu
from ascend_agent.model.surroundings import (
    SwitchEvent,
    SwitchFault,
    SwitchListed,
    SwitchNotice,
)
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_READ_EVERY_S = 300.0
_POLL_EVERY_S = 5.0
"""Where nothing is told: as often as a card is asked whether it is still there."""
_AFTER_TROUBLE_S = 10.0
_AFTER_LACK_S = 10.0
_ANEW_AFTER_S = 1.0
"""Between two new beginnings: a library whose events make no sense must not keep us busy."""
_SUBSCRIBE_AGAIN_S = 300.0
_MOST_ENDED = 2
_LEFT_ALONE_S = 600.0


class WatchSwitches:
    """Opens the switch library in each driver worker, listens, and reads."""

    def __init__(
        self,
        *,
        reader: SwitchReader,
        has_switches: Callable[[Npu], bool],
        bus: Bus,
        switches: Publisher[SwitchNotice],
        clock: Clock,
    ) -> None:
        self._reader = reader
        self._has_switches = has_switches
        self._inventory = bus.inventory
        self._driver = bus.driver
        self._node = bus.node
        self._switches = switches
        self._clock = clock
        self._wakeup = Wakeup()
        self._lost = True
        self._opened = False
        self._subscribed = False
        self._subscribe_at = 0.0
        self._read_at = 0.0
        self._anew_at = float("-inf")
        self._trouble: str | None = None
        self._ended = 0

    async def run(self) -> None:
        """Watch for ever, once there is a chip with switches."""
        await self._until_needed()
        self._node.attach(self._wakeup)
        try:
            async with asyncio.TaskGroup() as group:
                # First, so that nothing is told to nobody.
                group.create_task(self._listen(), name="listen-switches")
                while True:
                    await self._wait(await self._look())
        finally:
            self._node.detach(self._wakeup)

    async def _until_needed(self) -> None:
        async with aclosing(self._inventory.changes()) as changes:  # type: ignore[type-var]
            async for inventory in changes:
                if any(self._has_switches(npu) for npu in inventory.npus):
                    return

    async def _listen(self) -> None:
        async for item in self._reader.switch_news():
            if isinstance(item, SwitchFault):
                number = self._switches.next_sequence
                self._switches.publish(SwitchEvent(fault=self._dated(item), sequence=number))
            else:
                self._lost = True
                self._wakeup.set()

    # --- reading ---------------------------------------------------------------------------

    async def _look(self) -> float:
        """Read the list, and make ready whatever is not; return after how many seconds again."""
        state = self._driver.value
        ready = state is not None and state.phase is DriverPhase.READY
        try:
            await self._make_ready()
        except NotSupportedError as error:
            if self._is_new(str(error)):
                log.warning("switch faults not watched", extra={"why": str(error)})
            return _READ_EVERY_S
        except DriverUnavailableError as error:
            return self._note_end(ready=ready, why=str(error))
        except DriverError as error:
            # For as long as one call does not return, each further one says something else.
            hangs = isinstance(error, NpuUnresponsiveError)
            if self._is_new("hangs" if hangs else str(error)):
                log.warning("switch faults not read", extra={"why": str(error)})
            return _AFTER_TROUBLE_S
        self._ended = 0
        if self._trouble is not None:
            self._trouble = None
            log.info("switch faults read again")
        return _READ_EVERY_S if self._subscribed else _POLL_EVERY_S

    async def _make_ready(self) -> None:
        if self._lost:
            self._anew_at = self._now() if self._opened else self._anew_at
            self._lost = self._opened = self._subscribed = False
            self._subscribe_at = 0.0
        if not self._opened:
            await self._reader.open_switches()
            self._opened = True
        # What stands is known before the subscription, and what arose meanwhile after it: the
        # library tells nobody of a fault that was there already.
        await self._read()
        if not self._subscribed and self._now() >= self._subscribe_at:
            await self._subscribe()
            await self._read()

    async def _subscribe(self) -> None:
        self._subscribe_at = self._now() + _SUBSCRIBE_AGAIN_S
        try:
            await self._reader.subscribe_switches()
        except DriverError as error:
            why = {"why": str(error), "in_s": _SUBSCRIBE_AGAIN_S}
            log.warning("switch subscription failed", extra=why)
        else:
            self._subscribed = True

    async def _read(self) -> None:
        self._read_at = self._now()
        asked_after = self._switches.next_sequence - 1
        faults = await self._reader.read_switch_faults()
        self._switches.publish(
            SwitchListed(
                faults=tuple([self._dated(fault) for fault in faults]),
                asked_after=asked_after,
                answered_at_ms=self._clock.now(),
            )
        )

    def _dated(self, fault: SwitchFault) -> SwitchFault:
        """Return *fault* with a time: now, where the library gave none."""
        return fault if fault.raised_ms else replace(fault, raised_ms=self._clock.now())

    def _is_new(self, trouble: str) -> bool:
        """Return whether *trouble* is another one than the last, and remember it."""
        known, self._trouble = self._trouble, trouble
        return trouble != known

    def _note_end(self, *, ready: bool, why: str) -> float:
        """Note that no worker answered; *ready*: one was there, so it ended while it was asked."""
        self._ended += ready
        if self._ended < _MOST_ENDED:
            return _READ_EVERY_S  # the next worker says when it is there
        if self._is_new("workers end"):
            facts = {"why": f"driver workers end over it: {why}"}
            log.warning("switch faults not watched", extra=facts)
        return _LEFT_ALONE_S

    # --- waiting ---------------------------------------------------------------------------

    async def _wait(self, seconds: float) -> None:
        """Return after *seconds*, or earlier where there is a reason to look earlier."""
        due = self._now() + seconds
        left_alone = self._ended >= _MOST_ENDED
        woken = True
        while woken and (left_alone or not self._lost):
            sooner = self._lacks() and self._opened and not left_alone
            until = min(due, self._read_at + _AFTER_LACK_S) if sooner else due
            woken = await self._wakeup.wait(until)
        if self._lost and (rest_s := self._anew_at + _ANEW_AFTER_S - self._now()) > 0:
            await asyncio.sleep(rest_s)

    def _lacks(self) -> bool:
        """Return whether the node's view lacks faults that only a list can bring."""
        view = self._node.value
        return view is not None and view.switches is not None and not view.switches.complete

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
