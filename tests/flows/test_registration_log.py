"""Each change of the registration is said once, and routine never."""

import logging
from collections.abc import Mapping

import pytest

from ascend_agent.dialects.hami.leave import Step
from ascend_agent.dialects.hami.register import Listing
from ascend_agent.flows.disputes import Disputes
from ascend_agent.flows.registration_log import RegistrationLog
from ascend_agent.model.cluster import ForeignEdit, MetadataField
from ascend_agent.model.ids import Millis

HARD = Listing(word="W", devices="[1]", soft=False)
SICK = Listing(word="W", devices="[2]", soft=False)
SOFT = Listing(word="W", devices="[2]", soft=True)


def facts(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, Mapping[str, object]]]:
    return [(each.levelname, each.getMessage(), vars(each)) for each in caplog.records]


def test_a_list_that_follows_health_is_routine(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = RegistrationLog()
    log.registered(None, HARD)
    log.registered(HARD, SICK)
    log.registered(SICK, SOFT)

    said = [(level, text, found["word"], found["soft"]) for level, text, found in facts(caplog)]
    assert said == [
        ("INFO", "node registered", "W", False),
        ("INFO", "node registered", "W", True),
    ]


def test_whether_the_scheduler_let_go_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = RegistrationLog()
    log.taken_back("W", Step(over=True))
    log.taken_back("W", Step(over=True, unheard=True))

    assert [found["heard"] for _, _, found in facts(caplog)] == [True, False]


def test_a_quarrel_is_told_when_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log, disputes = RegistrationLog(), Disputes()
    for _ in range(5):
        edit = ForeignEdit(
            pod=None,
            field=MetadataField.ANNOTATIONS,
            key="k",
            wrote="x" * 100,
            found=None,
            at_ms=Millis(0),
        )
        log.changed_by_others(edit, disputes.note(edit, Millis(0)), Millis(0))

    said = [(level, text, found["repaired_in_s"]) for level, text, found in facts(caplog)]
    assert said == [
        ("INFO", "registration changed by others", 0),
        ("WARNING", "registration disputed by others", 20),
    ]
    assert facts(caplog)[0][2]["wrote"] == "x" * 80 + "..."


def test_a_scheduler_that_is_hasty_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = RegistrationLog()
    log.hasty("W", is_so=True)
    log.hasty("W", is_so=False)

    assert [(level, text, found["word"]) for level, text, found in facts(caplog)] == [
        ("WARNING", "scheduler does not wait for answers", "W"),
        ("INFO", "scheduler waits for answers again", "W"),
    ]


def test_trouble_is_said_when_it_begins_changes_and_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    log = RegistrationLog()
    log.well()
    for why in ("no", "no", "never", "never"):
        log.failed(why)
    assert log.trouble == "never"
    log.well()
    log.well()

    assert log.trouble == ""
    assert [(text, found.get("why")) for _, text, found in facts(caplog)] == [
        ("node not registered", "no"),
        ("node not registered", "never"),
        ("node registered again", None),
    ]
