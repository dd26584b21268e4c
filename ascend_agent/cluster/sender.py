"""Sends one patch until it is answered: its turn, its retries, what its answer tells the cache.

Decided here: which failures a retry can help, and how long it waits. Whether the object already
looks that way is asked again before each attempt, since the watch may have shown it meanwhile.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pace import Pace
from ascend_agent.cluster.patches import difference, maps_of
from ascend_agent.cluster.retry import PATIENCE, delay_s
from ascend_agent.cluster.server import Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.written import Place, Values, Written
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ConflictError,
    ForbiddenError,
    ThrottledError,
)
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.pods import Pod, PodKey
from ascend_agent.runtime.backoff import Backoff

T = TypeVar("T", NodeObject, Pod)

_BACKOFF: Final = Backoff(delays_s=(0.1, 0.3, 1.0, 2.0, 5.0, 10.0), endless=True)
_WITHIN_S: Final = 10.0


class Sender(Generic[T]):
    """Patches objects of one collection."""

    def __init__(
        self, *, door: Door, pace: Pace, objects: Objects[T], written: Written, tally: Tally
    ) -> None:
        self._door = door
        self._pace = pace
        self._objects: Objects[T] = objects
        self._written = written
        self._tally = tally

    async def send(
        self,
        *,
        known: Callable[[], T | None],
        values: Callable[[], Values],
        request: Callable[[Values], Request],
        retries: tuple[type[ClusterError], ...] = (ClusterUnreachableError, ThrottledError),
    ) -> None:
        """Have the object hold *values*, or return where *known* shows that it does already.

        Raises:
            ClusterError: one that is none of *retries*; ForbiddenError if it stays.

        """
        failures = refusals = 0
        while not self.holds(known(), values()):
            server = await self._door.server()
            await self._pace.turn()
            wanted, item = values(), known()
            missing = self._missing(item, wanted)
            if not missing:
                continue  # the watch has shown it while we waited
            if item is not None:
                # The answer may show otherwise of what is right already.
                self.adopt(item, wanted)
                self._written.begin(item.uid, missing, pod=_key(item))
            self._tally.patches += 1
            try:
                answer = await server.ask(request(missing), within_s=_WITHIN_S)
            except ClusterError as error:
                refusals += isinstance(error, ForbiddenError)
                if not isinstance(error, (*retries, ForbiddenError)) or refusals > PATIENCE:
                    raise
                await asyncio.sleep(delay_s(error, failures=failures, backoff=_BACKOFF))
                failures += 1
            else:
                self.remember(self._objects.acknowledge(answer), missing)
                newest = known()
                if newest is not None:
                    self._written.see(newest.uid, newest.version, maps_of(newest))
                return

    def holds(self, item: T | None, values: Values) -> bool:
        """Return whether the object holds *values* already; they count as ours from then on."""
        if self._missing(item, values):
            return False
        self.remember(item, values)
        return True

    def share(self, places: Iterable[Place]) -> None:
        """Take *places* for those in which others write in turn with us."""
        self._written.share(places)

    def adopt(self, item: T | None, values: Values) -> None:
        """Take those of *values* that the object holds already for ours from this state on.

        Who changes one of them from now on is a stranger, though we never sent it.
        """
        missing = self._missing(item, values)
        held = {place: value for place, value in values.items() if place not in missing}
        if item is not None:
            self._written.adopt(item.uid, held, pod=_key(item), version=item.version)

    def _missing(self, item: T | None, values: Values) -> Values:
        # What a broken watch showed last is no reason to believe that nothing is to be done.
        return difference(values, item if self._objects.live else None)

    def remember(self, item: T | None, values: Values) -> None:
        """Take *values* for ours from this state of the object on."""
        if item is not None:  # else the answer was no object; the watch will show what came of it
            self._written.acknowledge(item.uid, values, pod=_key(item), version=item.version)


def _key(item: NodeObject | Pod) -> PodKey | None:
    return item.key if isinstance(item, Pod) else None


AGAIN_ON_CONFLICT: Final = (ClusterUnreachableError, ThrottledError, ConflictError)
"""For edits that were not decided on the object's state: compare again, send again (AP-7)."""
