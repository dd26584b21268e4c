"""What people read of the node's registration with HAMi's scheduler: when it begins, ends, fails.

The scheduler's questions and our answers are routine, and so is a list that follows the health of
NPUs, which is logged where health is. Each trouble is said once, and once more when it is over.
"""

import logging
from typing import Final

from ascend_agent.dialects.hami.leave import Step
from ascend_agent.dialects.hami.register import Listing
from ascend_agent.flows.disputes import Dispute
from ascend_agent.model.cluster import ForeignEdit
from ascend_agent.model.ids import Millis

log = logging.getLogger(__name__)

_SHOWN_TEXT: Final = 80
_MS_PER_S: Final = 1000


class RegistrationLog:
    """Says each change once; ``trouble`` is what keeps us from writing now, else empty."""

    def __init__(self) -> None:
        self.trouble = ""

    def registered(self, before: Listing | None, stands: Listing) -> None:
        """Say that the scheduler can read *stands* from now on."""
        if before is None or before.soft != stands.soft:
            log.info("node registered", extra={"word": stands.word, "soft": stands.soft})

    def taken_back(self, word: str, step: Step) -> None:
        """Say that nothing is registered under *word* any more."""
        log.info("registration taken back", extra={"word": word, "heard": not step.unheard})

    def changed_by_others(self, edit: ForeignEdit, dispute: Dispute, now: Millis) -> None:
        """Say that somebody else wrote what is ours to say; of a quarrel only that it began."""
        facts = {
            "key": edit.key,
            "wrote": _cut(edit.wrote),
            "found": _cut(edit.found),
            "repaired_in_s": (dispute.rests_until - now) / _MS_PER_S,
        }
        if dispute.times == 1:
            log.info("registration changed by others", extra=facts)
        elif dispute.opened:
            log.warning("registration disputed by others", extra=facts)

    def hasty(self, word: str, *, is_so: bool) -> None:
        """Say that the scheduler does not wait for answers, or that it does again."""
        if is_so:
            log.warning("scheduler does not wait for answers", extra={"word": word})
        else:
            log.info("scheduler waits for answers again", extra={"word": word})

    def failed(self, why: str) -> None:
        """Say that an edit was refused, once for each reason."""
        if why != self.trouble:
            log.warning("node not registered", extra={"why": why})
        self.trouble = why

    def well(self) -> None:
        """Say that edits are accepted again."""
        if self.trouble:
            log.info("node registered again")
        self.trouble = ""


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= _SHOWN_TEXT:
        return text
    return f"{text[:_SHOWN_TEXT]}..."
