"""The scheduler's side of the handshake: what it makes of a node's word, and what it writes.

It looks every 15 s. Silence after a question means that the plugin is gone; how that is judged,
and what is done, changed with versions.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ascend_agent.sim.hami.versions import Handshake

TICK_S: Final = 15.0
PATIENCE: Final = timedelta(seconds=60)
_ASKED: Final = "Requesting"
_DELETED: Final = "Deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """``alive`` False: the node's devices go. ``reads``: its device list is taken over.

    ``writes`` is the new value, None where it is removed; ``changes`` False: nothing is written.
    """

    alive: bool = True
    reads: bool = False
    changes: bool = False
    writes: str | None = None


def judge(value: str | None, style: Handshake, *, allocatable: int, now: datetime) -> Judgement:
    """Return what follows from the handshake *value* of a node; None: it has none.

    *allocatable* is what the kubelet offers of the resource.
    """
    word, _, written = (value or "").partition("_")
    age = _age(written, style, now)
    asks = Judgement(reads=True, changes=True, writes=_stamp(_ASKED, style, now))
    match style, word:
        case Handshake.NONE, _:
            return Judgement(reads=True)
        case ((Handshake.DOTS | Handshake.DASHES), "Requesting"):
            # What can't be read as a time is taken for a very old one.
            silent = age is None or age >= PATIENCE
        case ((Handshake.DOTS | Handshake.DASHES), "Deleted"):
            silent = False
        case ((Handshake.ALLOCATABLE | Handshake.REMOVED), "Requesting"):
            silent = age is not None and age >= PATIENCE and not allocatable
        case Handshake.ALLOCATABLE, "Deleted":
            return asks if age is not None and age >= PATIENCE else Judgement()
        case _:
            return asks
    return _dead(style, now) if silent else Judgement()


def _dead(style: Handshake, now: datetime) -> Judgement:
    writes = None if style is Handshake.REMOVED else _stamp(_DELETED, style, now)
    return Judgement(alive=False, changes=True, writes=writes)


def _layout(style: Handshake) -> str:
    return "%Y.%m.%d %H:%M:%S" if style is Handshake.DOTS else "%Y-%m-%d %H:%M:%S"


def _stamp(word: str, style: Handshake, now: datetime) -> str:
    return f"{word}_{now.strftime(_layout(style))}"


def _age(text: str, style: Handshake, now: datetime) -> timedelta | None:
    """Return how long ago a time was, None where it can't be read."""
    try:
        return now - datetime.strptime(text, _layout(style)).replace(tzinfo=UTC)
    except ValueError:
        return None
