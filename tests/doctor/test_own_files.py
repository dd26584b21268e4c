"""The files of hang detection and DPU NICs, before an agent is given them."""

from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.own_files import CHECK
from tests.doctor.scene import found, place, put, the_one

DPUS = '{"configList":[{"busType":"ub","selectors":{"vendor":["0x10b5"]}}]}'


async def test_without_files_there_is_nothing_to_judge(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("sets", "text", "verdict", "detail"),
    [
        ("dpu_config", DPUS, Verdict.OK, ""),
        ("dpu_config", DPUS.replace("busType", "bus"), Verdict.WARN, "configList.0.busType"),
        ("dpu_config", f'{{"x": 1, {DPUS[1:]}', Verdict.WARN, ": x"),
        ("dpu_config", "{", Verdict.WARN, "is no JSON"),
        ("hang_config", '{"HangDetection": {"Enabled": true}}', Verdict.OK, ""),
        ("hang_config", '{"HangDetection": {}}', Verdict.WARN, "switches hang detection off"),
        ("hang_config", "[]", Verdict.WARN, "no object HangDetection"),
    ],
)
async def test_each_file_is_judged_as_the_agent_would(
    tmp_path: Path, sets: str, text: str, verdict: Verdict, detail: str
) -> None:
    path = put(tmp_path / "file.json", text)
    settings: dict[str, object] = {sets: path, "hang_detection": True}

    finding = await the_one(CHECK, place(tmp_path, settings=settings))

    assert finding.verdict is verdict
    assert detail in finding.detail
    assert str(path) in finding.detail


@pytest.mark.parametrize(("name", "what"), [("nowhere", "missing"), (".", "not readable")])
async def test_a_file_that_can_not_be_read_is_found(tmp_path: Path, name: str, what: str) -> None:
    finding = await the_one(CHECK, place(tmp_path, settings={"dpu_config": tmp_path / name}))

    assert (finding.verdict, finding.what) == (Verdict.WARN, f"dpu configuration {what}")


async def test_thresholds_without_hang_detection_do_nothing(tmp_path: Path) -> None:
    path = put(tmp_path / "file.json", '{"HangDetection": {"Enabled": true}}')

    assert await found(CHECK, place(tmp_path, settings={"hang_config": path})) == [
        (Verdict.OK, "hang configuration in order"),
        (Verdict.WARN, "hang configuration without effect"),
    ]
