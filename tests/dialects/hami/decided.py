"""The three ways a decision may end, each asserted, and the edit that gives the lock of p1 back."""

from ascend_agent.dialects.hami.assign import assign
from ascend_agent.model.allocation import AllocationRequest, Assignment, NeedFresh, Refused
from ascend_agent.model.cluster import NodeAnnotationRemoval
from ascend_agent.model.world import World

REMOVED = (
    NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z,default,p1"),
)


def assigned(request: AllocationRequest, seen: World) -> Assignment:
    """Decide, and return what the container gets."""
    found = assign(request, seen)
    assert isinstance(found, Assignment), found
    return found


def refused(request: AllocationRequest, seen: World) -> Refused:
    """Decide, and return why nobody gets anything."""
    found = assign(request, seen)
    assert isinstance(found, Refused), found
    return found


def unknown(request: AllocationRequest, seen: World) -> NeedFresh:
    """Decide, and return what must be read first."""
    found = assign(request, seen)
    assert isinstance(found, NeedFresh), found
    return found
