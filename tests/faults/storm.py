"""A driver gone mad, in front of the fold: random events without end, seeded, in made-up time.

Chips raise, clear and notice codes at random, known ones and any others, lose events, drop off and
come back; what the fold asks is answered. ``weigh`` tells how much a ledger holds.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random

from ascend_agent import chips
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fold import fold
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin, Severity
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory
from tests.model.samples import make_npu

NPUS = 16
_LISTED_AT_MOST = 128  # what the driver's own list can hold
_FAVOURITES = 60
_STANDING, _FAVOURITE = 0.6, 0.97  # up to here a random number means a code of this kind
_WEIGHTS = (50, 40, 10)  # recovered, occurred, noticed once
_LOST_ONE_IN = 50
_DROPPED_ONE_IN = 1_000
_FOUND_ONE_IN = 20
_OF_ALL = 0.9
_FLOODED_ONE_IN = 20_000


class Storm:
    """One node under a storm, from seed *seed*."""

    def __init__(self, *, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 -- a story, no secret
        self._codes: dict[int, set[FaultCode]] = {npu: set() for npu in range(NPUS)}
        self._lost: set[int] = set()
        self._known = [*BUILT_IN.frequency, *BUILT_IN.duration, *BUILT_IN.catalog.levels]
        self._favourites = self._random.sample(self._known, _FAVOURITES)
        self._sequence = 0
        self._now = Millis(1_700_000_000_000)
        specs = {spec.generation: spec for spec in chips.SPECS}
        rules = HealthRules(shares_required=False)
        self.ledger = Ledger.empty(fault_rules=BUILT_IN, rules=rules, specs=specs)
        npus = tuple(make_npu(npu) for npu in range(NPUS))
        self._fold(DriverState(phase=DriverPhase.READY, callbacks=True))
        self._fold(
            Inventory(generation=1, npus=npus, unread=(), unknown=(), lost_cards=0, unreadable=())
        )
        self.calm()

    def blow(self, events: int) -> None:
        """Let so many events happen."""
        for _ in range(events):
            self._now = Millis(self._now + self._random.choice((0, 1, 1, 5, 40, 2_500)))
            self._event()
            wake_at = self.ledger.wake_at_ms
            if wake_at is not None and wake_at <= self._now:
                self._fold()

    def calm(self) -> None:
        """Let every code be gone, and every chip be read."""
        self._lost.clear()
        for codes in self._codes.values():
            codes.clear()
        self._now = Millis(self._now + 60_000)
        for npu in range(NPUS):
            self._answer(PhyId(npu))
        self._now = Millis(self._now + 60_000)
        self._fold()

    def _event(self) -> None:
        random = self._random
        # One chip has it worst, so that its codes overflow while the others have a few each.
        npu = random.randrange(NPUS) if random.random() < _OF_ALL else 0
        code = self._any_code(npu)
        assertion = random.choices(tuple(Assertion), weights=_WEIGHTS)[0]
        if assertion is Assertion.OCCURRED and len(self._codes[npu]) < _LISTED_AT_MOST:
            self._codes[npu].add(code)
        elif assertion is Assertion.RECOVERED:
            self._codes[npu].discard(code)
        if random.randrange(_FOUND_ONE_IN if npu in self._lost else _DROPPED_ONE_IN) == 0:
            self._lost.symmetric_difference_update({npu})
            self._answer(PhyId(npu))
        if random.randrange(_FLOODED_ONE_IN) == 0:
            flood = random.sample(self._known, _LISTED_AT_MOST)
            self._codes[npu] |= set(flood[: _LISTED_AT_MOST - len(self._codes[npu])])
            self._answer(PhyId(npu))
        if random.randrange(_LOST_ONE_IN) == 0:
            return
        self._sequence += 1
        self._fold(
            FaultEvent(
                npu=PhyId(npu),
                code=code,
                assertion=assertion,
                severity=Severity(random.randrange(4)),
                received_at_ms=self._now,
                seen_ns=self._sequence,
                driver_time=None,
                origin=Origin.CALLBACK,
                sequence=self._sequence,
            )
        )

    def _any_code(self, npu: int) -> FaultCode:
        """Return a code: mostly one that stands or one of a few, now and then any there can be."""
        random = self._random
        choice = random.random()
        if choice < _STANDING and self._codes[npu]:
            return min(self._codes[npu])
        if choice < _FAVOURITE:
            return random.choice(self._favourites)
        return FaultCode(random.randrange(1, 1 << 32))

    def _fold(self, *inputs: FoldInput) -> None:
        folded = fold(self.ledger, inputs, self._now)
        self.ledger = folded.ledger
        for npu in folded.requeries:
            self._answer(npu)

    def _answer(self, npu: PhyId) -> None:
        lost = npu in self._lost
        answer = HealthAnswer(
            health=None if lost else 0,
            lost=lost,
            codes=None if lost else frozenset(self._codes[npu]),
            rc=-8012 if lost else 0,
        )
        self._fold(
            HealthReading(
                npu=npu, asked_after=self._sequence, answered_at_ms=self._now, outcome=answer
            )
        )


def weigh(value: object) -> int:
    """Return how many single values something immutable holds, however deep."""
    if value is None or callable(value) or isinstance(value, (int, str, Enum)):
        return 1
    if isinstance(value, Mapping):
        return sum(weigh(key) + weigh(held) for key, held in value.items())
    if isinstance(value, (tuple, frozenset)):
        return sum(map(weigh, value))
    assert is_dataclass(value), value
    return sum(weigh(getattr(value, field.name)) for field in fields(value))
