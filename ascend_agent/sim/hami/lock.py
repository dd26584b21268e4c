"""The node lock as the scheduler sees it: what it writes, and whose it may take over."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from ascend_agent.sim.hami.versions import Locking, SchedulerVersion
from ascend_agent.sim.hami.words import Json

EXPIRY: Final = timedelta(minutes=5)
_PARTS: Final = 3

Exists = Callable[[str, str], bool]
"""Whether there is a pod of this namespace and name."""


def format_lock(pod: Json, version: SchedulerVersion, *, now: datetime) -> str:
    """Return the lock for *pod*; empty: this version locks nothing."""
    if version.locking is Locking.NONE:
        return ""
    time = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    if version.locking is Locking.OWNERLESS:
        return time
    metadata = pod["metadata"]
    return f"{time},{metadata['namespace']},{metadata['name']}"


def may_take(text: str | None, version: SchedulerVersion, *, now: datetime, exists: Exists) -> bool:
    """Return whether a node with this lock may be locked now: it is free, stale, or nobody's.

    Expiry is judged here alone, when the next pod wants the node. A text that nobody understands
    stays.
    """
    if text is None:
        return True
    parts = text.split(",")
    try:
        since = datetime.fromisoformat(parts[0])
        expired = now - since > EXPIRY
    except (ValueError, TypeError):  # no time, or one without a zone
        return False
    dangling = version.takes_dangling and len(parts) == _PARTS and not exists(parts[1], parts[2])
    return expired or dangling


def is_lock_of(text: str | None, pod: Json) -> bool:
    """Return whether a lock names this pod."""
    metadata = pod["metadata"]
    return text is not None and text.endswith(f",{metadata['namespace']},{metadata['name']}")
