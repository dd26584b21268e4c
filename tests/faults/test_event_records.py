"""What is one Event, which goes out first, and what is given up when there is too much."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.faults import event_records as records
from ascend_agent.faults.event_records import ConfigNotice, EventBook, EventReason, Series
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, PodUid
from ascend_agent.model.notices import Announcement, HealthNotice, NoticeKind
from ascend_agent.model.pods import PodKey, PodRef
from tests.fakes.npus import npu

T0 = 1_800_000_000_000


def notice(
    phy: int = 0,
    code: int | None = 0x8C064E00,
    *,
    at: int = 0,
    kind: NoticeKind = NoticeKind.OCCURRED,
) -> HealthNotice:
    return HealthNotice(
        kind=kind,
        npu=npu(phy),
        code=None if code is None else FaultCode(code),
        level=FaultLevel.SEPARATE_NPU,
        at_ms=Millis(T0 + at),
    )


def book_of(*notices: records.Happening, book: EventBook | None = None) -> EventBook:
    return records.noted(book or EventBook(), notices)


def next_of(book: EventBook, at: int = 0) -> Series | None:
    return records.due(book, Millis(T0 + at)).series


def told(book: EventBook, at: int = 0) -> EventBook:
    """Return *book* after what is due was posted."""
    series = next_of(book, at)
    assert series is not None
    return records.acknowledged(records.sent(book, series, Millis(T0 + at)), series)


def drained(book: EventBook, at: int = 0) -> tuple[list[Series], EventBook]:
    """Post all that may be posted at one moment."""
    posted = []
    while series := next_of(book, at):
        posted.append(series)
        book = told(book, at)
    return posted, book


def test_ten_flaps_are_one_event_with_a_count() -> None:
    """Faults D80, issue point 8."""
    flaps = [
        notice(at=number * 100 + half * 50, kind=kind)
        for number in range(10)
        for half, kind in enumerate((NoticeKind.OCCURRED, NoticeKind.RECOVERED))
    ]

    occurred, recovered = book_of(*flaps).series.values()

    assert (occurred.key.reason, occurred.count) == (EventReason.OCCUR, 10)
    assert (occurred.first_ms, occurred.last_ms) == (T0, T0 + 900)
    assert (recovered.key.reason, recovered.count) == (EventReason.RECOVERY, 10)


def test_other_npus_and_other_codes_have_their_own() -> None:
    book = book_of(notice(0), notice(1), notice(0, 0x80E01801), notice(0, None))

    assert [series.count for series in book.series.values()] == [1, 1, 1, 1]
    assert len({records.event_name("n1", series) for series in book.series.values()}) == 4


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (NoticeKind.OCCURRED, "Occur"),
        (NoticeKind.RECOVERED, "Recovery"),
        (NoticeKind.ONE_OFF, "Notice"),
        (NoticeKind.UPGRADED, "EventUpgradeFault"),
        (NoticeKind.RELEASED, "EventReleaseUpgradeFault"),
    ],
)
def test_reasons_are_mindclusters(kind: NoticeKind, reason: str) -> None:
    """People and alert rules filter by them."""
    assert records.key_of(notice(kind=kind)).word == reason


def test_refused_and_accepted_rules_are_things_of_their_own() -> None:
    refused = ConfigNotice(refused=("no code",), source="ConfigMap", at_ms=Millis(T0))
    taken = replace(refused, refused=())

    book = book_of(refused, taken, refused)

    assert [(key.word, series.count) for key, series in book.series.items()] == [
        ("FaultConfigTaken", 1),
        ("FaultConfigRefused", 2),
    ]


def test_what_is_told_is_not_sent_again() -> None:
    book = told(book_of(notice()))

    assert records.due(book, Millis(T0 + 10**9)) == records.Due()


def test_a_count_follows_a_second_after_the_first_word() -> None:
    book = book_of(notice(at=10), book=told(book_of(notice())))

    assert next_of(book, 999) is None
    assert records.due(book, Millis(T0 + 10)).wake_at == T0 + 1_000
    series = next_of(book, 1_000)
    assert series is not None
    assert (series.count, series.told, series.untold) == (2, 1, 1)


def test_what_happened_while_it_was_sent_is_still_untold() -> None:
    book = book_of(notice())
    series = next_of(book)
    assert series is not None
    book = records.sent(book, series, Millis(T0))
    book = records.acknowledged(book_of(notice(at=5), book=book), series)

    assert [each.untold for each in book.series.values()] == [1]


def test_after_a_long_pause_a_new_story_begins() -> None:
    """The API server forgets Events after an hour; an old count would tell nothing."""
    first = told(book_of(notice()))
    (before,) = first.series.values()
    (same,) = book_of(notice(at=1_800_000), book=first).series.values()
    (other,) = book_of(notice(at=1_800_001), book=first).series.values()

    assert (same.count, other.count) == (2, 1)
    assert records.event_name("n1", same) == records.event_name("n1", before)
    assert records.event_name("n1", other) != records.event_name("n1", before)


def test_what_could_not_be_told_yet_is_no_old_story() -> None:
    """The API server was away: what happened before must not vanish."""
    (series,) = book_of(notice(), notice(at=7_200_000)).series.values()

    assert (series.count, series.first_ms) == (2, T0)


def test_ten_go_out_at_once_and_one_each_six_seconds_after_that() -> None:
    book = book_of(*(notice(phy) for phy in range(16)))

    first, book = drained(book)
    wake_at = records.due(book, Millis(T0)).wake_at
    second, book = drained(book, 6_000)
    third, _ = drained(book, 11_999)

    assert [series.key.npu for series in first] == list(range(10))
    assert wake_at == T0 + 6_000
    assert [series.key.npu for series in second] == [10]
    assert third == []


def test_one_that_chatters_does_not_silence_another() -> None:
    """A flapping device can't starve others."""
    book, posted = told(book_of(notice(0))), 0
    for second in range(1, 600):
        book = book_of(notice(0, at=second * 1_000), book=book)
        sent, book = drained(book, second * 1_000)
        posted += len(sent)
    book = book_of(*(notice(phy, at=600_000) for phy in (0, 1, 2, 3)), book=book)

    first, book = drained(book, 600_000)

    assert [series.key.npu for series in first] == [1, 2, 3]
    assert posted <= 106, "one each six seconds, and the burst"


def test_counts_leave_four_turns_to_what_is_new() -> None:
    _, book = drained(book_of(*(notice(phy) for phy in range(8))))
    book = book_of(*(notice(phy, at=600_000) for phy in range(8)), book=book)

    counts, book = drained(book, 600_000)
    wake_at = records.due(book, Millis(T0 + 600_000)).wake_at
    fresh, book = drained(book_of(*(notice(8 + phy) for phy in range(6)), book=book), 600_000)

    assert len(counts) == 6
    assert wake_at == T0 + 606_000
    assert [series.key.npu for series in fresh] == [8, 9, 10, 11]


def test_counts_take_turns() -> None:
    """The one that was sent longest ago is first."""
    _, book = drained(book_of(*(notice(phy) for phy in range(3))))
    book = book_of(*(notice(phy, at=1) for phy in (2, 0, 1)), book=book)
    series = book.series[records.key_of(notice(1))]
    book = records.sent(book, series, Millis(T0 + 5_000))
    book = records.sent(book, book.series[records.key_of(notice(0))], Millis(T0 + 6_000))

    order, _ = drained(book, 600_000)

    assert [each.key.npu for each in order] == [2, 1, 0]


def test_one_on_which_the_server_fails_holds_up_no_other() -> None:
    """A webhook that breaks on one Event answers 500 for ever; that server is not away."""
    book = book_of(*(notice(phy, at=phy) for phy in range(3)))
    tried = []
    for second in range(3):
        series = next_of(book, second)
        assert series is not None
        tried.append(series.key.npu)
        book = records.sent(book, series, Millis(T0 + second))

    assert tried == [0, 1, 2]


def test_an_event_the_server_forgot_is_told_as_new_with_its_whole_count() -> None:
    book = book_of(notice(at=1), book=told(book_of(notice())))
    (series,) = book.series.values()

    (after,) = records.vanished(book, series).series.values()

    assert (after.told, after.count, after.first_ms) == (0, 2, T0)


def test_what_the_server_never_takes_is_lost_and_counted() -> None:
    book = book_of(notice(), notice(at=1))
    (series,) = book.series.values()

    after = records.given_up(book_of(notice(at=2), book=book), series)

    assert (after.series, after.lost) == ({}, 3)


def test_the_oldest_that_is_told_makes_room_and_else_the_newest_is_lost() -> None:
    told_one = told(book_of(notice(0, 1)))
    full = book_of(*(notice(0, code, at=code) for code in range(2, 101)), book=told_one)
    with_room = book_of(notice(0, 101, at=101), book=full)
    overfull = book_of(notice(0, 102, at=102), book=with_room)
    known = book_of(notice(0, 50, at=103), book=overfull)

    assert records.key_of(notice(0, 1)) in full.series
    assert records.key_of(notice(0, 1)) not in with_room.series
    assert records.key_of(notice(0, 101)) in with_room.series
    assert records.key_of(notice(0, 102)) not in overfull.series
    assert (with_room.lost, overfull.lost, known.lost) == (0, 1, 1)
    assert known.series[records.key_of(notice(0, 50))].count == 2


def test_a_name_fits_and_differs_by_node_and_time() -> None:
    (series,) = book_of(notice()).series.values()
    later = replace(series, first_ms=Millis(T0 + 1))

    names = {
        records.event_name("a" * 253, series),
        records.event_name("a" * 253, later),
        records.event_name("n1", series),
    }
    cut = records.event_name("a" * 235 + "." + "b" * 17, series)

    assert len(names) == 3
    assert max(map(len, names)) == 253
    assert cut.startswith("a" * 235 + ".")
    assert ".." not in cut


@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 60), st.sampled_from(NoticeKind), st.booleans()
        ),
        max_size=200,
    )
)
def test_every_happening_is_told_or_lost_and_nothing_is_unbounded(
    steps: list[tuple[int, int, NoticeKind, bool]],
) -> None:
    book, at, shown = EventBook(), 0, 0
    for phy, code, kind, answers in steps:
        at += 500
        book = book_of(notice(phy, code, at=at, kind=kind), book=book)
        while series := next_of(book, at):
            book = records.sent(book, series, Millis(T0 + at))
            if not answers:
                break
            shown += series.untold
            book = records.acknowledged(book, series)
    while (due := records.due(book, Millis(T0 + at))) != records.Due():
        if due.series is None:
            assert due.wake_at is not None
            assert due.wake_at > T0 + at
            at = due.wake_at - T0
        else:
            shown += due.series.untold
            book = told(book, at)

    assert shown + book.lost == len(steps)
    assert len(book.series) <= 100


def announcement(pod: str = "", *, about: str = "", at: int = 0) -> Announcement:
    ref = PodRef(key=PodKey(namespace="default", name="p"), uid=PodUid(pod)) if pod else None
    return Announcement(
        reason="R", message="m", warning=True, at_ms=Millis(T0 + at), pod=ref, about=about
    )


def test_what_is_announced_is_one_thing_by_reason_pod_and_subject() -> None:
    """A pod that is made anew is another one, though people call it the same."""
    book = book_of(
        announcement("u1"),
        announcement("u1", at=5),
        announcement("u2"),
        announcement(),
        announcement(about="npu 1"),
    )
    posted, _ = drained(book)

    assert sorted((one.key.pod or "", one.key.about, one.count) for one in posted) == [
        ("", "", 1),
        ("", "npu 1", 1),
        ("u1", "", 2),
        ("u2", "", 1),
    ]
    assert {one.key.word for one in posted} == {"R"}
    assert len({records.event_name("n1", one) for one in posted}) == 4


def test_pods_leave_room_for_faults_and_turns_too() -> None:
    """A hundred refused pods of one user, and for ten minutes no fault would have been told."""
    flood = book_of(*(announcement(f"u{number}", at=number) for number in range(200)))
    book = book_of(*(notice(phy, at=500 + phy) for phy in range(40)), book=flood)

    assert (len(flood.series), flood.lost) == (60, 140)
    assert (len(book.series), book.lost) == (100, 140)
    posted, _ = drained(book, 1000)
    assert [one.key.npu for one in posted] == list(range(10))


def test_a_pod_that_was_told_makes_room_for_another_and_no_fault_does() -> None:
    told_fault = told(book_of(notice(at=0)))
    pods = [announcement(f"u{number}", at=1 + number) for number in range(60)]
    full = book_of(*pods, book=told_fault)

    lost = book_of(announcement("u60", at=99), book=full)
    made_room = book_of(announcement("u60", at=99), book=told(full, 1000))

    assert (lost.lost, lost.series.keys()) == (1, full.series.keys())
    assert made_room.lost == 0
    assert records.key_of(notice()) in made_room.series
    assert records.key_of(pods[0]) not in made_room.series
    assert book_of(announcement("u5", at=99), book=full).lost == 0


def flooded(book: EventBook, *, start: int, end: int) -> tuple[list[Series], EventBook]:
    """Post what may be posted while twice as many pods are refused as there are turns."""
    posted = []
    for at in range(start, end, 3000):
        more, book = drained(book_of(announcement(f"u{at}", at=at), book=book), at)
        posted += more
    return posted, book


def test_pods_that_keep_coming_hold_up_no_fault_whose_event_failed() -> None:
    """Each of them was new, and what had failed once came after all that was new."""
    _, book = flooded(EventBook(), start=0, end=120_000)
    book = book_of(notice(at=120_000), book=book)
    fault = next_of(book, 130_000)
    assert fault is not None
    assert fault.key == records.key_of(notice())
    failed = records.sent(book, fault, Millis(T0 + 130_000))
    posted, _ = flooded(failed, start=130_000, end=1_200_000)

    assert [one.key for one in posted].count(fault.key) == 1


def test_pods_that_keep_coming_hold_up_no_fault_that_is_there_again() -> None:
    """For as long as they came the last that Events said was that it had recovered."""
    happened = notice(at=0), notice(at=1, kind=NoticeKind.RECOVERED)
    _, book = flooded(book_of(*happened), start=3000, end=300_000)
    posted, _ = flooded(book_of(notice(at=300_000), book=book), start=300_000, end=1_200_000)

    assert [one.count for one in posted if one.key.pod is None] == [2]


def test_what_was_refused_before_the_last_word_about_a_fault_goes_before_its_count() -> None:
    """And a count of one pod goes before the first word about no other."""
    _, book = drained(book_of(notice(at=0), announcement("u0", at=1)), 2)
    book = book_of(announcement("u1", at=1), book=book)
    again = book_of(notice(at=2000), announcement("u0", at=2000), book=book)
    posted, _ = drained(again, 3000)

    assert [(one.key.pod, one.count) for one in posted] == [("u1", 1), (None, 2), ("u0", 2)]
    later = book_of(announcement("u2", at=2000), announcement("u0", at=2000), book=told(book, 10))
    assert [one.key.pod for one in drained(later, 3000)[0]] == ["u2", "u0"]
