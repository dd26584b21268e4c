"""NodeView, HAMi's configuration and own Node → what HAMi's scheduler is told, and bus.registered.

What is said, and when, is decided in ``dialects/hami``: ``register`` the list, ``handshake`` the
talk, ``leave`` how a word is taken back; ``registration_talks`` makes one edit of all of it. Here
it goes out as one PATCH, and is given up where it is out of date before it was sent. Nothing is
read, and no health trouble or missing kubelet keeps an answer from the scheduler. While another
agent serves the node it is that one's to speak, and at the end nothing is said: a restart should
go unnoticed.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ascend_agent.bus import Bus
from ascend_agent.errors import ClusterError, LaggedError
from ascend_agent.flows.disputes import Disputes
from ascend_agent.flows.registration_log import RegistrationLog
from ascend_agent.flows.registration_talks import Plan, Seen, Talks
from ascend_agent.interfaces import ClusterEditor
from ascend_agent.model.cluster import NodeEdit
from ascend_agent.model.hami import HamiRegistration
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.runtime.backoff import jittered
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

_SPREAD: Final = 0.1
_RETRY_S: Final = (1.0, 2.0, 4.0, 5.0)
"""After what was refused; the last one is repeated: a question must not stand for a minute."""
_MS_PER_S: Final = 1000


def _spread() -> float:
    return random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311 -- no secret


def _failure_of(attempt: asyncio.Task[None]) -> ClusterError | None:
    """Return why *attempt* failed; None: it did not, or is not over."""
    try:
        if attempt.done():
            attempt.result()
    except ClusterError as error:
        return error
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """How long a question waits for its answer, and what is added to the time of a report.

    ``spread`` gives the factor for the next wait, so that many nodes don't answer in step.
    """

    answer_s: float
    offset_s: int
    spread: Callable[[], float] = _spread


class RegisterNode:
    """Keeps the node registered with HAMi's scheduler."""

    def __init__(
        self,
        *,
        editor: ClusterEditor,
        cadence: Cadence,
        bus: Bus,
        registered: LatestWriter[HamiRegistration],
        clock: Clock,
    ) -> None:
        self._editor = editor
        self._cadence = cadence
        self._bus = bus
        self._registered = registered
        self._clock = clock
        self._wakeup = Wakeup()
        self._inputs = (bus.inventory, bus.node, bus.hami, bus.own_node, bus.instance, bus.api)
        for channel in self._inputs:
            channel.attach(self._wakeup)
        # Subscribed from the start: what was changed before the first run was changed, too.
        self._foreign = bus.foreign.subscribe(self._wakeup)
        self._disputes = Disputes()
        self._log = RegistrationLog()
        self._talks = Talks(self._log)
        self._failures = 0
        self._retry_at: Millis | None = None

    async def run(self) -> None:
        """Speak and answer for ever."""
        while True:
            await asyncio.sleep(0)  # the kubelet's streams first: a scheduler looks twice a minute
            seen = self._versions()
            self._hear_of_strangers()
            plan = self._plan()
            if plan.listing is not None and plan.edit is None and self._hears():
                self._end_trouble()  # nothing is left that could be refused, whoever saw to it
            self._publish()
            resting = self._retry_at is not None and self._clock.now() < self._retry_at
            if plan.edit is not None and not resting:
                await self._send(plan, plan.edit)
            elif self._versions() == seen:
                wake_at = self._retry_at if plan.edit is not None else plan.wake_at
                await self._wakeup.wait(self._clock.loop_time(wake_at))

    def _versions(self) -> tuple[int, ...]:
        return tuple(channel.version for channel in self._inputs)

    def _serves(self) -> bool:
        instance = self._bus.instance.value
        return instance is not None and instance.phase is InstancePhase.HOLDING

    def _plan(self) -> Plan:
        """Return what is due, as everything is now."""
        if not self._serves():
            self._talks = Talks(self._log)
            return Plan()
        view, state, now = self._bus.node.value, self._bus.hami.value, self._clock.now()
        if view is None or state is None:
            return Plan()
        inventory = self._bus.inventory.value
        kept = NodeEdit(labels={}, annotations=dict.fromkeys(self._talks.keys))
        _, rests_until = self._disputes.without_resting(kept, now)
        seen = Seen(
            view=view,
            state=state,
            node=self._bus.own_node.value,
            now=now,
            wait_ms=round(self._cadence.answer_s * self._cadence.spread() * _MS_PER_S),
            offset_s=self._cadence.offset_s,
            rests_until=rests_until,
            all_hidden=inventory is not None and inventory.all_hidden,
        )
        return self._talks.plan(seen)

    async def _send(self, plan: Plan, edit: NodeEdit) -> None:
        talks = self._talks
        talks.saying(plan)
        async with beside(self._editor.apply(edit), name="register the node") as attempt:
            attempt.add_done_callback(lambda _: self._wakeup.set())
            while not attempt.done():
                await self._wakeup.wait()
                self._hear_of_strangers()
                if attempt.done() or self._shows(edit):
                    break
                essence = self._plan().essence
                self._publish()
                if essence != plan.essence:
                    return  # out of date; what the server has by now shows on the Node
            failure = _failure_of(attempt)
            if failure is not None:
                self._note_failure(str(failure))
                return
        self._end_trouble()
        talks.note(plan, self._clock.now())

    def _hears(self) -> bool:
        node = self._bus.own_node.value
        return node is not None and node.live

    def _end_trouble(self) -> None:
        self._failures, self._retry_at = 0, None
        self._log.well()

    def _shows(self, edit: NodeEdit) -> bool:
        """Return whether the Node says it all: the watch may be faster than the answer."""
        node = self._bus.own_node.value
        return (
            node is not None
            and node.live
            and all(node.annotations.get(key) == to for key, to in edit.annotations.items())
        )

    def _note_failure(self, why: str) -> None:
        delay_s = jittered(_RETRY_S[min(self._failures, len(_RETRY_S) - 1)])
        self._retry_at = Millis(self._clock.now() + round(delay_s * _MS_PER_S))
        self._failures += 1
        self._log.failed(why)

    def _hear_of_strangers(self) -> None:
        try:
            changed = self._foreign.drain()
        except LaggedError:
            return  # the Node itself says what is to be done; only their number is lost
        for edit in changed:
            if edit.pod is None and edit.key in self._talks.keys:
                now = self._clock.now()
                self._log.changed_by_others(edit, self._disputes.note(edit, now), now)

    def _publish(self) -> None:
        self._registered.put(self._talks.registration(self._bus.own_node.value, self._detail()))

    def _detail(self) -> str:
        """Return what people should know of it."""
        state, api = self._bus.hami.value, self._bus.api.value
        if not self._serves():
            return "this agent does not serve the node yet"
        if api is not None and api.detail:
            return api.detail
        if self._log.trouble:
            return self._log.trouble
        if self._talks.leaving:
            return f"taking back {', '.join(self._talks.leaving)}"
        return state.trouble if state is not None else ""
