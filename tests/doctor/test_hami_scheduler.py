"""Who of the two does not hear the other, and who keeps the node locked (CF-6, AL-14)."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.dialects.hami.node_lock import lock_of
from ascend_agent.doctor.answers import ClusterFacts, OwnNode
from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.hami_scheduler import CHECK, judge_handshake, judge_lock
from tests.doctor.hami import hami_npu, hami_place
from tests.doctor.scene import FACTS, found, place, survey

WORD = "Ascend910B3"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
LOCK = "hami.io/mutex.lock"
NOW = 1_767_225_661.0  # 2026-01-01 00:01:01 UTC
ONE = survey(hami_npu(0))


def cluster(notes: dict[str, str]) -> ClusterFacts:
    return dataclasses.replace(FACTS, node=OwnNode(annotations=notes))


@pytest.mark.parametrize(
    ("handshake", "now", "verdict", "what"),
    [
        ("Requesting_2026-01-01 00:00:12", NOW, Verdict.OK, "hears the node"),
        ("Reported_2026.01.01 00:00:01", NOW, Verdict.OK, "hears the node"),
        ("Reported_2026.01.01 00:00:01", NOW + 60, Verdict.WARN, "does not ask"),
        ("", NOW, Verdict.WARN, "does not ask"),
        ("Reported_then", NOW, Verdict.WARN, "does not ask"),
        ("Deleted_2026-01-01 00:00:12", NOW, Verdict.WARN, "dropped the node"),
    ],
)
def test_the_handshake_says_who_does_not_hear(
    handshake: str, now: float, verdict: Verdict, what: str
) -> None:
    finding = judge_handshake({REGISTER: "[]", HANDSHAKE: handshake}, word=WORD, now=now)

    assert (finding.verdict, finding.what) == (verdict, f"hami scheduler {what}")


def test_a_node_that_was_never_reported_is_said() -> None:
    finding = judge_handshake({HANDSHAKE: "Requesting_x"}, word=WORD, now=NOW)

    assert (finding.verdict, finding.what) == (Verdict.WARN, "hami scheduler not told")


@pytest.mark.parametrize(
    ("text", "now", "verdict", "what", "detail"),
    [
        ("2026-01-01T00:00:01Z,default,p1", NOW, Verdict.OK, "held", "for 60 s"),
        ("2026-01-01T08:00:01+08:00,default,p1", NOW, Verdict.OK, "held", "for 60 s"),
        ("2026-01-01T00:00:01Z,default,p1", NOW + 300, Verdict.WARN, "held for long", "is on this"),
        ("2026-01-01T00:00:01Z,default,p2", NOW + 300, Verdict.WARN, "held for long", "not on"),
        ("2026-01-01T00:00:01Z", NOW + 300, Verdict.WARN, "held for long", "names no pod"),
        ("2026-01-01T00:00:01Z,x", NOW, Verdict.WARN, "not understood", ""),
        ("2026-01-01T00:00:01", NOW, Verdict.WARN, "not understood", ""),
        ("today,default,p1", NOW, Verdict.WARN, "not understood", ""),
    ],
)
def test_a_lock_says_whose_it_is_and_for_how_long(
    text: str, now: float, verdict: Verdict, what: str, detail: str
) -> None:
    (finding,) = judge_lock(lock_of({LOCK: text}), pods=["default/p1"], now=now)

    assert (finding.verdict, finding.what) == (verdict, f"hami node lock {what}")
    assert detail in finding.detail


async def test_without_a_lock_there_is_nothing_to_say_of_it(tmp_path: Path) -> None:
    notes = {REGISTER: "[]", HANDSHAKE: "Requesting_2026-01-01 00:00:12"}
    where = hami_place(tmp_path, driver=ONE, cluster=cluster(notes))

    assert await found(CHECK, where) == [(Verdict.OK, "hami scheduler hears the node")]


async def test_a_lock_is_judged_where_no_chip_is_configured(tmp_path: Path) -> None:
    where = hami_place(tmp_path, chip="910A", driver=ONE, cluster=cluster({LOCK: "x,y"}))

    assert await found(CHECK, where) == [
        (Verdict.SKIPPED, "hami scheduler"),
        (Verdict.WARN, "hami node lock not understood"),
    ]


@pytest.mark.parametrize("what", ["dialect", "cluster", "node", "driver"])
async def test_what_can_not_be_asked_is_not_judged(tmp_path: Path, what: str) -> None:
    unknown = dataclasses.replace(FACTS, node="no such node")
    where = {
        "dialect": lambda: place(tmp_path, driver=ONE, cluster=FACTS),
        "cluster": lambda: hami_place(tmp_path, driver=ONE),
        "node": lambda: hami_place(tmp_path, driver=ONE, cluster=unknown),
        "driver": lambda: hami_place(tmp_path, cluster=FACTS),
    }[what]()

    assert await found(CHECK, where) == [(Verdict.SKIPPED, "hami scheduler")]
