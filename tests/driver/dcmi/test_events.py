"""Events: what their bytes say, and what the vendor's thread hands over."""

import ctypes

import pytest

from ascend_agent.driver.dcmi import events

BODY = bytes.fromhex("004EE2800300400000000201110000002A000000000000000068E5CF8B010000")


def event(
    body: bytes = BODY, *, name: bytes = b"heartbeat lost", kind: int = 0, patch: int = -1
) -> bytes:
    """Return a whole event; *patch* sets the body's severity and assertion bytes."""
    raw = bytearray(kind.to_bytes(4, "little") + bytes(4) + body + name)
    if patch >= 0:
        raw[8 + 10] = raw[8 + 11] = patch
    return bytes(raw.ljust(events.EVENT_BYTES, b"\0"))


def delivered(raw: bytes | None) -> list[tuple[int, bytes]]:
    """Return what a handler passes on when the library calls it with *raw*."""
    seen: list[tuple[int, bytes]] = []
    handler = events.make_handler(lambda seen_ns, copy: seen.append((seen_ns, copy)))
    buffer = ctypes.create_string_buffer(raw, len(raw)) if raw is not None else None
    assert callable(handler)
    handler(ctypes.addressof(buffer) if buffer is not None else None)
    if buffer is not None:
        ctypes.memset(buffer, 0xFF, len(buffer))
    return seen


def test_the_documented_event_reads_as_documented() -> None:
    """The 32 bytes are the vendor's own example: code 80E24E00 raised on logic id 3."""
    assert events.decode(event()) == {
        "logic": 3,
        "code": 0x80E24E00,
        "assertion": 1,
        "severity": 2,
        "raised": 1_700_000_000_000,
        "name": "heartbeat lost",
    }


def test_small_numbers_are_unsigned() -> None:
    """Peers read 128 to 255 as negative (DCMI defect 9)."""
    body = events.decode(event(patch=200))

    assert (body["severity"], body["assertion"]) == (200, 200)


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [(1_700_000_000, 1_700_000_000_000), (1_700_000_000_123, 1_700_000_000_123), (0, 0)],
)
def test_a_time_in_seconds_is_told_by_its_size(given: int, milliseconds: int) -> None:
    """Headers disagree about the unit; no fault of ours happened before 1973."""
    body = BODY[:24] + given.to_bytes(8, "little")

    assert events.decode(event(body))["raised"] == milliseconds


def test_a_name_ends_at_its_first_zero_or_at_its_end() -> None:
    assert events.decode(event(name=b"a\0garbage"))["name"] == "a"
    assert events.decode(event(name=b"x" * 256 + b"\xff" * 32))["name"] == "x" * 256
    assert events.decode(event(name=b"caf\xe9"))["name"] == "caf\N{REPLACEMENT CHARACTER}"


def test_the_handler_copies_before_it_returns() -> None:
    """The library reuses the memory; what we keep must not change with it."""
    ((seen_ns, copy),) = delivered(event())

    assert copy == event()
    assert seen_ns > 0


@pytest.mark.parametrize(
    "raw", [event(kind=1), event(bytes(4) + BODY[4:]), None], ids=["type 1", "code 0", "no event"]
)
def test_what_is_no_fault_is_not_handed_over(raw: bytes | None) -> None:
    assert delivered(raw) == []


def test_a_handler_lives_as_long_as_the_process() -> None:
    """There is no unsubscribe: the library calls it until the process ends."""
    handler = events.make_handler(lambda _seen_ns, _raw: None)

    assert any(kept is handler for kept in events._handed_over)
