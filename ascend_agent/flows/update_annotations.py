"""NodeView, isolation, driver state and own Node → what is read about this node in the API server.

The dialect says how the Node should look; this flow sees to it, again whenever anything changed,
whoever changed it. Sends nothing while the Node is not known as it is now, nor while another agent
serves the node: on an upgrade two versions must not quarrel. What is sent and how
often is the mechanism's business, and so is a server that can't be reached; here stay the errors
that only people can mend, and the strangers who want a key otherwise. The one thing that people may
edit is the list of separated NPUs (``separations``).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.errors import ClusterError, LaggedError, StaleEditError
from ascend_agent.flows.disputes import Disputes
from ascend_agent.flows.separations import Separations
from ascend_agent.interfaces import ClusterEditor, SchedulerDialect
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import Edit, ForeignEdit, NodeEdit, NodeObject
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import OperatorEdit, PublishedIsolation, Restored
from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.model.world import NodeWorld
from ascend_agent.runtime.backoff import jittered
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_RETRY_S = (5.0, 30.0, 120.0, 300.0)
"""For what only people can mend; the last one is repeated for ever."""
_SHOWN_TEXT = 80
_MS_PER_S = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWants:
    """What is to be kept on the Node: its labels, and which NPUs are isolated."""

    labels: bool = True
    isolation: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What should be sent now, and when to plan again though nothing changed."""

    edits: tuple[Edit, ...] = ()
    left_out: tuple[str, ...] = ()
    again_at: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """Edits of which some were refused, how often in a row before, and when they are due again."""

    edits: tuple[Edit, ...]
    why: str
    times: int
    again_at: Millis


class UpdateAnnotations:
    """Keeps the labels and annotations of the own Node as the dialect wants them."""

    def __init__(  # noqa: PLR0913 -- one for each thing that is read, told or kept
        self,
        *,
        dialect: SchedulerDialect,
        specs: Mapping[str, ChipSpec],
        wants: NodeWants,
        editor: ClusterEditor,
        bus: Bus,
        operator: Publisher[OperatorEdit | Restored],
        published: LatestWriter[PublishedIsolation],
        clock: Clock,
    ) -> None:
        self._dialect = dialect
        self._specs = specs
        self._wants = wants
        self._editor = editor
        self._bus = bus
        self._clock = clock
        self._wakeup = Wakeup()
        self._separations = Separations(
            dialect=dialect,
            specs=specs,
            bus=bus,
            operator=operator,
            published=published,
            wakeup=self._wakeup,
        )
        self._inputs = (bus.node, bus.driver, bus.own_node, bus.instance)
        for channel in self._inputs:
            channel.attach(self._wakeup)
        # Subscribed from the start: what was changed before the first run was changed, too.
        self._foreign = bus.foreign.subscribe(self._wakeup)
        self._disputes = Disputes()
        self._kept: set[str] = set()
        self._said: tuple[str, ...] = ()
        self._failure: _Failure | None = None

    async def run(self) -> None:
        """Update for ever."""
        while True:
            await asyncio.sleep(0)  # the kubelet's streams first: labels can wait for them
            seen = self._versions()
            self._hear_of_strangers()
            self._compare()
            plan = self._plan()
            if plan.edits or plan.left_out:
                self._say_left_out(plan.left_out)
            retry_at = await self._send(plan.edits) if plan.edits else None
            if self._versions() == seen:
                again_at = _earliest(plan.again_at, retry_at)
                await self._wakeup.wait(self._clock.loop_time(again_at))

    def _versions(self) -> tuple[int, ...]:
        return (*(channel.version for channel in self._inputs), self._separations.version)

    def _node(self) -> NodeObject | None:
        """Return the own Node where it is known as it is now and is ours to write to."""
        node, instance = self._bus.own_node.value, self._bus.instance.value
        serves = instance is not None and instance.phase is InstancePhase.HOLDING
        return node if serves and node is not None and node.live else None

    def _compare(self) -> None:
        node = self._node()
        if node is not None and self._wants.isolation:
            self._separations.compare(node, self._clock.now())

    def _plan(self) -> _Plan:
        view, driver, node = self._bus.node.value, self._bus.driver.value, self._node()
        if view is None or driver is None or node is None:
            return _Plan()
        now = self._clock.now()
        isolation, ask_at = self._separations.wanted(view, node, now)
        report = self._dialect.report(
            NodeWorld(
                view=view,
                specs=self._specs,
                driver=driver,
                node=node,
                now=now,
                labels=self._wants.labels,
                isolation=isolation,
            )
        )
        mine = [edit for edit in report.edits if isinstance(edit, NodeEdit)]
        self._kept.update(key for edit in mine for key in (*edit.labels, *edit.annotations))
        kept = [self._disputes.without_resting(edit, now) for edit in report.edits]
        return _Plan(
            edits=tuple(edit for edit, _ in kept if edit is not None),
            left_out=report.left_out,
            again_at=_earliest(report.wake_at, ask_at, *(until for _, until in kept)),
        )

    async def _send(self, edits: tuple[Edit, ...]) -> Millis | None:
        """Have *edits* applied, each whatever became of the others; return when to try again."""
        failure = self._failure
        if failure is not None and failure.edits == edits and self._clock.now() < failure.again_at:
            return failure.again_at
        troubles = []
        for edit in edits:
            try:
                if not await self._apply(edit):
                    return None
            except ClusterError as error:
                troubles.append(str(error))
        if troubles:
            return self._note_failure(edits, "; ".join(troubles))
        if failure is not None:
            log.info("node updated again")
        self._failure = None
        return None

    async def _apply(self, edit: Edit) -> bool:
        """Apply *edit*; False where it was out of date before the server acknowledged it."""
        async with beside(self._editor.apply(edit), name="apply an edit") as attempt:
            attempt.add_done_callback(lambda _: self._wakeup.set())
            while not attempt.done():
                await self._wakeup.wait()
                self._hear_of_strangers()
                if not attempt.done() and edit not in self._plan().edits:
                    return False
        try:
            attempt.result()
        except StaleEditError as stale:
            self._separations.overtaken(edit, stale, self._clock.now())
            return False
        self._separations.acknowledged(edit)
        return True

    def _note_failure(self, edits: tuple[Edit, ...], why: str) -> Millis:
        before = self._failure
        if before is None or before.why != why:
            log.warning("node not updated", extra={"why": why})
        times = before.times + 1 if before is not None else 0
        delay_s = jittered(_RETRY_S[min(times, len(_RETRY_S) - 1)])
        again_at = Millis(self._clock.now() + round(delay_s * _MS_PER_S))
        self._failure = _Failure(edits=edits, why=why, times=times, again_at=again_at)
        return again_at

    def _say_left_out(self, left_out: tuple[str, ...]) -> None:
        for why in left_out:
            if why not in self._said:
                log.warning("node label left out", extra={"why": why})
        self._said = left_out

    def _hear_of_strangers(self) -> None:
        try:
            changed = self._foreign.drain()
        except LaggedError:
            return  # the Node itself says what is to be done; only their number is lost
        for edit in changed:
            self._hear_of(edit)

    def _hear_of(self, edit: ForeignEdit) -> None:
        now = self._clock.now()
        if self._separations.take(edit, now) or edit.key not in self._kept:
            return  # of what other flows write they hear themselves
        dispute = self._disputes.note(edit, now)
        facts = {
            "object": str(edit.pod) if edit.pod else "node",
            "key": edit.key,
            "wrote": _cut(edit.wrote),
            "found": _cut(edit.found),
            "repaired_in_s": (dispute.rests_until - now) / _MS_PER_S,
        }
        if dispute.times == 1:
            log.info("value of ours changed by others", extra=facts)
        elif dispute.opened:
            log.warning("value of ours disputed by others", extra=facts)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= _SHOWN_TEXT:
        return text
    return f"{text[:_SHOWN_TEXT]}..."


def _earliest(*moments: Millis | None) -> Millis | None:
    return min((at for at in moments if at is not None), default=None)
