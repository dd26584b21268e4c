import logging

import pytest

from ascend_agent.flows.leaked_vnpus import LeakedVnpus
from ascend_agent.model.ids import Millis
from ascend_agent.model.vnpu import Vnpu, VnpuId
from tests.fakes.npus import npu


def _vnpu(number: int) -> Vnpu:
    return Vnpu(vnpu=VnpuId(number), template="vir02", opened=False, container=0xFFFFFFFFFFFF)


@pytest.fixture(autouse=True)
def _hear_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def _told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, int]]:
    found = [(each.getMessage(), vars(each)["npu"], vars(each)["vnpu"]) for each in caplog.records]
    caplog.clear()
    return found


def test_each_leak_is_told_once_when_it_comes_and_when_it_goes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaks = LeakedVnpus()
    for _ in range(2):
        leaks.see(npu(0), [_vnpu(100)])
        leaks.see(npu(1), [_vnpu(100)])
    assert _told(caplog) == [("vnpu leaked", 0, 100), ("vnpu leaked", 1, 100)]

    leaks.see(npu(0), [])
    leaks.note_removed(npu(1), _vnpu(100))
    leaks.see(npu(1), [])
    assert _told(caplog) == [("vnpu no longer leaked", 0, 100), ("vnpu removed", 1, 100)]

    leaks.see(npu(0), [_vnpu(100)])
    assert _told(caplog) == [("vnpu leaked", 0, 100)]


def test_every_line_names_the_npu_and_the_vnpu(caplog: pytest.LogCaptureFixture) -> None:
    LeakedVnpus().see(npu(1), [_vnpu(100)])

    facts = vars(caplog.records[0])
    assert (facts["bus"], facts["template"], facts["container"]) == (
        "0000:C1:00.0",
        "vir02",
        "ffffffffffff",
    )


def test_a_refusal_is_told_again_when_its_reason_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaks = LeakedVnpus()
    for why in ("busy", "busy", "gone wrong"):
        leaks.note_refused(npu(0), _vnpu(100), why)

    assert [vars(each)["why"] for each in caplog.records] == ["busy", "gone wrong"]
    assert _told(caplog) == [("vnpu not removed", 0, 100)] * 2


@pytest.mark.parametrize("ends", ["removed", "no longer leaked"])
def test_what_went_may_be_refused_anew(caplog: pytest.LogCaptureFixture, ends: str) -> None:
    leaks = LeakedVnpus()
    for _ in range(2):
        leaks.see(npu(0), [_vnpu(100)])
        leaks.note_refused(npu(0), _vnpu(100), "busy")
        if ends == "removed":
            leaks.note_removed(npu(0), _vnpu(100))
        else:
            leaks.see(npu(0), [])

    assert [each.getMessage() for each in caplog.records] == [
        "vnpu leaked",
        "vnpu not removed",
        f"vnpu {ends}",
    ] * 2


def test_an_npu_that_can_not_be_read_is_told_until_it_can(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaks = LeakedVnpus()
    for why in ("", "hangs", "hangs", "is lost", "", ""):
        leaks.note_read(npu(0), why)

    assert [(each.getMessage(), vars(each).get("why")) for each in caplog.records] == [
        ("vnpus not readable", "hangs"),
        ("vnpus not readable", "is lost"),
        ("vnpus readable again", None),
    ]


def test_why_nothing_is_removed_is_told_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    leaks = LeakedVnpus()
    for now, why in enumerate(("", "", "away", "away", "unclear", "", "")):
        leaks.note_mode(why, Millis(now))

    assert [(each.getMessage(), vars(each).get("why")) for each in caplog.records] == [
        ("vnpu sweep only reports", "away"),
        ("vnpu sweep only reports", "unclear"),
        ("vnpu sweep removes", None),
    ]


def test_what_changes_all_the_time_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """One pod whose annotations were edited fifty times a second made a hundred lines a second."""
    leaks = LeakedVnpus()
    for number in range(3000):
        leaks.note_mode(f"pod {number} can't be understood" if number % 2 else "", Millis(number))
    assert len(caplog.records) == 7

    leaks.note_mode("", Millis(70_000))
    assert [each.getMessage() for each in caplog.records[7:]] == ["vnpu sweep removes"]
