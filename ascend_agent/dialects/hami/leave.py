"""Taking a word back from HAMi's scheduler, in steps that every version of it understands.

Removing the annotations alone removes no devices: the scheduler drops them only where it finds a
question of its own that nobody answered for too long, and nothing allocatable of the resource. So
such a question is put there, and the annotations go once the scheduler has drawn its conclusion.
Until then nobody may answer; that the resource is not served any more is the caller's business.
Pure, as ``handshake``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.handshake import Question, question_of
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import Millis

EXPIRED: Final = "Requesting_2000-01-01 00:00:00"
"""Too old for each version that can read it; HAMi 2.4 can't, which means the same to it."""
PATIENCE_MS: Final = 90_000
"""No version looks less often than that; a scheduler that is none of them never answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """How far it is with one word; ``asked_at`` None: not begun.

    ``unsure``: nobody said whether it was written, and what the Node shows may be older.
    """

    word: str
    asked_at: Millis | None = None
    unsure: bool = False

    def step(self, node: NodeObject, *, now: Millis, last: bool) -> "Step":
        """Return what is to be written now; *last*: no other word stays registered."""
        there = node.annotations.keys() & {keys.register(self.word), keys.handshake(self.word)}
        if node.live and not there and not (self.unsure and self.asked_at is None):
            return Step(over=True)
        if self.asked_at is None:
            return Step(annotations={keys.handshake(self.word): EXPIRED})
        answer = node.annotations.get(keys.handshake(self.word))
        gone = node.live and (answer is None or question_of(answer) is Question.DELETED)
        until = Millis(self.asked_at + PATIENCE_MS)
        if not gone and now < until:
            return Step(wake_at=until)
        removed: dict[str, str | None] = {
            keys.register(self.word): None,
            keys.handshake(self.word): None,
        }
        if last:
            removed[keys.SOFT] = None
        return Step(annotations=removed, unheard=not gone, over=True)

    def told(self, step: "Step", now: Millis) -> "Leaving":
        """Return how far it is once *step* is acknowledged."""
        return replace(self, asked_at=now) if step.annotations is not None else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What to write for it, None: nothing; ``over``: after that nothing is left to be done.

    ``wake_at`` is when to look again. ``unheard``: the scheduler never said that it let go.
    """

    annotations: Mapping[str, str | None] | None = None
    wake_at: Millis | None = None
    over: bool = False
    unheard: bool = False


def registered_words(node: NodeObject, words: Iterable[str]) -> tuple[str, ...]:
    """Return those of *words* under which *node* has a device list, in their order."""
    return tuple(word for word in words if keys.register(word) in node.annotations)
