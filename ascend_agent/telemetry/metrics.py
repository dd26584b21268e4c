"""Counts what happened, and asks what is true when somebody wants the metrics page.

What is told is decided in ``families``. That module and its library are loaded when somebody asks
for the page for the first time, which spares the start-up 40 ms.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, assert_never

from ascend_agent.model.cluster import ApiCounts
from ascend_agent.model.kubelet import AllocateServed, ListSent
from ascend_agent.model.notices import HealthNotice
from ascend_agent.model.seen import Seen
from ascend_agent.model.slices import Slice, SoftSlice, TemplateSlice, WholeSlice
from ascend_agent.telemetry.measured import Counted, Measured, Sent, Served

if TYPE_CHECKING:
    from ascend_agent.model.metered import HamiSeen


class Metrics:
    """The agent's metrics. Record on the loop's thread, render on any.

    *seen*, *dropped_logs*, *api_counts* and *hami* are asked at each rendering, on its thread: who
    knows those knows them anyway. None instead of counts, or of what HAMi is told: there is none.
    """

    def __init__(
        self,
        *,
        seen: Callable[[], Seen] = Seen,
        dropped_logs: Callable[[], int] = lambda: 0,
        api_counts: Callable[[], ApiCounts | None] = lambda: None,
        hami: "Callable[[], HamiSeen | None]" = lambda: None,
    ) -> None:
        self._seen = seen
        self._dropped_logs = dropped_logs
        self._api_counts = api_counts
        self._hami = hami
        # Replaced as a whole at each record: a thread that renders holds one moment's counts.
        self._counted = Counted()

    def record_sent(self, sent: ListSent) -> None:
        """Count a list that left, and for each event behind it how long that took."""
        counted = self._counted
        before = counted.sent.get(sent.resource)
        lists = before.lists + 1 if before else 1
        faults_s, recoveries_s = counted.faults_s, counted.recoveries_s
        for npu, caused_ns in sent.causes:
            if caused_ns is None:
                continue
            took_s = max(sent.sent_ns - caused_ns, 0) / 1e9
            if npu in sent.recovered:
                recoveries_s = recoveries_s.with_value(took_s)
            else:
                faults_s = faults_s.with_value(took_s)
        self._counted = replace(
            counted,
            sent={**counted.sent, sent.resource: Sent(lists=lists, last=sent)},
            faults_s=faults_s,
            recoveries_s=recoveries_s,
        )

    def record_served(self, served: AllocateServed) -> None:
        """Count an Allocate, granted or refused, and how long it took."""
        counted = self._counted
        before = counted.served.get(served.resource, Served())
        after = Served(
            granted=before.granted + (not served.refusal),
            refused=before.refused + bool(served.refusal),
            unchecked=before.unchecked + len(served.unchecked),
            took_s=before.took_s.with_value(served.took_s),
            waited_s=before.waited_s.with_value(served.waited_s),
        )
        slices = Counter(counted.slices)
        slices.update(_kind_of(each) for each in served.slices)
        self._counted = replace(
            counted, served={**counted.served, served.resource: after}, slices=slices
        )

    def record_notices(self, notices: Sequence[HealthNotice], *, missed: int) -> None:
        """Count what happened to NPUs by its kind, and what of it was missed."""
        kinds = Counter(self._counted.notices)
        kinds.update(notice.kind for notice in notices)
        self._counted = replace(
            self._counted,
            notices=kinds,
            notices_missed=self._counted.notices_missed + missed,
        )

    def render(self) -> bytes:
        """Return the page in Prometheus' text format; takes milliseconds: call it in a thread."""
        from ascend_agent.telemetry import families  # noqa: PLC0415 -- see the module's docstring

        measured = Measured(
            version=version("ascend-agent"),
            seen=self._seen(),
            counted=self._counted,
            api_counts=self._api_counts(),
            log_lines_dropped=self._dropped_logs(),
            hami=self._hami(),
        )
        return families.page(measured)


def _kind_of(cut: Slice) -> str:
    match cut:
        case WholeSlice():
            return "whole"
        case TemplateSlice():
            return "template"
        case SoftSlice():
            return "soft"
        case _ as never:
            assert_never(never)
