import json
import logging
import sys
import time
from collections.abc import Mapping
from enum import Enum, IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

import pytest

from ascend_agent.telemetry.formats import ConsoleFormatter, JsonFormatter, plain

AT = 1_700_000_000.0425


class Phase(Enum):
    READY = "ready"


class Level(IntEnum):
    MAJOR = 2


def record(msg: str = "task restarts", **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord(
        {
            "name": "ascend_agent.runtime.supervisor",
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": msg,
            "created": AT,
            "msecs": 42.5,
        }
    )
    vars(made).update(extra)
    return made


def fail(text: str) -> NoReturn:
    raise ValueError(text)


def failed(text: str) -> logging.LogRecord:
    try:
        fail(text)
    except ValueError:
        return record(exc_info=sys.exc_info())


def as_json(made: logging.LogRecord) -> Mapping[str, object]:
    line = JsonFormatter().format(made)
    assert "\n" not in line
    parsed: Mapping[str, object] = json.loads(line)
    return parsed


def test_a_json_line_has_its_fixed_keys_first_and_the_facts_sorted() -> None:
    line = JsonFormatter().format(record(why="gone", npu=3, in_s=0.2))

    assert line == (
        '{"ts":"2023-11-14T22:13:20.042Z","level":"warning",'
        '"logger":"ascend_agent.runtime.supervisor","msg":"task restarts",'
        '"in_s":0.2,"npu":3,"why":"gone"}'
    )


def test_arguments_of_libraries_are_merged_into_their_message() -> None:
    assert as_json(record("lost %s of %d", args=("two", 3)))["msg"] == "lost two of 3"


def test_a_fact_never_overwrites_a_fixed_key() -> None:
    """``level`` is also the level of a fault."""
    line = as_json(record(level="SeparateNPU", ts=1))

    assert (line["level"], line["fact_level"], line["fact_ts"]) == ("warning", "SeparateNPU", 1)


def test_a_traceback_is_one_value() -> None:
    trace = as_json(failed("broken"))["exc"]

    assert isinstance(trace, str)
    assert trace.startswith("Traceback")
    assert trace.endswith("ValueError: broken")


def test_of_a_long_traceback_the_end_is_kept() -> None:
    trace = as_json(failed("x" * 20_000 + " the reason"))["exc"]

    assert isinstance(trace, str)
    assert trace.endswith("the reason")
    assert len(trace) == 8192


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (None, None),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (Phase.READY, "ready"),
        (Level.MAJOR, 2),
        (Path("/run/x"), "/run/x"),
        ((1, "a"), [1, "a"]),
        (frozenset({3, 1, 2}), [1, 2, 3]),
        (MappingProxyType({3: Phase.READY}), {"3": "ready"}),
        (b"\x00", "b'\\x00'"),
        (ValueError("odd"), "odd"),
        ([[[[["deep"]]]]], [[[["['deep']"]]]]),
        ("x" * 5000, "x" * 4096 + "..."),
    ],
)
def test_a_value_becomes_one_of_jsons_own(value: object, expected: object) -> None:
    """NaN is no JSON; sets have no order of their own; nothing may grow without bound."""
    assert plain(value) == expected
    assert as_json(record(fact=value))["fact"] == expected


def test_a_console_line_is_made_for_eyes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        line = ConsoleFormatter().format(
            record(npu=3, why="socket is gone", path="/run/x", on=True)
        )
    finally:
        monkeypatch.undo()
        time.tzset()

    assert line == (
        "06:13:20.042 WARNING  runtime.supervisor  task restarts  "
        'npu=3 on=true path=/run/x why="socket is gone"'
    )


def test_a_console_line_without_facts_ends_with_its_phrase() -> None:
    assert ConsoleFormatter().format(record()).endswith("runtime.supervisor  task restarts")


def test_a_console_shows_a_traceback_below() -> None:
    lines = ConsoleFormatter().format(failed("broken")).splitlines()

    assert lines[0].endswith("task restarts")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: broken"


@pytest.mark.parametrize("evil", ["a\nfake line", "a\x1b[2J", "a\r", "a\u2028b", 'a"b', "a=b", ""])
def test_no_value_can_forge_a_line_or_speak_to_the_terminal(evil: str) -> None:
    """Pod names, annotations and the driver's texts end up in logs."""
    console = ConsoleFormatter().format(record(f"msg {evil}", pod=evil))

    assert console.isprintable()
    assert 'pod="' in console
    assert as_json(record(pod=evil))["pod"] == evil


def test_a_traceback_can_not_speak_to_the_terminal_either() -> None:
    assert "\x1b" not in ConsoleFormatter().format(failed("a\x1b[2J"))
