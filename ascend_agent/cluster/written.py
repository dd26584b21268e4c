"""What we wrote last, and whether somebody else has changed it since.

Only what the API server acknowledged counts. While a write is under way both its old and its new
value are ours, so that our own edit coming back through the watch is never taken for a stranger's,
in whichever order answer and event arrive.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ascend_agent.model.cluster import ForeignEdit, MetadataField
from ascend_agent.model.ids import Millis, ObjectVersion
from ascend_agent.model.pods import PodKey
from ascend_agent.model.versions import is_newer

Place = tuple[MetadataField, str]
"""A key of one of an object's two maps."""

Values = Mapping[Place, str | None]
"""What is to stand there; None: nothing."""

_MOST_OBJECTS: Final = 1024
_MOST_KEYS: Final = 256
_MOST_SHARED: Final = 64


@dataclass(slots=True, kw_only=True)
class _Record:
    wrote: str | None
    version: ObjectVersion | None = None  # of the object once it held that; None: not acknowledged
    coming: list[str | None] = field(default_factory=list)
    told: tuple[str | None] | None = None


@dataclass(slots=True, kw_only=True)
class _Object:
    pod: PodKey | None
    records: dict[Place, _Record] = field(default_factory=dict)


class Written:
    """The memory of our writes, by the UID of the object; bounded, the oldest goes first."""

    def __init__(
        self, *, publish: Callable[[ForeignEdit], None], now: Callable[[], Millis]
    ) -> None:
        self._publish = publish
        self._now = now
        self._objects: dict[str, _Object] = {}
        self._shared: dict[Place, None] = {}  # a set that keeps its order

    def share(self, places: Iterable[Place]) -> None:
        """Say that others write there in turn with us: what is seen there is no news.

        To be said before the first write there.
        """
        self._shared |= dict.fromkeys(places)
        _bound(self._shared, _MOST_SHARED)

    def begin(self, uid: str, values: Values, *, pod: PodKey | None) -> None:
        """Say that *values* are about to be written; whatever comes of it, they are ours."""
        known = self._objects.setdefault(uid, _Object(pod=pod))
        for place, value in self._ours(values).items():
            record = known.records.setdefault(place, _Record(wrote=value))
            record.coming = [*record.coming[-1:], value]
        _bound(self._objects, _MOST_OBJECTS)
        _bound(known.records, _MOST_KEYS)

    def acknowledge(
        self, uid: str, values: Values, *, pod: PodKey | None, version: ObjectVersion
    ) -> None:
        """Say that the API server has *values*, and in which version of the object."""
        self.begin(uid, values, pod=pod)
        for place, value in self._ours(values).items():
            self._objects[uid].records[place] = _Record(wrote=value, version=version)

    def adopt(
        self, uid: str, values: Values, *, pod: PodKey | None, version: ObjectVersion
    ) -> None:
        """Take *values*, which the object has in that version, for ours, but for what is coming."""
        known = self._objects.get(uid)
        coming = (
            {place for place, record in known.records.items() if record.coming} if known else ()
        )
        settled = {place: value for place, value in values.items() if place not in coming}
        if settled:
            self.acknowledge(uid, settled, pod=pod, version=version)

    def see(
        self, uid: str, version: ObjectVersion, shown: Mapping[MetadataField, Mapping[str, str]]
    ) -> None:
        """Compare a state of the object with what we wrote, and publish what strangers did."""
        known = self._objects.get(uid)
        if known is None:
            return
        for (kind, key), record in known.records.items():
            if record.version is None or is_newer(version, record.version) is not True:
                continue  # older than our write, or it cannot be told
            found = shown[kind].get(key)
            if found == record.wrote or found in record.coming:
                record.told = None
            elif record.told != (found,):
                record.told = (found,)
                self._publish(
                    ForeignEdit(
                        pod=known.pod,
                        field=kind,
                        key=key,
                        wrote=record.wrote,
                        found=found,
                        at_ms=self._now(),
                    )
                )

    def release(self, uid: str, place: Place) -> None:
        """Let go of one key: whoever sets it from now on does nothing that concerns us."""
        if uid in self._objects:
            self._objects[uid].records.pop(place, None)

    def forget(self, uid: str) -> None:
        """Let go of an object that is no more."""
        self._objects.pop(uid, None)

    def _ours(self, values: Values) -> Values:
        return {place: value for place, value in values.items() if place not in self._shared}


def _bound(table: dict[str, _Object] | dict[Place, _Record] | dict[Place, None], most: int) -> None:
    """Drop the oldest entries of too many."""
    while len(table) > most:
        del table[next(iter(table))]  # type: ignore[arg-type]  # a key of this very table
