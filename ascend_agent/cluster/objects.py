"""The objects of one collection as last seen, keyed by UID, acknowledged patches laid over them.

A patch's answer is the object after the patch, so it is simply a newer state of it: whatever the
watch still delivers of before is older by its version and changes nothing. An object that is gone
stays gone: a patch's answer that comes after the deletion does not bring it back.
"""

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.texts import shown
from ascend_agent.model.ids import ObjectVersion
from ascend_agent.model.versions import is_newer

log = logging.getLogger(__name__)

_REMEMBERED: Final = 256


class ApiObject(Protocol):
    """What every object has."""

    @property
    def uid(self) -> str:
        """Return what tells it from a later one of its name."""

    @property
    def version(self) -> ObjectVersion:
        """Return which of its states this is."""


T = TypeVar("T", bound=ApiObject)


@dataclass(slots=True, kw_only=True)
class _Entry(Generic[T]):
    item: T
    acknowledged: bool  # by a patch's answer; the watch has not come that far


class Objects(Generic[T]):
    """The sink of one collection, and what others ask about it.

    *publish* gets the objects and whether they are kept current; *seen* each state that the API
    server showed, *gone* the UID of each object that is no more.
    """

    def __init__(
        self,
        *,
        parse: Callable[[object], T],
        name_of: Callable[[T], Hashable],
        publish: Callable[[Iterable[T], bool], None],
        seen: Callable[[T], None],
        gone: Callable[[str], None],
        tally: Tally,
    ) -> None:
        self._parse = parse
        self._name_of = name_of
        self._publish = publish
        self._seen = seen
        self._gone = gone
        self._tally = tally
        self._entries: dict[str, _Entry[T]] = {}
        self._uids: dict[Hashable, str] = {}
        self._dead: dict[str, None] = {}
        self._told: dict[str, None] = {}
        self._known = False
        self._changed = False
        self.live = False

    def find(self, name: Hashable) -> T | None:
        """Return the object of that name, None where none is known."""
        uid = self._uids.get(name)
        return None if uid is None else self._entries[uid].item

    # --- what the collection shows -----------------------------------------------------------

    def replace(self, items: Sequence[object], version: ObjectVersion) -> None:
        """Take *items* for all there is as of *version*; what is newer than that stays."""
        listed = [item for item in map(self._read, items) if item is not None]
        there = {item.uid for item in listed}
        for uid, entry in list(self._entries.items()):
            newer = is_newer(entry.item.version, version)
            if uid not in there and not newer:
                self._forget(uid)
            elif not newer:
                entry.acknowledged = False
        for item in listed:
            self._take(item)
        self._known = self._changed = True

    def show(self, item: object) -> None:
        """Take a state of one object, unless a newer one is known."""
        read = self._read(item)
        if read is not None:
            self._take(read)

    def remove(self, item: object) -> None:
        """Take one object for gone."""
        read = self._read(item)
        if read is not None:
            self._forget(read.uid)

    def set_live(self, *, live: bool) -> None:
        """Say whether what was shown is kept current."""
        self._changed = self._changed or live != self.live
        self.live = live

    def publish(self) -> None:
        """Publish what is known, if it changed since the last time."""
        if self._known and self._changed:
            self._changed = False
            self._publish([entry.item for entry in self._entries.values()], self.live)

    # --- what a patch's answer shows ---------------------------------------------------------

    def acknowledge(self, item: object) -> T | None:
        """Lay the answer of a patch over what is known, publish it, and return it read.

        None where it can't be read.
        """
        read = self._read(item)
        if read is None:
            return None
        entry = self._entries.get(read.uid)
        if entry is None:
            if read.uid not in self._dead:
                self._put(read, acknowledged=True)
        elif is_newer(entry.item.version, read.version) is not True:
            self._put(read, acknowledged=entry.item.version != read.version)
        self.publish()
        return read

    # --- what a live read shows --------------------------------------------------------------

    def learn(self, item: T) -> None:
        """Take a state that was read live, unless a newer one is known, and publish it."""
        entry = self._entries.get(item.uid)
        if entry is None or entry.item.version != item.version:
            self._take(item)
        self.publish()

    def relist(self, items: Sequence[object], version: ObjectVersion) -> list[T]:
        """Take a list that was read live as ``replace`` does, publish and return what is known.

        It is published only where it says something new: whoever waits for news must not be woken
        by having asked.
        """
        versions, told = self._versions(), self._known and not self._changed
        self.replace(items, version)
        self._changed = not told or versions != self._versions()
        self.publish()
        return [entry.item for entry in self._entries.values()]

    def miss(self, uid: str) -> None:
        """Take one object for gone, as a live read found, and publish that."""
        if uid in self._entries:
            self._forget(uid)
        self.publish()

    # --- within ------------------------------------------------------------------------------

    def _versions(self) -> dict[str, ObjectVersion]:
        return {uid: entry.item.version for uid, entry in self._entries.items()}

    def _read(self, item: object) -> T | None:
        try:
            return self._parse(item)
        except MalformedError as error:
            self._tally.skipped_objects += 1
            why = shown(str(error))
            if why not in self._told:
                _remember(self._told, why)
                log.warning("malformed object skipped", extra={"why": why})
            return None

    def _take(self, item: T) -> None:
        self._seen(item)
        uid, entry = item.uid, self._entries.get(item.uid)
        if uid in self._dead:
            return
        if entry is not None:
            older = is_newer(entry.item.version, item.version)
            if older or (older is None and entry.acknowledged):
                return
        namesake = self.find(self._name_of(item))
        if namesake is not None and namesake.uid != uid:
            if is_newer(namesake.version, item.version):
                return  # a late word of an object whose name another one has by now
            self._forget(namesake.uid)
        self._put(item, acknowledged=False)

    def _put(self, item: T, *, acknowledged: bool) -> None:
        before = self._entries.get(item.uid)
        if before is not None and before.item == item:
            item = before.item  # readers tell by identity what is new, and a list shows all anew
        self._entries[item.uid] = _Entry(item=item, acknowledged=acknowledged)
        self._uids[self._name_of(item)] = item.uid
        self._changed = True

    def _forget(self, uid: str) -> None:
        entry = self._entries.pop(uid, None)
        if entry is not None:
            name = self._name_of(entry.item)
            if self._uids.get(name) == uid:
                del self._uids[name]
            self._changed = True
        _remember(self._dead, uid)
        self._gone(uid)


def _remember(table: dict[str, None], key: str) -> None:
    """Add *key* to a set that keeps its order, and drop the oldest of too many."""
    table[key] = None
    if len(table) > _REMEMBERED:
        del table[next(iter(table))]
