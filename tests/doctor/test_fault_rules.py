"""The operator's own fault rules, before an agent is given them."""

from pathlib import Path

import pytest

from ascend_agent.doctor.fault_rules import CHECK
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import place, put, the_one


async def test_without_a_directory_there_is_nothing_to_judge(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("text", "verdict", "detail"),
    [
        ('{"NotHandleFaultCodes": ["80E18005"]}', Verdict.OK, "faultCode.json: "),
        ("{}", Verdict.WARN, "names no code"),
        ('{"NotHandleFaultCodes": ["80E18005", "xyz"]}', Verdict.WARN, "'xyz' is no code"),
    ],
)
async def test_each_file_is_judged_as_the_agent_would(
    tmp_path: Path, text: str, verdict: Verdict, detail: str
) -> None:
    directory = tmp_path / "rules"
    put(directory / "faultCode.json", text)

    finding = await the_one(CHECK, place(tmp_path, settings={"fault_config_dir": directory}))

    assert finding.verdict is verdict
    assert detail in finding.detail
    assert str(directory) in finding.detail


async def test_a_directory_that_is_not_there_is_found(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"fault_config_dir": tmp_path / "nowhere"})

    findings = await CHECK.look(where)

    assert {finding.verdict for finding in findings} == {Verdict.WARN}
    assert len(findings) == 3
