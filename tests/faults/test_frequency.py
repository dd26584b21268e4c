from ascend_agent.faults.frequency import calmed, counted, fires, forgiven_at, within
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory
from tests.faults.rule_steps import ms, often

RULE = often(2, window_s=60)


def occurred(*at_s: float) -> CodeHistory:
    record = CodeHistory()
    for at in at_s:
        record = counted(record, ms(at))
    return record


def test_an_occurrence_is_not_over_at_once() -> None:
    record = counted(calmed(occurred(1), ms(2)), ms(3))

    assert record == CodeHistory(occurrences=(ms(1), ms(3)), last_fault_ms=ms(3))


def test_occurrences_ascend_even_if_the_clock_of_one_lags() -> None:
    """The window drops from the front, so an older one behind it would stay too long."""
    assert occurred(5, 4).occurrences == (ms(5), ms(5))


def test_the_first_recovery_counts() -> None:
    record = calmed(occurred(1), ms(5))

    assert record.last_recover_ms == ms(5)
    assert calmed(record, ms(7)) is record


def test_a_recovery_without_a_fault_says_nothing() -> None:
    assert calmed(CodeHistory(), ms(5)) == CodeHistory()


def test_a_recovery_is_never_earlier_than_its_fault() -> None:
    """A code could count as faulty for ever, if two clocks disagreed."""
    assert calmed(occurred(5), ms(4)).last_recover_ms == ms(5)


def test_the_window_ends_at_a_full_second() -> None:
    """Faults 3.2: older than the full seconds of now less the window."""
    record = occurred(10, 10.5)

    assert within(record, RULE, ms(70.999)) is record
    assert within(record, RULE, ms(71)).occurrences == ()
    assert within(occurred(10, 11), RULE, ms(71)).occurrences == (ms(11),)


def test_a_rule_fires_at_its_number() -> None:
    assert not fires(occurred(1), RULE)
    assert fires(occurred(1, 2), RULE)


def test_forgiveness_comes_a_millisecond_after_the_window() -> None:
    """Strictly longer than the window."""
    assert forgiven_at(calmed(occurred(1), ms(5)), 60_000) == Millis(65_001)


def test_what_stands_or_has_no_window_is_not_forgiven() -> None:
    assert forgiven_at(occurred(1), 60_000) is None
    assert forgiven_at(calmed(occurred(1), ms(5)), None) is None
