"""``Topic``: what happened. Ordered, bounded; who falls behind is told and re-reads the truth."""

from collections import deque
from typing import Generic, TypeVar

from ascend_agent.errors import LaggedError, WiringError
from ascend_agent.runtime.wakeup import Wakeup

T = TypeVar("T")
_DEPTH = 4096


class Publisher(Generic[T]):
    """The one handle through which events are published."""

    def __init__(self, topic: "Topic[T]") -> None:
        self._topic = topic

    @property
    def next_sequence(self) -> int:
        """Return the number that the next event will have on this topic, from 1 on."""
        return self._topic.published + 1

    def publish(self, event: T) -> None:
        """Hand *event* to every reader; never waits."""
        self._topic.published += 1
        for reader in self._topic.readers:
            reader.offer(event)


class TopicReader(Generic[T]):
    """One reader's place in a topic."""

    def __init__(self, *, topic: "Topic[T]", wakeup: Wakeup) -> None:
        self._topic = topic
        self._wakeup = wakeup
        self._events: deque[T] = deque()
        self._missed = 0

    def offer(self, event: T) -> None:
        """Queue *event*; beyond the topic's depth everything queued is dropped and counted."""
        if self._missed:
            self._missed += 1
        elif len(self._events) == self._topic.depth:
            self._missed = len(self._events) + 1
            self._events.clear()
        else:
            self._events.append(event)
        self._wakeup.set()

    def drain(self) -> list[T]:
        """Return what came since the last call, oldest first.

        Raises:
            LaggedError: events were lost; the reader must read the whole truth again. The next
                call starts afresh.

        """
        if self._missed:
            missed, self._missed = self._missed, 0
            raise LaggedError(self._topic.name, missed)
        events = list(self._events)
        self._events.clear()
        return events

    async def next(self) -> list[T]:
        """Wait for events and return them; raises LaggedError as ``drain`` does."""
        while True:
            if events := self.drain():
                return events
            await self._wakeup.wait()

    def close(self) -> None:
        """Leave the topic; safe to repeat. What is queued can still be drained."""
        if self in self._topic.readers:
            self._topic.readers.remove(self)


class Topic(Generic[T]):
    """One writer, many readers; each reader sees every event in publish order.

    ``published`` counts all events so far, so that a reading can say after which event it was
    asked for, whether or not its reader has drained that event yet.
    """

    def __init__(self, name: str, *, depth: int = _DEPTH) -> None:
        self.name = name
        self.depth = depth
        self.writer: str | None = None
        self.published = 0
        self.readers: list[TopicReader[T]] = []

    def claim(self, task: str) -> Publisher[T]:
        """Return the only publisher; raises WiringError where *task* is not the first to ask."""
        if self.writer is not None:
            raise WiringError(f"{task} cannot publish {self.name}: {self.writer} already does")
        self.writer = task
        return Publisher(self)

    def subscribe(self, wakeup: Wakeup | None = None) -> TopicReader[T]:
        """Return a reader of all events from now on; each sets *wakeup*."""
        reader = TopicReader(topic=self, wakeup=wakeup or Wakeup())
        self.readers.append(reader)
        return reader
