"""The handshake: when something is to be said to HAMi's scheduler, and how it is dated.

The scheduler takes a device list over only where it finds a handshake that is neither
``Requesting`` nor ``Deleted``, and then asks ``Requesting_<time>``. On HAMi before 2.9 a question
that stands for a minute makes the node's devices vanish. So whatever changes goes out with a fresh
``Reported_<time>``, a question is answered in good time but not at once, since the next one would
follow within seconds, and nothing is ever said without a cause (HAMi B10, SC-1).

Pure: time comes in, what is due and when to look again goes out.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.register import Listing
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import Millis

_MS_PER_S: Final = 1000
_UNSEEN_MS: Final = 5000
"""So long a Node may take to be seen before it is told of itself; the watch needs a moment only.

Whoever may write but not watch, as with the rules of HAMi's own plugin, begins with that: a whole
interval more, and an agent that starts again is silent for over a minute.
"""


class Question(Enum):
    """What the scheduler wants, by its handshake; no version's time in it matters to us."""

    NONE = "none"
    REQUESTING = "requesting"
    DELETED = "deleted"


class Cause(Enum):
    """Why something is to be said now."""

    CONTENT = "content"  # the list or the mode is another one
    REPAIR = "repair"  # somebody else changed one of them
    ANSWER = "answer"  # the scheduler asks, or can't be heard


def question_of(text: str | None) -> Question:
    """Return what a handshake asks, as the scheduler itself would read it."""
    if text is not None and "Requesting" in text:
        return Question.REQUESTING
    if text is not None and "Deleted" in text:
        return Question.DELETED
    return Question.NONE


def reported(at_s: int) -> str:
    """Return the handshake of a report at *at_s* seconds of the epoch, in UTC."""
    return dt.datetime.fromtimestamp(at_s, dt.UTC).strftime("Reported_%Y.%m.%d %H:%M:%S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What is to be written now, None: nothing.

    ``wake_at`` is when to look again though nothing changed.
    """

    cause: Cause | None = None
    annotations: Mapping[str, str | None] | None = None
    wake_at: Millis | None = None
    reported_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """How the talk about one word stands.

    ``due_at`` is when the question that stands is to be answered, or the next report while
    nothing can be heard; ``asked``: it is a question that came while we listened. ``heard``: the
    Node was known as it is at the last look. ``stands`` is what we know to be registered on the
    Node of that ``uid``. ``reported_s`` is the time in our last report. ``hasty``: the scheduler
    took our silence for our end before the answer was due.
    """

    word: str
    due_at: Millis | None = None
    asked: bool = False
    heard: bool = False
    stands: Listing | None = None
    uid: str = ""
    reported_s: int = 0
    hasty: bool = False

    def look(
        self, listing: Listing | None, node: NodeObject | None, *, now: Millis, wait_ms: int
    ) -> "Handshake":
        """Return how the talk stands once *node* was looked at; None: nothing was seen yet.

        *wait_ms* is how long a question that is first seen now waits for its answer.
        """
        later = Millis(now + wait_ms)
        # A Node that was made anew says nothing yet, and nobody took it from there. What was told
        # to one that was not seen yet was told to the one that is seen now.
        uid = node.uid if node is not None else self.uid
        stands = self.stands if self.uid in {"", uid} else None
        if node is None or not node.live:
            if node is None and stands is None:
                later = Millis(now + _UNSEEN_MS)
            due_at = later if self.due_at is None else self.due_at
            return replace(self, heard=False, due_at=due_at, stands=stands, uid=uid)
        if listing is not None and not _differs(listing, node):
            stands = listing
        seen = replace(self, heard=True, stands=stands, uid=uid)
        match question_of(node.annotations.get(keys.handshake(self.word))):
            case Question.NONE:
                return replace(seen, due_at=None, asked=False)
            case Question.DELETED:
                waited_for = self.asked and self.due_at is not None and self.due_at <= now
                hasty = self.hasty or (self.asked and not waited_for)
                return replace(seen, due_at=now, asked=False, hasty=hasty)
            case Question.REQUESTING if not self.heard:
                # For how long it has been asked already, nobody knows.
                return replace(seen, due_at=now, asked=False)
            case Question.REQUESTING if self.due_at is None:
                return replace(seen, due_at=later, asked=True)
            case _:
                return seen

    def due(
        self,
        listing: Listing | None,
        node: NodeObject | None,
        *,
        now: Millis,
        offset_s: int,
        rests_until: Millis | None = None,
    ) -> Due:
        """Return what is to be written; to be asked after each ``look``.

        *listing* None: nothing can be said of the devices now, what is registered stands. What
        somebody else changed is left alone until *rests_until*; what changed here never is.
        *offset_s* is added to the time of a report.
        """
        cause, wake_at = self._cause(listing, node, now, rests_until)
        if cause is None:
            return Due(wake_at=wake_at)
        # Never the same text twice: a change without a fresh report would not be taken over.
        at_s = max(now // _MS_PER_S + offset_s, self.reported_s + 1)
        annotations: dict[str, str | None] = {keys.handshake(self.word): reported(at_s)}
        if cause is not Cause.ANSWER and listing is not None:
            annotations |= listing.annotations
        return Due(cause=cause, annotations=annotations, reported_s=at_s, wake_at=wake_at)

    def saying(self, due: Due) -> "Handshake":
        """Return how the talk stands while *due* is on its way."""
        return self if due.reported_s is None else replace(self, reported_s=due.reported_s)

    def told(self, due: Due, listing: Listing | None) -> "Handshake":
        """Return how the talk stands once *due* is acknowledged."""
        stands = self.stands if due.cause is Cause.ANSWER else listing
        patient = due.cause is Cause.ANSWER and self.asked
        hasty = self.hasty and not patient
        return replace(self, due_at=None, asked=False, stands=stands, hasty=hasty)

    def _cause(
        self,
        listing: Listing | None,
        node: NodeObject | None,
        now: Millis,
        rests_until: Millis | None,
    ) -> tuple[Cause | None, Millis | None]:
        asked = self.due_at is not None and self.due_at <= now
        if listing is not None and self._is_untold(listing, node):
            if listing != self.stands:
                # What a Node says that was never seen, nobody knows: the first word has its time.
                if node is not None or asked or self.stands is not None:
                    return Cause.CONTENT, None
            elif rests_until is None or rests_until <= now:
                return Cause.REPAIR, None
        else:
            rests_until = None
        if asked and (listing is not None or self.stands is not None):
            return Cause.ANSWER, rests_until
        moments = [at for at in (self.due_at, rests_until) if at is not None and at > now]
        return None, min(moments, default=None)

    def _is_untold(self, listing: Listing, node: NodeObject | None) -> bool:
        if self.heard or self.stands is None:
            return node is None or _differs(listing, node)
        return listing != self.stands  # the Node is as last seen, which is older than our word


def _differs(listing: Listing, node: NodeObject) -> bool:
    return any(node.annotations.get(key) != to for key, to in listing.annotations.items())
