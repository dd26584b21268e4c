"""Reads foreign JSON: a field that is missing has a default, what is no object is refused."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ascend_agent.model.ids import Millis, ObjectVersion

_LONGEST_KEY: Final = 317  # a prefix of 253, a slash and a name of 63
_LONGEST_VALUE: Final = 256 * 1024  # all annotations of one object together


class MalformedError(ValueError):
    """A text that is no object as the API describes it; it is reported and skipped."""


def parse_json(text: bytes | str) -> object:
    """Return what *text* says; raises ValueError where it is no JSON, or nested absurdly deep."""
    try:
        found: object = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deep to be read") from None
    return found


def as_object(value: object, *, what: str) -> Mapping[str, Any]:
    """Return *value* as a JSON object; raises MalformedError where it is another kind of JSON."""
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is no JSON object")
    return value


def child(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object under *key*, an empty one where there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def children(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list under *key*."""
    found = value.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def required(value: Mapping[str, Any], key: str, *, what: str) -> str:
    """Return the text under *key*; raises MalformedError where there is none."""
    found = value.get(key)
    if not isinstance(found, str) or not found:
        raise MalformedError(f"{what} has no {key}")
    return found


def texts(value: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return a map of texts, such as labels; what is longer than the API allows is left out."""
    return {
        name: text
        for name, text in child(value, key).items()
        if isinstance(text, str) and len(name) <= _LONGEST_KEY and len(text) <= _LONGEST_VALUE
    }


def version_of(metadata: Mapping[str, Any], *, what: str) -> ObjectVersion:
    """Return ``resourceVersion``; raises MalformedError where there is none."""
    return ObjectVersion(required(metadata, "resourceVersion", what=what))


def created_at(metadata: Mapping[str, Any]) -> Millis:
    """Return ``creationTimestamp`` (RFC 3339, UTC) in milliseconds; 0 where it can't be read."""
    text = metadata.get("creationTimestamp")
    if not isinstance(text, str):
        return Millis(0)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return Millis(0)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Millis(round(moment.timestamp() * 1000))
