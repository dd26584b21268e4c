"""What is to be said to HAMi's scheduler now, of all words at once; one part of ``register_node``.

There is one word that is registered, and there may be others that are being taken back: what this
agent registered before the configuration changed, and what an earlier one left on the Node. All
that is due of them is one edit. Time comes in; what was acknowledged is told by ``note``.
"""

from dataclasses import dataclass, field, replace

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.handshake import Cause, Due, Handshake, Question, question_of
from ascend_agent.dialects.hami.leave import Leaving, Step, registered_words
from ascend_agent.dialects.hami.register import Listing, listing
from ascend_agent.flows.registration_log import RegistrationLog
from ascend_agent.model.cluster import NodeEdit, NodeObject
from ascend_agent.model.hami import HamiRegistration, HamiState, RegistrationPhase
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Everything as it is at one moment; ``state`` None: not configured yet.

    ``wait_ms`` is how long a question that is first seen now waits, ``offset_s`` is added to the
    time of reports, and until ``rests_until`` nothing is repaired. ``all_hidden``: the operator
    keeps every NPU of this node out of our hands.
    """

    view: NodeView
    state: HamiState
    node: NodeObject | None
    now: Millis
    wait_ms: int
    offset_s: int
    rests_until: Millis | None = None
    all_hidden: bool = False

    @property
    def word(self) -> str | None:
        """The word that is to be registered, None: none of the NPUs is configured."""
        return self.state.chip.word if self.state.chip else None

    @property
    def told(self) -> HamiState:
        """What is to be told: while the host is prepared for soft slices, the mode that stands.

        An agent that starts again on a soft node would else take the mode back for a moment.
        """
        stands = self.node is not None and self.node.annotations.get(keys.SOFT) == "true"
        return replace(self.state, soft=True) if self.state.soft_pending and stands else self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is due now; ``edit`` None: nothing. ``wake_at`` is when to plan again."""

    listing: Listing | None = None
    due: Due = field(default_factory=Due)
    steps: tuple[tuple[str, Step], ...] = ()
    edit: NodeEdit | None = None
    wake_at: Millis | None = None

    @property
    def essence(self) -> object:
        """What makes it another plan; the time in a report does not."""
        listed = self.listing if self.due.cause is not Cause.ANSWER else None
        return self.due.cause, listed, [(word, step.annotations) for word, step in self.steps]


class Talks:
    """How it stands with each word while this agent serves the node."""

    def __init__(self, log: RegistrationLog) -> None:
        self._log = log
        self._talk: Handshake | None = None
        self._leaving: dict[str, Leaving] = {}
        self._told: dict[str, bool] = {}  # whether somebody said that it was written
        self._told_at: Millis | None = None
        self._reported_s = 0  # a word that comes back must not say the same text twice either

    @property
    def keys(self) -> frozenset[str]:
        """The annotations that nobody but this agent is to write."""
        return frozenset({keys.SOFT, keys.register(self._talk.word)} if self._talk else ())

    @property
    def leaving(self) -> tuple[str, ...]:
        """The words that are being taken back."""
        return tuple(self._leaving)

    def plan(self, seen: Seen) -> Plan:
        """Return what is due; nothing before the first NPU is known, be it hidden."""
        if not seen.view.npus and not seen.all_hidden:
            return Plan()
        listed = listing(seen.view, seen.told)
        self._turn(seen)
        due, steps = self._due(listed, seen), self._steps(seen)
        annotations = dict(due.annotations or {})
        for _, step in steps:
            annotations |= step.annotations or {}
        words = [word for word, _ in steps] + ([self._talk.word] if self._talk else [])
        edit = NodeEdit(
            labels={},
            annotations=annotations,
            answered=frozenset(keys.handshake(word) for word in words),
        )
        moments = (due.wake_at, *(step.wake_at for _, step in steps))
        return Plan(
            listing=listed,
            due=due,
            steps=steps,
            edit=edit if annotations else None,
            wake_at=min((at for at in moments if at is not None), default=None),
        )

    def saying(self, plan: Plan) -> None:
        """Take *plan* for being on its way."""
        if self._talk is not None:
            self._talk = self._talk.saying(plan.due)
            self._reported_s = self._talk.reported_s
            if plan.due.cause not in {None, Cause.ANSWER}:
                self._told[self._talk.word] = self._talk.stands is not None

    def note(self, plan: Plan, now: Millis) -> None:
        """Take *plan* for acknowledged."""
        if self._talk is not None and plan.due.cause is not None:
            self._stand(self._talk.told(plan.due, plan.listing))
            self._told_at = now
        for word, step in plan.steps:
            if step.over:
                self._forget(word, step)
            elif word in self._leaving:
                self._leaving[word] = self._leaving[word].told(step, now)

    def registration(self, node: NodeObject | None, detail: str) -> HamiRegistration:
        """Return how it stands, for others to read."""
        stands = self._talk.stands if self._talk else None
        if stands is None:
            phase = RegistrationPhase.LEAVING if self._leaving else RegistrationPhase.WAITING
            return HamiRegistration(phase=phase, detail=detail)
        text = node.annotations.get(keys.handshake(stands.word), "") if node is not None else ""
        asked = question_of(text) is not Question.NONE
        return HamiRegistration(
            phase=RegistrationPhase.ASKED if asked else RegistrationPhase.REPORTED,
            word=stands.word,
            devices=stands.devices,
            handshake=text,
            detail=detail,
            counts=stands.counts,
            told_at_ms=self._told_at,
        )

    def _turn(self, seen: Seen) -> None:
        """Talk about the word of now, and take back those that are no more."""
        word, node = seen.word, seen.node
        if word is None:
            self._talk = None
        elif self._talk is None or self._talk.word != word:
            self._talk = Handshake(word=word, reported_s=self._reported_s)
        stale: tuple[str, ...] = ()
        known = word is not None or seen.all_hidden
        if known and node is not None and node.live:
            # A node has one chip: another word of the configuration is what it was called before.
            stale = registered_words(node, (chip.word for chip in seen.state.config.chips))
        for left in (*self._told, *stale):
            unsure = not self._told.get(left, True)
            self._leaving.setdefault(left, Leaving(word=left, unsure=unsure))
        if word is not None:
            self._leaving.pop(word, None)

    def _due(self, listed: Listing | None, seen: Seen) -> Due:
        if self._talk is None:
            return Due()
        self._stand(self._talk.look(listed, seen.node, now=seen.now, wait_ms=seen.wait_ms))
        return self._talk.due(
            listed,
            seen.node,
            now=seen.now,
            offset_s=seen.offset_s,
            rests_until=seen.rests_until,
        )

    def _steps(self, seen: Seen) -> tuple[tuple[str, Step], ...]:
        if seen.node is None:
            return ()
        steps = []
        for word, way in list(self._leaving.items()):
            step = way.step(seen.node, now=seen.now, last=self._talk is None)
            if step.over and step.annotations is None:
                self._forget(word, step)
            else:
                steps.append((word, step))
        return tuple(steps)

    def _stand(self, talk: Handshake) -> None:
        before, self._talk = self._talk, talk
        stood = before.stands if before else None
        if talk.stands is not None and talk.stands != stood:
            self._told[talk.word] = True
            self._log.registered(stood, talk.stands)
        if talk.hasty != (before is not None and before.hasty):
            self._log.hasty(talk.word, is_so=talk.hasty)

    def _forget(self, word: str, step: Step) -> None:
        self._told.pop(word, None)
        if self._leaving.pop(word, None) is not None:
            self._log.taken_back(word, step)
