"""Who this process is, judged from a status file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.rights import CHECK, judge, read_status
from tests.doctor.scene import place, put, the_one

ALL = {"CapEff": "000001ffffffffff", "Seccomp": "0", "NoNewPrivs": "0"}
SOME = {"CapEff": "00000000a80425fb", "Seccomp": "2", "NoNewPrivs": "1"}


@pytest.mark.parametrize(
    ("status", "uid", "shares", "verdict"),
    [
        (ALL, 0, 1, Verdict.OK),
        (ALL, 0, 4, Verdict.OK),
        (SOME, 0, 1, Verdict.WARN),
        (SOME, 0, 4, Verdict.FAIL),
        (SOME, 1000, 1, Verdict.WARN),
    ],
)
def test_rights_are_measured_by_what_is_set(
    status: Mapping[str, str], uid: int, shares: int, verdict: Verdict
) -> None:
    """The share flag needs a privileged container, the rest gets along without."""
    finding = judge(status, uid=uid, shares=shares)

    assert finding.verdict is verdict
    assert f"uid {uid}, capabilities {status['CapEff']}" in finding.detail


def test_a_filter_is_called_by_its_name() -> None:
    assert "seccomp filter" in judge(SOME, uid=0, shares=1).detail


async def test_our_own_status_is_what_is_read(tmp_path: Path) -> None:
    put(tmp_path / "proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n")

    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.OK


def test_fields_are_split_at_the_first_colon() -> None:
    assert read_status("Name:\ta:b\nUid:\t0 0\n") == {"Name": "a:b", "Uid": "0 0"}
