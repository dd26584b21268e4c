"""Notices, refused fault rules, what else is announced → Kubernetes Events of the own Node.

Those that a pod's owner should see are about the pod instead.
Posts only while this agent serves the node. What is told together and when is decided by policy
(``faults.event_records``); here is one attempt after another, and what an error means: away for
now, missing rule, gone, or never to be had. Nothing waits for an Event, and none is owed: what
can't be told is counted, and said in the log once.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ascend_agent.bus import Bus
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ConflictError,
    ForbiddenError,
    LaggedError,
    NotFoundError,
    ThrottledError,
)
from ascend_agent.faults import event_records as records
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.event_words import action_of, is_warning, message_of
from ascend_agent.interfaces import EventPoster
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.cluster import NodeEvent, NodeObject
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.model.notices import Announcement
from ascend_agent.runtime.backoff import Backoff, jittered
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_AWAY = Backoff(delays_s=(1.0, 2.0, 5.0, 10.0, 30.0), endless=True)
_FORBIDDEN = Backoff(delays_s=(1.0, 5.0, 30.0, 120.0, 300.0), endless=True)
_MS_PER_S = 1000
_GATHER_S = 0.05
_AT_ONCE = 50  # notices noted in one go, half a millisecond
_MOST_SAID = 8
_TOO_MUCH = "more happened at once than there are Events for"


class Announcements(Protocol):
    """What a dialect has to tell besides."""

    def attach(self, wakeup: Wakeup) -> None:
        """Set *wakeup* whenever there may be more to tell."""

    def take(self, now: Millis) -> Sequence[Announcement]:
        """Return what there is to tell since the last call, oldest first; never raises."""


class PostEvents:
    """Tells of faults by Events; *announcements* None: of nothing besides."""

    def __init__(
        self,
        *,
        poster: EventPoster,
        bus: Bus,
        clock: Clock,
        announcements: Announcements | None = None,
    ) -> None:
        self._poster = poster
        self._bus = bus
        self._clock = clock
        self._wakeup = Wakeup()
        for channel in (bus.fault_config, bus.instance, bus.own_node):
            channel.attach(self._wakeup)
        self._notices = bus.notices.subscribe(self._wakeup)
        self._announcements = announcements
        if announcements is not None:
            announcements.attach(self._wakeup)
        self._book = records.EventBook()
        self._live = False
        self._refused: tuple[str, ...] = ()
        self._failures = 0
        self._refusals = 0
        self._rests_until = Millis(0)
        self._said: set[str] = set()

    async def run(self) -> None:
        """Post for ever."""
        while True:
            await self._take()
            node, now = self._bus.own_node.value, self._clock.now()
            due = records.due(self._book, max(now, self._rests_until))
            if node is None or not self._serves():
                await self._wait(None)
            elif due.series is not None and now >= self._rests_until:
                await self._post(node, due.series)
            else:
                await self._wait(due.wake_at if due.series is None else self._rests_until)

    async def _wait(self, until: Millis | None) -> None:
        if await self._wakeup.wait(self._clock.loop_time(until)):
            # More often than not more is to come: a storm must not cost a look for each event.
            await asyncio.sleep(_GATHER_S)

    # --- what happened ---------------------------------------------------------------------

    async def _take(self) -> None:
        """Take in what happened; what did while another agent serves the node is its to tell."""
        lost, instance = 0, self._bus.instance.value
        announced = self._announcements.take(self._clock.now()) if self._announcements else ()
        try:
            notices = self._notices.drain()
        except LaggedError as error:
            notices, lost = [], error.missed
        if instance is not None and instance.phase is InstancePhase.WAITING:
            return
        for start in range(0, len(notices), _AT_ONCE):
            await asyncio.sleep(0)  # the kubelet's streams first: people can wait
            self._book = records.noted(self._book, notices[start : start + _AT_ONCE])
        self._book = records.noted(self._book, announced)
        self._take_config()
        self._take_heart()
        self._lose(lost, why=_TOO_MUCH)

    def _take_config(self) -> None:
        state = self._bus.fault_config.value
        if state is not None and state.refused != self._refused:
            self._refused = state.refused
            notice = records.ConfigNotice(
                refused=state.refused, source=state.rules.source, at_ms=self._clock.now()
            )
            self._book = records.noted(self._book, [notice])

    def _take_heart(self) -> None:
        """Try again at once when the API server is back, which the watch of the Node hears first.

        Watches come back at moments of their own on each node, so not all nodes post at once.
        """
        node = self._bus.own_node.value
        live = node is not None and node.live
        if live and not self._live:
            self._rests_until = Millis(0)
        self._live = live

    def _lose(self, further: int, *, why: str) -> None:
        """Count what was lost, and say it once for each cause."""
        count = self._book.lost + further
        if not count:
            return
        self._book = replace(self._book, lost=0)
        self._poster.lose_events(count)
        if why not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(why)
            log.warning("events lost", extra={"count": count, "why": why})

    def _serves(self) -> bool:
        instance = self._bus.instance.value
        return instance is not None and instance.phase is InstancePhase.HOLDING

    # --- what is told ----------------------------------------------------------------------

    async def _post(self, node: NodeObject, series: records.Series) -> None:
        self._book = records.sent(self._book, series, self._clock.now())
        try:
            await self._attempt(self._event(node, series), known=bool(series.told))
        except NotFoundError as error:
            if series.told:
                self._book = records.vanished(self._book, series)
            else:
                self._give_up(series, error)
        except (ClusterUnreachableError, ThrottledError, ConflictError, ForbiddenError) as error:
            if isinstance(error, ForbiddenError) and series.key.pod is not None:
                # A namespace that is being deleted takes no Event: no reason to hold others back.
                self._give_up(series, error)
            else:
                self._rest(error)
        except ClusterError as error:
            self._give_up(series, error)
        else:
            self._book = records.acknowledged(self._book, series)
            if self._refusals:
                log.info("events posted again")
            self._failures, self._refusals, self._rests_until = 0, 0, Millis(0)

    async def _attempt(self, event: NodeEvent, *, known: bool) -> None:
        """Post *event*, and go on taking in what happens meanwhile."""
        async with beside(
            self._poster.post_event(event, known=known), name="post an event"
        ) as attempt:
            attempt.add_done_callback(lambda _: self._wakeup.set())
            while not attempt.done():
                await self._wakeup.wait()
                if not attempt.done():
                    await asyncio.sleep(_GATHER_S)
                    await self._take()
        attempt.result()

    def _rest(self, error: ClusterError) -> None:
        """Leave all of it for later; a server that is merely away is told of elsewhere."""
        forbidden = isinstance(error, ForbiddenError)
        delay_s = (_FORBIDDEN if forbidden else _AWAY).delay_s(self._failures) or 0.0
        if isinstance(error, ThrottledError) and error.after_s is not None:
            delay_s = max(delay_s, error.after_s)
        if forbidden and not self._refusals:
            log.warning("events not posted", extra={"why": str(error)})
        self._refusals += forbidden
        self._failures += 1
        self._rests_until = Millis(self._clock.now() + round(jittered(delay_s) * _MS_PER_S))

    def _give_up(self, series: records.Series, error: ClusterError) -> None:
        self._book = records.given_up(self._book, series)
        self._lose(0, why=error.why)

    def _event(self, node: NodeObject, series: records.Series) -> NodeEvent:
        happening = series.latest
        return NodeEvent(
            name=records.event_name(node.name, series),
            node_uid=node.uid,
            warning=is_warning(happening),
            reason=series.key.word,
            action=action_of(happening),
            message=message_of(happening, node=node.name, catalog=self._catalog()),
            count=series.count,
            first_ms=series.first_ms,
            last_ms=series.last_ms,
            pod=happening.pod if isinstance(happening, Announcement) else None,
        )

    def _catalog(self) -> Catalog:
        config = self._bus.fault_config.value
        return CATALOG if config is None else config.rules.catalog
