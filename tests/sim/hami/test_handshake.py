"""The table of handshakes, row by row."""

from datetime import UTC, datetime

import pytest

from ascend_agent.sim.hami.handshake import Judgement, judge
from ascend_agent.sim.hami.versions import Handshake

NOW = datetime(2026, 1, 1, 0, 2, 0, tzinfo=UTC)
NOTHING = Judgement()
D, A, R = Handshake.DASHES, Handshake.ALLOCATABLE, Handshake.REMOVED
REPORTED = "Reported_2026.01.01 00:00:01"
FRESH = "2026-01-01 00:01:01"
OLD = "2026-01-01 00:01:00"


def asks(text: str = "Requesting_2026-01-01 00:02:00") -> Judgement:
    return Judgement(reads=True, changes=True, writes=text)


def dead(text: str | None = "Deleted_2026-01-01 00:02:00") -> Judgement:
    return Judgement(alive=False, changes=True, writes=text)


@pytest.mark.parametrize(
    ("style", "value", "offered", "judgement"),
    [
        (Handshake.DOTS, REPORTED, 0, asks("Requesting_2026.01.01 00:02:00")),
        (Handshake.DOTS, "Requesting_2026.01.01 00:01:01", 0, NOTHING),
        (
            Handshake.DOTS,
            "Requesting_2026.01.01 00:01:00",
            4,
            dead("Deleted_2026.01.01 00:02:00"),
        ),
        (Handshake.DOTS, f"Requesting_{FRESH}", 4, dead("Deleted_2026.01.01 00:02:00")),
        (D, None, 0, asks()),
        (D, REPORTED, 0, asks()),
        (D, f"Requesting_{FRESH}", 0, NOTHING),
        (D, f"Requesting_{OLD}", 4, dead()),
        (D, f"Deleted_{OLD}", 4, NOTHING),
        (A, REPORTED, 0, asks()),
        (A, f"Requesting_{OLD}", 4, NOTHING),
        (A, f"Requesting_{OLD}", 0, dead()),
        (A, "Requesting_nonsense", 0, NOTHING),
        (A, f"Deleted_{OLD}", 0, asks()),
        (A, f"Deleted_{FRESH}", 0, NOTHING),
        (A, "Deleted", 0, NOTHING),
        (R, None, 0, asks()),
        (R, f"Deleted_{FRESH}", 0, asks()),
        (R, f"Requesting_{FRESH}", 0, NOTHING),
        (R, "Requesting", 0, NOTHING),
        (R, f"Requesting_{OLD}", 4, NOTHING),
        (R, f"Requesting_{OLD}", 0, dead(None)),
        (Handshake.NONE, f"Requesting_{OLD}", 0, Judgement(reads=True)),
    ],
)
def test_what_follows_from_a_word(
    style: Handshake, value: str | None, offered: int, judgement: Judgement
) -> None:
    assert judge(value, style, allocatable=offered, now=NOW) == judgement
