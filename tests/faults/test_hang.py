"""When silence on an NPU counts as a hang, and everything that must not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ascend_agent.faults.hang import (
    HangSample,
    HangThresholds,
    HangWatch,
    ProcessKey,
    advance,
    could_hang,
)
from ascend_agent.model.ids import Millis

TRAINING = ProcessKey(pid=4711, started=900)
SILENT = HangSample(cpu_s={TRAINING: 40.0}, core_percent=0, memory_percent=81, traffic=7_000)
THRESHOLDS = HangThresholds()
_ROUND_MS = 60_000


def _watch(
    samples: Sequence[HangSample], *, thresholds: HangThresholds = THRESHOLDS
) -> list[HangWatch]:
    """Return the watch after each round, the first at one minute."""
    watch, watches = HangWatch(), []
    for number, sample in enumerate(samples, 1):
        watch = advance(watch, sample, now=Millis(number * _ROUND_MS), thresholds=thresholds)
        watches.append(watch)
    return watches


def test_five_silent_rounds_after_the_first_are_a_hang() -> None:
    """The sixth round tells, in milliseconds (W23, faults D16), and the time stays."""
    watches = _watch([SILENT] * 8)

    assert [watch.hung_since_ms for watch in watches] == [None] * 5 + [360_000] * 3
    assert [watch.silent_rounds for watch in watches] == list(range(8))


@pytest.mark.parametrize(
    "moves",
    [
        pytest.param(replace(SILENT, core_percent=5), id="cores"),
        pytest.param(replace(SILENT, memory_percent=82), id="more memory"),
        pytest.param(replace(SILENT, memory_percent=80), id="less memory"),
        pytest.param(replace(SILENT, traffic=7_100), id="traffic"),
        pytest.param(replace(SILENT, traffic=12), id="traffic counted anew"),
        pytest.param(replace(SILENT, cpu_s={TRAINING: 45.0}), id="processor time"),
        pytest.param(replace(SILENT, cpu_s={}), id="nobody there"),
        pytest.param(replace(SILENT, cpu_s={ProcessKey(4712, 950): 40.0}), id="another process"),
        pytest.param(replace(SILENT, cpu_s={ProcessKey(4711, 950): 40.0}), id="its number again"),
        pytest.param(
            replace(SILENT, cpu_s={TRAINING: 40.0, ProcessKey(4712, 950): 0.0}), id="one more"
        ),
    ],
)
def test_whatever_moves_ends_a_hang_and_begins_a_new_account(moves: HangSample) -> None:
    """A share of memory that falls is a change as well (faults D83)."""
    watches = _watch([*[SILENT] * 6, moves, *[SILENT] * 2])

    assert watches[5].hung_since_ms == 360_000
    assert watches[6].hung_since_ms is None
    assert watches[6].silent_rounds == 0
    assert watches[8].silent_rounds <= 2


@pytest.mark.parametrize(
    "unknown",
    [
        replace(SILENT, cpu_s=None),
        replace(SILENT, core_percent=None),
        replace(SILENT, memory_percent=None),
        replace(SILENT, traffic=None),
    ],
)
def test_what_can_not_be_found_out_is_no_hang(unknown: HangSample) -> None:
    """A failed query read as zero, and zero as silence (faults D83)."""
    assert all(watch.hung_since_ms is None for watch in _watch([unknown] * 20))
    assert _watch([*[SILENT] * 6, unknown])[-1].hung_since_ms is None


def test_a_gap_in_what_is_known_is_no_silent_round_either() -> None:
    """The round after an unknown one has nothing to be compared with."""
    unknown = replace(SILENT, traffic=None)

    watches = _watch([SILENT, SILENT, unknown, SILENT, SILENT])

    assert [watch.silent_rounds for watch in watches] == [0, 1, 0, 0, 1]


def test_an_npu_that_nobody_holds_does_not_hang() -> None:
    assert _watch([replace(SILENT, cpu_s={})] * 20) == [HangWatch()] * 20


def test_little_is_still_silence() -> None:
    """Just below each threshold: heartbeats of a waiting job move that much."""
    almost = [
        replace(
            SILENT,
            core_percent=4,
            traffic=7_000 + 99 * number,
            cpu_s={TRAINING: 40.0 + 4.9 * number},
        )
        for number in range(6)
    ]

    assert _watch(almost)[-1].hung_since_ms == 360_000


def test_thresholds_are_the_operators() -> None:
    """Each one turns a round that was not silent into a silent one, or the other way round."""
    rounds = [
        replace(SILENT, core_percent=30, memory_percent=80 + number % 2, traffic=500 * number)
        for number in range(3)
    ]
    patient = HangThresholds(core_percent=31, memory_percent=1, traffic=501, cpu_s=1, rounds=2)

    assert _watch(rounds, thresholds=patient)[-1].hung_since_ms == 180_000
    assert _watch(rounds)[-1].silent_rounds == 0
    for strict in (
        replace(patient, core_percent=30),
        replace(patient, memory_percent=0),
        replace(patient, traffic=500),
        replace(patient, cpu_s=0),
        replace(patient, rounds=3),
    ):
        assert _watch(rounds, thresholds=strict)[-1].hung_since_ms is None


@pytest.mark.parametrize(
    ("sample", "worth"),
    [
        (SILENT, True),
        (replace(SILENT, traffic=None), True),
        (replace(SILENT, core_percent=5), False),
        (replace(SILENT, core_percent=None), False),
        (replace(SILENT, cpu_s={}), False),
        (replace(SILENT, cpu_s=None), False),
    ],
)
def test_only_of_an_idle_npu_that_is_held_the_rest_is_asked(
    sample: HangSample, *, worth: bool
) -> None:
    """Traffic costs a process a question; a busy NPU doesn't hang whatever the answer."""
    assert could_hang(sample, THRESHOLDS) is worth
