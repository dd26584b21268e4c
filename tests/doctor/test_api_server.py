"""What follows from a visit to the API server."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.doctor.answers import ClusterAnswer, ClusterTrouble
from ascend_agent.doctor.api_server import (
    CLOCK,
    RULES_GRANTED,
    SERVER,
    judge_clock,
    judge_server,
)
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import FACTS, OFF, found, place, the_one

TROUBLE = ClusterTrouble(
    server="https://10.0.0.1:443", credentials="kubeconfig /k", why="401", remedy="renew it"
)


async def test_a_server_that_answers_is_shown_with_the_credentials(tmp_path: Path) -> None:
    """Which cluster, and as whom, is the first thing to know (CF-10)."""
    finding = await the_one(SERVER, place(tmp_path, cluster=FACTS))

    assert finding.verdict is Verdict.OK
    assert finding.detail == "https://10.0.0.1:443, v1.36.3, credentials: service account"


async def test_one_that_does_not_fails_with_its_reason(tmp_path: Path) -> None:
    finding = await the_one(SERVER, place(tmp_path, cluster=TROUBLE))

    assert (finding.verdict, finding.remedy) == (Verdict.FAIL, "renew it")
    assert "401 (https://10.0.0.1:443, credentials: kubeconfig /k)" in finding.detail


async def test_without_an_api_server_nothing_is_judged(tmp_path: Path) -> None:
    for check in (SERVER, RULES_GRANTED, CLOCK):
        assert (await the_one(check, place(tmp_path, cluster=OFF))).verdict is Verdict.SKIPPED


async def test_without_an_api_server_a_node_of_hamis_can_serve_nobody(tmp_path: Path) -> None:
    settings: dict[str, object] = {"dialect": "hami", "node_name": "n1"}
    finding = await the_one(SERVER, place(tmp_path, cluster=OFF, settings=settings))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "no api server to ask")
    assert "--kubeconfig" in finding.remedy


@pytest.mark.parametrize("cluster", [TROUBLE, OFF])
async def test_the_other_checks_leave_the_failure_to_the_first(
    tmp_path: Path, cluster: ClusterAnswer
) -> None:
    for check in (RULES_GRANTED, CLOCK):
        assert (await the_one(check, place(tmp_path, cluster=cluster))).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("version", "verdicts"),
    [
        ("v1.28.0", [Verdict.OK]),
        ("v1.37.1+rke2r1", [Verdict.OK]),
        ("v1.27.16", [Verdict.OK, Verdict.WARN]),
        ("v1.38.0", [Verdict.OK, Verdict.WARN]),
        ("?", [Verdict.OK, Verdict.WARN]),
    ],
)
def test_a_version_nobody_tried_is_a_warning(version: str, verdicts: list[Verdict]) -> None:
    findings = judge_server(dataclasses.replace(FACTS, version=version))

    assert [one.verdict for one in findings] == verdicts


@pytest.mark.parametrize(
    ("left_s", "verdict"),
    [
        (None, Verdict.OK),
        (3600.0, Verdict.OK),
        (300.0, Verdict.OK),
        (299.0, Verdict.WARN),
        (-5.0, Verdict.WARN),
    ],
)
def test_a_token_that_nobody_renewed_is_a_warning(left_s: float | None, verdict: Verdict) -> None:
    findings = judge_server(dataclasses.replace(FACTS, token_left_s=left_s))

    assert findings[-1].verdict is verdict


async def test_each_rule_is_a_finding(tmp_path: Path) -> None:
    allowed = {**FACTS.allowed, "watch pods": False, "list nodes": None}
    where = place(tmp_path, cluster=dataclasses.replace(FACTS, allowed=allowed))

    assert await found(RULES_GRANTED, where) == [
        (Verdict.WARN, "unknown whether it may list nodes"),
        (Verdict.OK, "may watch nodes"),
        (Verdict.OK, "may patch nodes"),
        (Verdict.OK, "may list pods"),
        (Verdict.FAIL, "may not watch pods"),
        (Verdict.OK, "may create events -n default"),
        (Verdict.OK, "may patch events -n default"),
    ]


async def test_a_rule_that_is_not_needed_is_not_missed(tmp_path: Path) -> None:
    allowed = {**FACTS.allowed, "patch nodes": False}
    where = place(
        tmp_path,
        cluster=dataclasses.replace(FACTS, allowed=allowed),
        settings={"node_labels": False, "node_annotations": False},
    )

    assert {verdict for verdict, _ in await found(RULES_GRANTED, where)} == {Verdict.OK}


@pytest.mark.parametrize(
    ("ahead_s", "verdict"),
    [
        (0.4, Verdict.OK),
        (-5.0, Verdict.OK),
        (5.1, Verdict.WARN),
        (-60.0, Verdict.WARN),
        (61.0, Verdict.FAIL),
        (-3600.0, Verdict.FAIL),
    ],
)
def test_a_clock_that_is_off_is_a_warning_and_one_that_is_wrong_a_failure(
    ahead_s: float, verdict: Verdict
) -> None:
    assert judge_clock(ahead_s).verdict is verdict


async def test_the_clock_is_the_servers(tmp_path: Path) -> None:
    late = dataclasses.replace(FACTS, ahead_s=-120.0)
    finding = await the_one(CLOCK, place(tmp_path, cluster=late))

    assert finding.detail == "120 s behind the API server's"
    untold = dataclasses.replace(FACTS, ahead_s=None)
    assert (await the_one(CLOCK, place(tmp_path, cluster=untold))).verdict is Verdict.SKIPPED
