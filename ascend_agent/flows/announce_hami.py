"""What happens on HAMi's side → what ``post_events`` tells of it.

Only takes in what the bus shows; ``dialects.hami.told`` has what is worth telling, and the words.
"""

from collections.abc import Iterator, Sequence

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami import told
from ascend_agent.errors import LaggedError
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.notices import Announcement
from ascend_agent.model.vnpu import VnpuSweep
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup


class HamiAnnouncements:
    """What HAMi's side has to tell since it was last asked."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._served: TopicReader[AllocateServed] | None = None
        self._state: HamiState | None = None
        self._chip = ""
        self._soft = ""
        self._shares: ShareStates | None = None
        self._sweep: VnpuSweep | None = None

    def attach(self, wakeup: Wakeup) -> None:
        """Set *wakeup* whenever there may be more to tell."""
        self._served = self._bus.served.subscribe(wakeup)
        for channel in (self._bus.hami, self._bus.soft, self._bus.shares, self._bus.vnpus):
            channel.attach(wakeup)

    def take(self, now: Millis) -> Sequence[Announcement]:
        """Return what is new, oldest first."""
        return [
            *self._take_allocates(),
            *self._take_state(now),
            *self._take_shares(now),
            *self._take_sweep(now),
        ]

    def _take_allocates(self) -> Iterator[Announcement]:
        for served in self._drained():
            yield from told.of_allocate(served)

    def _drained(self) -> Sequence[AllocateServed]:
        try:
            return self._served.drain() if self._served else ()
        except LaggedError:
            return ()  # thousands at once: the log has every one of them

    def _take_state(self, now: Millis) -> Iterator[Announcement]:
        before, state = self._state, self._bus.hami.value
        if state is None:
            return
        self._state = state
        yield from told.of_files(before, state, now)
        missing = told.chip_trouble(state, self._bus.inventory.value)
        earlier, self._chip = self._chip, missing
        yield from told.of_chip(earlier, missing, state.chip, now)
        trouble = told.soft_trouble(state, self._bus.soft.value)
        withdrawn, self._soft = self._soft, trouble
        yield from told.of_soft(withdrawn, trouble, wanted=state.wants_soft, now=now)

    def _take_shares(self, now: Millis) -> Iterator[Announcement]:
        before, shares = self._shares, self._bus.shares.value
        if shares is not None and shares != before:
            self._shares = shares
            yield from told.of_shares(before, shares, now)

    def _take_sweep(self, now: Millis) -> Iterator[Announcement]:
        before, sweep = self._sweep, self._bus.vnpus.value
        if sweep is not None and sweep != before:
            self._sweep = sweep
            yield from told.of_sweep(before, sweep, now)
