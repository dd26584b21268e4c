"""How long to wait after a request failed: jittered, never less than the server asked for."""

import random
from typing import Final

from ascend_agent.errors import ClusterError, ForbiddenError, RejectedError, ThrottledError
from ascend_agent.runtime.backoff import Backoff, jittered

_REFUSED: Final = Backoff(delays_s=(0.5, 1.0, 2.0, 5.0, 15.0, 30.0, 60.0), endless=True)
_SPREAD: Final = 0.2


PATIENCE: Final = 4
"""Refusals in a row, 8.5 s together, that may be a server's that has not read its rules yet.

Quirk: kube-apiserver 1.36 serves before its RBAC rules are there, and answers 403 till then.
"""


def delay_s(error: ClusterError | None, *, failures: int, backoff: Backoff) -> float:
    """Return the delay after *failures* earlier ones in a row; None: it ended without an error."""
    refused = isinstance(error, ForbiddenError | RejectedError)
    own_s = (_REFUSED if refused else backoff).delay_s(failures) or 0.0
    delay = jittered(own_s)
    if isinstance(error, ThrottledError) and error.after_s is not None:
        # Later is what the server wants, and not all nodes at the same moment.
        asked_s = error.after_s * random.uniform(1, 1 + _SPREAD)  # noqa: S311 -- no secret
        return max(delay, asked_s)
    return delay
