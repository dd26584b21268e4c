"""Entries go by position: two containers may share a device and still get what is theirs."""

import json

import pytest

from ascend_agent.dialects.hami.annotation import BadText, parse_slots
from ascend_agent.dialects.hami.runtime_info import RuntimeEntry, entries_of, parse_runtime_info
from tests.fakes.hami import device, die, info


def test_entries_of_every_writer_are_read() -> None:
    text = info(
        (0, {"temp": "vir05_1c_16g"}), (1, {"memory": 28672, "core": 40}), (2, {}), (3, {"core": 1})
    )

    assert parse_runtime_info(text) == (
        RuntimeEntry(die=die(0), template="vir05_1c_16g"),
        RuntimeEntry(die=die(1), memory_mib=28672, core_percent=40),
        RuntimeEntry(die=die(2)),
        RuntimeEntry(die=die(3), core_percent=1),
    )


def test_an_entry_that_names_no_device_is_none() -> None:
    """HAMi 2.4 writes one for a container without devices."""
    assert parse_runtime_info('[{"temp": ""}, {"UUID": ""}]') == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "{}",
        "[1]",
        '[{"UUID": 1}]',
        '[{"UUID": "u", "temp": 1}]',
        '[{"UUID": "u", "memory": "1"}]',
        '[{"UUID": "u", "core": 1.5}]',
        '[{"UUID": "u", "core": true}]',
        '[{"UUID": "u", "memory": 2147483648}]',
        '[{"UUID": "u", "core": -2147483649}]',
        f'[{{"UUID": "u", "memory": {"9" * 4000}}}]',
        "[" * 100_000,
        f"[{', '.join(['{}'] * 257)}]",
        f'[{{"UUID": "{"u" * 40_000}"}}]',
        '[{"UUID": "u", "temp": "a b"}]',
        '[{"UUID": "u", "temp": "vir02\\n"}]',
        '[{"UUID": "u", "temp": "\\u0000"}]',
        '[{"UUID": "u", "temp": "\\ud800"}]',
        '[{"UUID": "u", "temp": "' + "v" * 65 + '"}]',
    ],
    ids=lambda text: text[:30].encode("unicode_escape").decode() or "empty",
)
def test_what_can_not_be_read_is_said(text: str) -> None:
    """Nor what no container could have in its environment."""
    found = parse_runtime_info(text)

    assert isinstance(found, BadText)
    assert len(found.detail) < 300


def test_the_meaning_of_a_text_is_found_once() -> None:
    """All pods are looked at whenever one of them changes."""
    text = info((5, {"memory": 4711}))

    assert parse_runtime_info(text) is parse_runtime_info("".join(text))


def test_two_containers_on_one_device_have_their_own_entries() -> None:
    """HAMi A3: a map by device gave both what the last one was to get."""
    entries = parse_runtime_info(info((0, {"memory": 4096}), (0, {"memory": 8192})))
    allocated = parse_slots(f"{device(0, 4096)};;{device(0, 8192)};")
    assert isinstance(entries, tuple)
    assert not isinstance(allocated, BadText)

    assert [each and each.memory_mib for each in entries_of(entries, allocated, 0)] == [4096]
    assert [each and each.memory_mib for each in entries_of(entries, allocated, 2)] == [8192]


def test_an_entry_of_another_device_is_none() -> None:
    entries = parse_runtime_info(json.dumps([{"UUID": die(5), "memory": 1}]))
    allocated = parse_slots(f"{device(0, 4096)}{device(1, 4096)};")
    assert isinstance(entries, tuple)
    assert not isinstance(allocated, BadText)

    assert entries_of(entries, allocated, 0) == (None, None)
