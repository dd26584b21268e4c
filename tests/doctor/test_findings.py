"""What findings add up to."""

import pytest

from ascend_agent.doctor.findings import Examined, Verdict, fail, ok, skipped, warn, worst


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        ([], Verdict.SKIPPED),
        ([Verdict.SKIPPED], Verdict.SKIPPED),
        ([Verdict.SKIPPED, Verdict.OK], Verdict.OK),
        ([Verdict.OK, Verdict.WARN, Verdict.SKIPPED], Verdict.WARN),
        ([Verdict.FAIL, Verdict.WARN, Verdict.OK], Verdict.FAIL),
    ],
)
def test_the_worst_finding_counts(verdicts: list[Verdict], result: Verdict) -> None:
    assert worst(verdicts) is result


def test_a_check_is_as_bad_as_its_worst_finding() -> None:
    findings = (ok("a"), fail("b", remedy="mend it"), warn("c", remedy="look"), skipped("d", "off"))

    assert Examined(check="x", findings=findings, took_ms=1).verdict is Verdict.FAIL


def test_a_skipped_finding_says_why() -> None:
    assert skipped("clock", "no API server").detail == "no API server"
