"""How long to wait after a failure."""

import random
from dataclasses import dataclass

from ascend_agent.errors import WiringError

_JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Delays after the first, second ... failure in a row, in seconds.

    With ``endless`` the last delay repeats for ever; without it the delays are the budget, and no
    delays mean that the first failure is final.
    A run of ``healthy_after_s`` wipes the count. Each delay is drawn within 20 % around its
    value, so that many nodes don't retry in step.
    """

    delays_s: tuple[float, ...]
    healthy_after_s: float = 60.0
    endless: bool = False

    def __post_init__(self) -> None:
        if self.endless and not self.delays_s:
            raise WiringError("an endless back-off needs a delay to repeat")

    def delay_s(self, failures: int) -> float | None:
        """Return the delay after *failures* earlier ones in a row; None: the budget is spent."""
        if failures < len(self.delays_s):
            return self.delays_s[failures]
        return self.delays_s[-1] if self.endless else None


def jittered(delay_s: float) -> float:
    """Return *delay_s* moved by at most a fifth either way."""
    return delay_s * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 -- no secret
