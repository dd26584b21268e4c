"""The two forms of a log line: JSON for machines, columns for people.

The event is a constant phrase, the facts are keys. Both come from elsewhere, in part from outside
(pod names, the kubelet's and the driver's texts), so a value can neither end its line nor grow
without bound.
"""

import datetime as dt
import json
import logging
import math
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum

_OWN = {"ts", "level", "logger", "msg", "exc"}
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
_TEXT_CHARS = 4096
_TRACE_CHARS = 8192
_DEPTH = 4


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``ts`` (UTC), ``level``, ``logger``, ``msg``, facts by key, ``exc``.

    A fact whose key is one of these is called ``fact_<key>``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as one line."""
        at = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "ts": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _cut(record.getMessage()),
        }
        for key, value in facts(record).items():
            line[f"fact_{key}" if key in _OWN else key] = plain(value)
        if trace := self._trace(record):
            line["exc"] = trace
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"))

    def _trace(self, record: logging.LogRecord) -> str:
        """Return the traceback, its end if it is long: that is where the reason stands."""
        if not record.exc_info:
            return ""
        return self.formatException(record.exc_info)[-_TRACE_CHARS:]


class ConsoleFormatter(logging.Formatter):
    """``12:00:00.123 WARNING  kubelet.endpoint  phrase  key=value``, in local time.

    A traceback follows on lines of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as one line, and its traceback as lines of their own."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        name = record.name.removeprefix("ascend_agent.")
        parts = [
            f"{at}.{int(record.msecs):03} {record.levelname:<8} {name}",
            _one_line(record.getMessage()),
        ]
        pairs = " ".join(f"{key}={_shown(value)}" for key, value in facts(record).items())
        if pairs:
            parts.append(pairs)
        text = "  ".join(parts)
        if record.exc_info:
            trace = self.formatException(record.exc_info)[-_TRACE_CHARS:]
            text = "\n".join((text, *map(_one_line, trace.splitlines())))
        return text


def facts(record: logging.LogRecord) -> dict[str, object]:
    """Return what was given as ``extra``, by key."""
    extra = vars(record).keys() - _STANDARD
    return {key: vars(record)[key] for key in sorted(extra)}


def plain(value: object, depth: int = _DEPTH) -> object:
    """Return *value* in JSON's own types; what has none of them becomes its text."""
    match value:
        case Enum():
            return plain(value.value, depth)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping() if depth:
            return {_cut(str(key)): plain(each, depth - 1) for key, each in value.items()}
        case list() | tuple() | AbstractSet() if depth:
            items = [plain(each, depth - 1) for each in value]
            return sorted(items, key=str) if isinstance(value, AbstractSet) else items
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}..."


def _shown(value: object) -> str:
    text = plain(value)
    if isinstance(text, str) and text and text.isprintable() and not set(text) & set(" \"'="):
        return text
    return _one_line(json.dumps(text, ensure_ascii=False))


def _one_line(text: str) -> str:
    """Return *text* without anything that could end the line or speak to the terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in _cut(text))
