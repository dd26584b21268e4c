"""Whether one NPU answers, and what it last said of its own health (HL-3, HL-4).

Decides when an NPU counts as lost, and how long a failed question means nothing. Its codes are
``standing``'s business, and what follows from both is ``verdict``'s.
"""

from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.model.health import HealthAnswer, HealthReading, ReadingFailure
from ascend_agent.model.ids import Millis

ALARM: Final = 2
"""From this health value on the driver calls a chip sick."""

_NOT_SUPPORTED: Final = -8255
"""Return code: the chip has no such query, so its missing answer is no failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """How we stand with one NPU.

    ``health`` is the last value the driver gave, ``health_asked_after`` the sequence number its
    reading carried. ``lost_since_ms``: the last answer said so, or none came since the NPU was
    listed again. ``unlisted_since_ms``: the driver no longer lists the NPU. ``failed_rounds``
    counts failed rounds since the last full answer.
    """

    health: int | None = None
    health_asked_after: int = 0
    lost_since_ms: Millis | None = None
    unlisted_since_ms: Millis | None = None
    parked: bool = False
    failed_rounds: int = 0
    tried: bool = False
    answered: bool = False

    @property
    def dropped_since_ms(self) -> Millis | None:
        """Return since when the card is gone, None while it is there: one path (faults D12)."""
        drops = [at for at in (self.lost_since_ms, self.unlisted_since_ms) if at is not None]
        return min(drops, default=None)

    @property
    def tellable(self) -> bool:
        """Return whether there is anything to tell of this NPU yet."""
        return self.tried or self.dropped_since_ms is not None


NO_CONTACT: Final = Contact()


def listed(contact: Contact, *, here: bool, now: Millis) -> Contact:
    """Return the contact after the inventory listed the NPU, or said that the driver does not.

    An NPU that is listed again counts as lost until it has answered: a card may come back dead.
    """
    if not here:
        if contact.unlisted_since_ms is not None:
            return contact
        return replace(contact, unlisted_since_ms=now)
    if contact.unlisted_since_ms is None:
        return contact
    return replace(contact, unlisted_since_ms=None, lost_since_ms=contact.dropped_since_ms)


def learn(contact: Contact, reading: HealthReading) -> Contact:
    """Return the contact after *reading*.

    An answer that lacks one of its two halves counts as a failed round, yet the other half is
    taken over, but for an alarm: only the codes tell whether it takes the NPU out. A failed round
    leaves what was known, and so does one that found no driver, or another NPU in the place of
    this one.
    """
    outcome = reading.outcome
    if not isinstance(outcome, HealthAnswer):
        return replace(
            contact,
            tried=True,
            parked=contact.parked or outcome is ReadingFailure.UNRESPONSIVE,
            failed_rounds=contact.failed_rounds + (outcome is ReadingFailure.FAILED),
        )
    if not (outcome.lost or _is_full(outcome)):
        calm = outcome.health is not None and outcome.health < ALARM
        return replace(
            contact,
            health=outcome.health if calm else contact.health,
            health_asked_after=reading.asked_after if calm else contact.health_asked_after,
            lost_since_ms=contact.lost_since_ms if outcome.health is None else None,
            failed_rounds=contact.failed_rounds + 1,
            tried=True,
        )
    lost_since = contact.lost_since_ms
    if lost_since is None:
        lost_since = reading.answered_at_ms
    return replace(
        contact,
        health=outcome.health,
        health_asked_after=reading.asked_after,
        lost_since_ms=lost_since if outcome.lost else None,
        parked=False,
        failed_rounds=0,
        tried=True,
        answered=True,
    )


def _is_full(answer: HealthAnswer) -> bool:
    if answer.codes is not None and answer.health is not None:
        return True
    told_something = answer.codes is not None or answer.health is not None
    return told_something and answer.rc == _NOT_SUPPORTED
