"""Which Kubernetes Events there should be about what happened, and which of them is sent when.

Decided here: what counts as the same thing happening again, how often the API server may hear of
it, and what is given up when there is too much. The first word about something new goes out before
any count of something known, but no pods that keep coming hold up what is about none; nothing is
sent twice for being told twice. Words are in ``event_words``, sending and its failures are left to
the flow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from typing import Final, NamedTuple

from ascend_agent.model.fault import FaultCode
from ascend_agent.model.ids import Millis, PhyId, PodUid
from ascend_agent.model.notices import Announcement, HealthNotice, NoticeKind

_MOST_SERIES: Final = 100
_MOST_OF_PODS: Final = 60
"""Whoever may create pods can have any number of them refused, and faults must still be told."""
_QUIET_MS: Final = 1_800_000  # after so long a pause the next time is a new story
_BURST: Final = 10
_EVERY_MS: Final = 6_000  # with the burst: what MindCluster allows itself
_KEPT_FOR_NEW: Final = 4  # turns of the burst that counts of known things leave alone
_BETWEEN_MS: Final = 1_000  # two words about one thing
_NEVER: Final = Millis(0)
_LONGEST_NAME: Final = 253
_DIGITS: Final = 16


class EventReason(Enum):
    """``reason`` of an Event; MindCluster's words where it has one, since people filter by them."""

    OCCUR = "Occur"
    RECOVERY = "Recovery"
    NOTICE = "Notice"
    UPGRADE = "EventUpgradeFault"
    RELEASE = "EventReleaseUpgradeFault"
    CONFIG_REFUSED = "FaultConfigRefused"
    CONFIG_TAKEN = "FaultConfigTaken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigNotice:
    """New fault rules were refused, or, with *refused* empty, are in order again."""

    refused: tuple[str, ...]
    source: str
    at_ms: Millis


Happening = HealthNotice | ConfigNotice | Announcement


class EventKey(NamedTuple):
    """What makes two happenings the same thing; None: not about an NPU, a code, a pod."""

    npu: PhyId | None
    code: FaultCode | None
    reason: EventReason | str
    pod: PodUid | None = None
    about: str = ""

    @property
    def word(self) -> str:
        """Return ``reason`` of the Event."""
        return self.reason.value if isinstance(self.reason, EventReason) else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One thing that happened ``count`` times; the API server shows ``told`` of them.

    ``tried_ms`` is when it was last sent.
    """

    key: EventKey
    latest: Happening
    first_ms: Millis
    last_ms: Millis
    count: int = 1
    told: int = 0
    tried_ms: Millis = _NEVER

    @property
    def untold(self) -> int:
        """Return how often it happened that the API server does not show yet."""
        return self.count - self.told


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBook:
    """All series, the one that was longest without news first.

    ``lost`` counts happenings that no Event will tell of. ``paid_ms`` is when all turns that were
    taken are paid back.
    """

    series: Mapping[EventKey, Series] = field(default_factory=dict)
    lost: int = 0
    paid_ms: Millis = _NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What is to be sent now, or else when to ask again; both None: nothing is untold."""

    series: Series | None = None
    wake_at: Millis | None = None


def noted(book: EventBook, happenings: Iterable[Happening]) -> EventBook:
    """Return *book* with what happened since, oldest first."""
    table = dict(book.series)
    lost = sum(not _note(table, happening) for happening in happenings)
    return replace(book, series=table, lost=book.lost + lost)


def _note(table: dict[EventKey, Series], happening: Happening) -> bool:
    """Note one happening; False where there is no room for it."""
    key, at_ms = key_of(happening), happening.at_ms
    known = table.pop(key, None)
    if known is None or (not known.untold and at_ms - known.last_ms > _QUIET_MS):
        latest = Series(key=key, latest=happening, first_ms=at_ms, last_ms=at_ms)
    else:
        latest = replace(
            known,
            latest=happening,
            last_ms=max(at_ms, known.last_ms),
            count=known.count + 1,
        )
    crowded = key.pod is not None and sum(one.pod is not None for one in table) >= _MOST_OF_PODS
    if crowded or len(table) >= _MOST_SERIES:
        all_told = (one for one, series in table.items() if not series.untold)
        told = next((one for one in all_told if one.pod is not None or not crowded), None)
        if told is None:
            return False
        del table[told]
    table[key] = latest
    return True


def key_of(happening: Happening) -> EventKey:
    """Return what *happening* is told together with."""
    if isinstance(happening, ConfigNotice):
        reason = EventReason.CONFIG_REFUSED if happening.refused else EventReason.CONFIG_TAKEN
        return EventKey(npu=None, code=None, reason=reason)
    if isinstance(happening, Announcement):
        pod = happening.pod.uid if happening.pod else None
        return EventKey(
            npu=None, code=None, reason=happening.reason, pod=pod, about=happening.about
        )
    return EventKey(npu=happening.npu.phy, code=happening.code, reason=_REASONS[happening.kind])


def due(book: EventBook, now: Millis) -> Due:
    """Return which series is sent next: what is new first, then what was sent longest ago."""
    untold = [series for series in book.series.values() if series.told < series.count]
    if not untold:
        return Due()
    fresh = [series for series in untold if not series.told]
    first = min(fresh, key=_waits, default=None)
    counts = [series for series in untold if series.told and _may_precede(series, first)]
    if first is not None and not counts:
        # Nothing else goes out before it: its turn comes first.
        return _at(book.paid_ms - (_BURST - 1) * _EVERY_MS, first, now)
    oldest = min(counts, key=_waits)
    turn = book.paid_ms - (_BURST - 1 - _KEPT_FOR_NEW) * _EVERY_MS
    return _at(max(turn, oldest.tried_ms + _BETWEEN_MS), oldest, now)


def _may_precede(count: Series, first: Series | None) -> bool:
    """Return whether the *count* of something known may go out before *first*, which is new."""
    if first is None:
        return True
    # Pods may come, and be refused, for hours.
    pods_alone = first.key.pod is not None and count.key.pod is None
    return pods_alone and _waits(count) < _waits(first)


def _at(turn: int, series: Series, now: Millis) -> Due:
    return Due(series=series) if turn <= now else Due(wake_at=Millis(turn))


def _waits(series: Series) -> tuple[int, int]:
    """Return since when *series* waits for its turn, and its age; what was never tried comes first.

    One that failed has waited from then only, or an Event that the server can't stomach would hold
    up all others for ever; and a pod's from when it came, or pods that keep coming would.
    """
    is_new_pod = series.key.pod is not None and series.tried_ms == _NEVER
    return series.first_ms if is_new_pod else series.tried_ms, series.first_ms


def sent(book: EventBook, series: Series, now: Millis) -> EventBook:
    """Return *book* with the turn taken that sending *series* is, whatever comes of it."""
    paid_ms = Millis(max(book.paid_ms, now) + _EVERY_MS)
    return replace(_with(book, series.key, tried_ms=now), paid_ms=paid_ms)


def acknowledged(book: EventBook, series: Series) -> EventBook:
    """Return *book* where the API server shows *series* as it was when it was sent."""
    return _with(book, series.key, told=series.count)


def vanished(book: EventBook, series: Series) -> EventBook:
    """Return *book* where the API server has forgotten *series*: it is told as if it were new."""
    return _with(book, series.key, told=0)


def given_up(book: EventBook, series: Series) -> EventBook:
    """Return *book* without *series*, which the API server will never take."""
    known = book.series[series.key]
    others = {key: each for key, each in book.series.items() if key != series.key}
    return replace(book, series=others, lost=book.lost + known.untold)


def _with(
    book: EventBook, key: EventKey, *, told: int | None = None, tried_ms: Millis | None = None
) -> EventBook:
    """Return *book* with changes in one series; the order stays."""
    known = book.series[key]
    changed = replace(
        known,
        told=known.told if told is None else told,
        tried_ms=known.tried_ms if tried_ms is None else tried_ms,
    )
    return replace(book, series={**book.series, key: changed})


def event_name(node: str, series: Series) -> str:
    """Return the name of the Event of *series*, unlike any other there ever is of this node.

    The same as long as the series lasts, so that an attempt whose answer was lost makes no second.
    """
    key = series.key
    more = f" {key.pod} {key.about}" if key.pod or key.about else ""
    told = f"{node} {key.npu} {key.code} {key.word} {series.first_ms}{more}"
    digest = sha256(told.encode()).hexdigest()[:_DIGITS]
    return f"{node[: _LONGEST_NAME - _DIGITS - 1].rstrip('.-')}.{digest}"


_REASONS: Final = {
    NoticeKind.OCCURRED: EventReason.OCCUR,
    NoticeKind.RECOVERED: EventReason.RECOVERY,
    NoticeKind.ONE_OFF: EventReason.NOTICE,
    NoticeKind.UPGRADED: EventReason.UPGRADE,
    NoticeKind.RELEASED: EventReason.RELEASE,
}
