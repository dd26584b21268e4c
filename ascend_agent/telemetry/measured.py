"""All that the metrics page tells, as immutable values.

Levels are kept as the model's own values and turned into series when somebody asks, so that a
series ends with the NPU it is about. Only what happened is counted here.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ascend_agent.model.cluster import ApiCounts
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ListSent
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.seen import Seen

if TYPE_CHECKING:
    from ascend_agent.model.metered import HamiSeen

LATENCY_BOUNDS_S = (
    *(0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
"""Around the agent's own budgets of 1.5 and 5 ms, and far enough to see what misses them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A histogram: how many values fell at or below each bound but above the one before.

    The last count is of values beyond all bounds.
    """

    bounds: tuple[float, ...] = LATENCY_BOUNDS_S
    counts: tuple[int, ...] = (0,) * (len(LATENCY_BOUNDS_S) + 1)
    total: float = 0.0

    def with_value(self, value: float) -> "Distribution":
        """Return the distribution with *value* counted."""
        place = bisect_left(self.bounds, value)
        counts = (*self.counts[:place], self.counts[place] + 1, *self.counts[place + 1 :])
        return replace(self, counts=counts, total=self.total + value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The Allocates of one resource so far; ``unchecked`` counts NPUs."""

    granted: int = 0
    refused: int = 0
    unchecked: int = 0
    took_s: Distribution = field(default_factory=Distribution)
    waited_s: Distribution = field(default_factory=Distribution)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The lists of one resource so far: how many left, and the last one."""

    lists: int
    last: ListSent


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """All that was counted so far; ``faults_s`` and ``recoveries_s`` until the kubelet was told.

    ``slices`` counts containers by the kind of their slice.
    """

    sent: Mapping[ResourceName, Sent] = field(default_factory=dict)
    served: Mapping[ResourceName, Served] = field(default_factory=dict)
    slices: Mapping[str, int] = field(default_factory=dict)
    faults_s: Distribution = field(default_factory=Distribution)
    recoveries_s: Distribution = field(default_factory=Distribution)
    notices: Mapping[NoticeKind, int] = field(default_factory=dict)
    notices_missed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Everything as of one moment; ``hami`` None: HAMi does not schedule here."""

    version: str
    seen: Seen = field(default_factory=Seen)
    counted: Counted = field(default_factory=Counted)
    api_counts: ApiCounts | None = None
    log_lines_dropped: int = 0
    hami: "HamiSeen | None" = None
