"""``Latest``: what is true. One writer, the newest value, a slow reader never holds it up."""

from collections.abc import AsyncIterator
from typing import Generic, TypeVar, cast

from ascend_agent.errors import WiringError
from ascend_agent.runtime.wakeup import Wakeup

T = TypeVar("T")


class LatestWriter(Generic[T]):
    """The one handle through which a value is replaced."""

    def __init__(self, channel: "Latest[T]") -> None:
        self._channel = channel

    def put(self, value: T) -> bool:
        """Make *value* the truth; return False, waking nobody, where it equals the old one."""
        return self._channel._put(value)  # noqa: SLF001 -- the writer is the channel's other half


class Latest(Generic[T]):
    """The newest value of one fact, with a version that counts its changes.

    ``value`` is None and ``version`` 0 until the writer spoke for the first time; where None is a
    value of the fact, the version tells the two apart. Belongs to one loop: not for threads.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: T | None = None
        self.version = 0
        self.writer: str | None = None
        self._wakeups: dict[Wakeup, None] = {}  # a set that keeps its order: flows wake in turn

    def claim(self, task: str) -> LatestWriter[T]:
        """Return the only writer; raises WiringError where *task* is not the first to ask."""
        if self.writer is not None:
            raise WiringError(f"{task} cannot write {self.name}: {self.writer} already does")
        self.writer = task
        return LatestWriter(self)

    def attach(self, wakeup: Wakeup) -> None:
        """Set *wakeup* at each change from now on."""
        self._wakeups[wakeup] = None

    def detach(self, wakeup: Wakeup) -> None:
        """Stop setting *wakeup*; safe when it was not attached."""
        self._wakeups.pop(wakeup, None)

    async def changes(self) -> AsyncIterator[T]:
        """Yield the value there is, then each newer one; values in between may be skipped."""
        wakeup, seen = Wakeup(), 0
        self.attach(wakeup)
        try:
            while True:
                if self.version == seen:
                    await wakeup.wait()
                else:
                    seen = self.version
                    yield cast("T", self.value)
        finally:
            self.detach(wakeup)

    async def first(self) -> T:
        """Return the value as soon as there is one."""
        wakeup = Wakeup()
        self.attach(wakeup)
        try:
            while not self.version:
                await wakeup.wait()
            return cast("T", self.value)
        finally:
            self.detach(wakeup)

    def _put(self, value: T) -> bool:
        if self.version and value == self.value:
            return False
        self.value = value
        self.version += 1
        for wakeup in self._wakeups:
            wakeup.set()
        return True
