"""The node lock, and the pods of this node → locks given back that nobody needs any more (AL-14).

Only while this agent serves the node. ``dialects.hami.lock_repair`` says when to look; here is the
look, live, and the removal, which tests for the very text and so can't take another pod's lock. A
lock that names nobody is not ours to judge: the scheduler lets it expire.
"""

import asyncio
import logging
from typing import Final

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami import lock_repair
from ascend_agent.dialects.hami.lock_repair import LockWatch
from ascend_agent.dialects.hami.node_lock import NodeLock, lock_of
from ascend_agent.errors import ClusterError, ConflictError, NotFoundError
from ascend_agent.interfaces import ClusterEditor, ClusterReader
from ascend_agent.model.hami import LockRepairs
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.runtime.backoff import Backoff, jittered
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_BACKOFF: Final = Backoff(delays_s=(1.0, 2.0, 5.0, 10.0, 30.0), endless=True)
_WITHIN_S: Final = 20.0
_NO_ANSWER: Final = f"no answer of the API server within {_WITHIN_S:g} s"
_MS_PER_S: Final = 1000
_SHOWN: Final = 80


class RepairLock:
    """Gives stale node locks back."""

    def __init__(
        self,
        *,
        reader: ClusterReader,
        editor: ClusterEditor,
        bus: Bus,
        locks: LatestWriter[LockRepairs],
        clock: Clock,
    ) -> None:
        self._reader = reader
        self._editor = editor
        self._bus = bus
        self._locks = locks
        self._clock = clock
        self._watch: LockWatch | None = None
        self._begins = True
        self._released = 0
        self._gone_at_ms: Millis | None = None
        self._failures = 0
        self._trouble = ""
        self._unreadable = ""
        self._wakeup = Wakeup()

    async def run(self) -> None:
        """Look after the lock for ever."""
        channels = (self._bus.own_node, self._bus.pods, self._bus.instance, self._bus.hami)
        for channel in channels:
            channel.attach(self._wakeup)
        self._publish()
        try:
            while True:
                self._update()
                if self._watch is not None and self._clock.now() >= self._watch.due_at:
                    await self._look(self._watch)
                    continue
                until = self._watch.due_at if self._watch else None
                await self._wakeup.wait(self._clock.loop_time(until))
        finally:
            for channel in channels:
                channel.detach(self._wakeup)

    def _update(self) -> None:
        """Take in what is known now."""
        node, pods, word = self._bus.own_node.value, self._bus.pods.value, self._word()
        if node is None or word is None:
            self._watch, self._begins = None, True
            return
        lock = lock_of(node.annotations)
        self._tell_unreadable(lock)
        self._watch = lock_repair.watched(
            self._watch,
            lock,
            pods.pods if pods else (),
            word=word,
            now=self._clock.now(),
            begins=self._begins,
        )
        self._begins = False

    def _word(self) -> str | None:
        """Return the word of this node's chip while this agent serves the node, else None."""
        instance, state = self._bus.instance.value, self._bus.hami.value
        serves = instance is not None and instance.phase is InstancePhase.HOLDING
        return state.chip.word if serves and state is not None and state.chip else None

    def _tell_unreadable(self, lock: NodeLock | None) -> None:
        text = lock.text[:_SHOWN] if lock is not None and not lock.readable else ""
        if text != self._unreadable and text:
            log.warning("node lock not understood", extra={"lock": text})
        self._unreadable = text

    async def _look(self, watch: LockWatch) -> None:
        """Look at the owner of the lock and give the lock back if it needs it no more."""
        why = None
        try:
            async with asyncio.timeout(_WITHIN_S):
                owner = await self._reader.read_pod(watch.owner)
                word = self._word()  # another agent may serve the node by now
                why = lock_repair.why_stale(owner, word=word) if word is not None else None
                if why is not None:
                    if owner is None:  # to be known before another pod can be bound
                        self._gone_at_ms = self._clock.now()
                        self._publish()
                    if self._has_gone(watch):
                        why = None  # given back while we asked, as is usual where answers are slow
                    else:
                        lock = NodeLock(text=watch.text, owner=watch.owner)
                        await self._editor.apply(lock.removal)
        except (ConflictError, NotFoundError):
            why = None  # it is another's by now, or has gone: what the watch will show
        except (ClusterError, TimeoutError) as error:
            self._fail(watch, str(error) or _NO_ANSWER)
            return
        self._failures = 0
        self._hear("")
        self._watch = lock_repair.looked(watch, now=self._clock.now())
        if why is not None:
            self._tell_released(watch, why)

    def _has_gone(self, watch: LockWatch) -> bool:
        """Return whether the Node as it is known now has that lock no more."""
        node = self._bus.own_node.value
        lock = lock_of(node.annotations) if node is not None else None
        return lock is None or lock.text != watch.text

    def _tell_released(self, watch: LockWatch, why: str) -> None:
        self._released += 1
        self._publish()
        facts = {"lock": watch.text[:_SHOWN], "pod": str(watch.owner), "why": why}
        log.info("stale node lock released", extra=facts)

    def _publish(self) -> None:
        self._locks.put(LockRepairs(released=self._released, gone_at_ms=self._gone_at_ms))

    def _fail(self, watch: LockWatch, why: str) -> None:
        """Leave it for later, ever more slowly."""
        delay_s = jittered(_BACKOFF.delay_s(self._failures) or 0.0)
        self._failures += 1
        wait_ms = round(delay_s * _MS_PER_S)
        self._watch = lock_repair.looked(watch, now=Millis(self._clock.now()), wait_ms=wait_ms)
        self._hear(why)

    def _hear(self, trouble: str) -> None:
        before, self._trouble = self._trouble, trouble
        if trouble and trouble != before:
            log.warning("owner of the node lock not known", extra={"why": trouble})
        elif before and not trouble:
            log.info("owner of the node lock known again")
