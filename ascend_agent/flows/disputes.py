"""How long a key of ours that somebody else keeps changing is left alone; pure, time comes in.

One change is put right at once. Whoever changes it back again and again is met ever more slowly,
so that two writers don't keep the API server busy; after a while of peace all is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ascend_agent.model.cluster import Edit, ForeignEdit, MetadataField, NodeEdit, PodEdit
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import PodKey

_HOLD_MS = (0, 5_000, 20_000, 60_000, 180_000, 300_000)
_PEACE_MS = 900_000
_DISPUTED = 3
"""So many changes of one key without peace are no slip of somebody any more."""

Key = tuple[PodKey | None, MetadataField, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """One key that others changed: how often without peace, last when, and until when it rests."""

    times: int
    last_at: Millis
    rests_until: Millis

    @property
    def opened(self) -> bool:
        """Return whether this change made a quarrel of what might have been a slip."""
        return self.times == _DISPUTED


class Disputes:
    """The keys that others changed of late."""

    def __init__(self) -> None:
        self._known: dict[Key, Dispute] = {}

    def note(self, edit: ForeignEdit, now: Millis) -> Dispute:
        """Take a foreign edit in and return how its key stands after it."""
        self._forget(now)
        key = (edit.pod, edit.field, edit.key)
        before = self._known.get(key)
        times = before.times + 1 if before else 1
        hold_ms = _HOLD_MS[min(times, len(_HOLD_MS)) - 1]
        dispute = Dispute(times=times, last_at=now, rests_until=Millis(now + hold_ms))
        self._known[key] = dispute
        return dispute

    def without_resting(self, edit: Edit, now: Millis) -> tuple[Edit | None, Millis | None]:
        """Return *edit* without the keys that rest now, and when the first of them may be tried.

        None instead of an edit where nothing of it is left.
        """
        if not isinstance(edit, NodeEdit | PodEdit):
            return edit, None
        pod = edit.pod if isinstance(edit, PodEdit) else None
        resting = {
            (field, key): dispute.rests_until
            for (of, field, key), dispute in self._known.items()
            if of == pod and dispute.rests_until > now
        }
        labels = _without(edit.labels, MetadataField.LABELS, resting)
        annotations = _without(edit.annotations, MetadataField.ANNOTATIONS, resting)
        concerned = [
            until
            for (field, key), until in resting.items()
            if key in (edit.labels if field is MetadataField.LABELS else edit.annotations)
        ]
        left = replace(edit, labels=labels, annotations=annotations)
        return (left if labels or annotations else None), min(concerned, default=None)

    def _forget(self, now: Millis) -> None:
        for key in [k for k, known in self._known.items() if now - known.last_at > _PEACE_MS]:
            del self._known[key]


def _without(
    wanted: Mapping[str, str | None],
    field: MetadataField,
    resting: Mapping[tuple[MetadataField, str], Millis],
) -> dict[str, str | None]:
    return {key: value for key, value in wanted.items() if (field, key) not in resting}
