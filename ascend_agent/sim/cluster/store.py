"""The objects of a fake API server: versions, history, patches.

The tests' contract suite holds it against the real one.
"""

import copy
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

_HISTORY = 5000  # events that are kept at least

Json = dict[str, Any]
Key = tuple[str, str | None, str]
"""Plural kind, namespace (None for a node), name."""


class RefusedError(Exception):
    """An answer other than 2xx, with what its Status object says."""

    def __init__(self, code: int, reason: str, message: str, **details: object) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            **({"details": details} if details else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change: what kind of it, and the object after it (before it, of a removal)."""

    version: int
    type: str
    key: Key
    item: Json


class ApiStore:
    """Everything there is, and how it came to be so."""

    def __init__(self, *, now: Callable[[], str]) -> None:
        self._now = now
        self.version = 100
        self.compacted = 0
        self.events: list[Event] = []
        self.changed: list[Callable[[], None]] = []
        self._items: dict[Key, Json] = {}

    def get(self, key: Key) -> Json:
        """Return a copy of the object.

        Raises:
            RefusedError: 404, there is none; every other method refuses alike.

        """
        try:
            return copy.deepcopy(self._items[key])
        except KeyError:
            raise RefusedError(404, "NotFound", f'{key[0]} "{key[2]}" not found') from None

    def find(self, kind: str, fits: Callable[[Json], bool]) -> list[Json]:
        """Return what fits, to look at and not to change, ordered by namespace and name."""
        keys = sorted(key for key in self._items if key[0] == kind)
        return [self._items[key] for key in keys if fits(self._items[key])]

    def create(self, key: Key, item: Json) -> Json:
        """Add an object; it gets its name, UID, time and version here."""
        if key in self._items:
            raise RefusedError(409, "AlreadyExists", f'{key[0]} "{key[2]}" already exists')
        if key[0] == "events":
            _check_event(key, item)
        made = copy.deepcopy(item)
        metadata = made.setdefault("metadata", {})
        metadata |= {"name": key[2], "uid": str(uuid4())}
        metadata["creationTimestamp"] = self._now()
        if key[1] is not None:
            metadata["namespace"] = key[1]
        return self._write("ADDED", key, made)

    def delete(self, key: Key) -> Json:
        """Remove an object at once, without any grace."""
        item = self.get(key)
        return self._write("DELETED", key, item)

    def bind(self, key: Key, node: str) -> None:
        """Bind the pod at *key* to *node*, once."""
        pod = self.get(key)
        if bound := pod["spec"].get("nodeName"):
            message = f'pod {key[2]} is already assigned to node "{bound}"'
            raise RefusedError(409, "Conflict", message)
        pod["spec"]["nodeName"] = node
        self._write("MODIFIED", key, pod)

    def change_part(self, key: Key, part: str, patch: Json) -> Json:
        """Apply of a merge patch what is about *part*, ``status`` as a rule."""
        return self.change(key, {part: patch.get(part, {})})

    def change(self, key: Key, patch: Json) -> Json:
        """Apply a merge patch; a UID or version in it is a precondition."""
        item = self.get(key)
        wanted = patch.get("metadata", {})
        if wanted.get("uid", item["metadata"]["uid"]) != item["metadata"]["uid"]:
            raise RefusedError(422, "Invalid", "metadata.uid: Invalid value: field is immutable")
        version = item["metadata"]["resourceVersion"]
        if wanted.get("resourceVersion", version) != version:
            message = f"Operation cannot be fulfilled on {key[0]}: the object has been modified"
            raise RefusedError(409, "Conflict", message)
        return self._update(key, item, _merge(item, patch))

    def change_by_steps(self, key: Key, steps: Iterable[Json]) -> Json:
        """Apply a JSON patch of the operations test, add and remove, all or nothing."""
        item = self.get(key)
        new = copy.deepcopy(item)
        for step in steps:
            _step(new, step)
        return self._update(key, item, new)

    def compact(self) -> None:
        """Forget history: a watch from before now is answered with 410."""
        self.compacted = self.version
        self.events.clear()

    def lose(self, write: Callable[[], object]) -> None:
        """Make a change that no watch is told of."""
        told, self.changed = self.changed, []
        kept = list(self.events)
        write()
        self.events[:] = kept
        self.changed = told

    def _update(self, key: Key, old: Json, new: Json) -> Json:
        for kind in ("labels", "annotations"):
            if not new["metadata"].get(kind, True):
                del new["metadata"][kind]
            for name in new["metadata"].get(kind, {}):
                if " " in name:
                    raise RefusedError(422, "Invalid", f"metadata.{kind}: Invalid value: {name}")
        return old if new == old else self._write("MODIFIED", key, new)

    def _write(self, what: str, key: Key, item: Json) -> Json:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        if what == "DELETED":
            del self._items[key]
        else:
            self._items[key] = copy.deepcopy(item)
        self.events.append(Event(version=self.version, type=what, key=key, item=item))
        if len(self.events) > 2 * _HISTORY:
            self.compacted = self.events[_HISTORY - 1].version
            del self.events[:_HISTORY]
        for tell in list(self.changed):
            tell()
        return copy.deepcopy(item)


def _check_event(key: Key, item: Json) -> None:
    """Refuse what the real server refuses of an Event with an ``eventTime``."""
    if not item["involvedObject"].get("namespace") and key[1] != "default":
        raise RefusedError(422, "Invalid", "involvedObject.namespace: does not match")
    for field, limit in {"message": 1024, "reason": 128, "action": 128}.items():
        if len(item[field].encode()) > limit:
            raise RefusedError(422, "Invalid", f"{field}: can have at most {limit} characters")


def _merge(item: Any, patch: Any) -> Any:
    """Return *item* after the merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _step(item: Json, step: Json) -> None:
    *way, last = (
        part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]
    )
    place: Any = item
    for part in way:
        place = place.get(part) if isinstance(place, dict) else None
    there = isinstance(place, dict) and last in place
    tested = step["op"] == "test" and there and place[last] == step["value"]
    if step["op"] == "remove" and there:
        del place[last]
    elif step["op"] == "add" and isinstance(place, dict):
        place[last] = step["value"]
    elif not tested:
        cause = {"reason": "UnexpectedServerResponse", "message": f"{json.dumps(step)} failed"}
        message = "the server rejected our request due to an error in our request"
        raise RefusedError(422, "Invalid", message, causes=[cause])
