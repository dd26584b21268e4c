"""``faults``: what it says of codes, of rules that can't be used, and of words that are no code."""

import io
import json
from pathlib import Path

import pytest

from ascend_agent.cli.commands import faults
from ascend_agent.cli.compose import Show
from ascend_agent.cli.faults import Explained, as_object, look_up, show
from ascend_agent.errors import ConfigError
from ascend_agent.settings import Settings
from tests.cli.programs import run_program


def text_of(*words: str, directory: Path | None = None) -> list[str]:
    stream = io.StringIO()
    show(look_up(words, directory=directory), stream=stream, as_json=False)
    return stream.getvalue().splitlines()


def the_one(*words: str, directory: Path | None = None) -> dict[str, object]:
    found = as_object(look_up(words, directory=directory))["faults"]
    assert isinstance(found, list)
    (one,) = found
    assert isinstance(one, dict)
    return one


@pytest.mark.parametrize("word", ["80E18005", "80e18005", "0x80E18005", "0X80e18005", "080E18005"])
def test_a_code_may_be_written_in_any_way(word: str) -> None:
    assert the_one(word)["code"] == "80E18005"


def test_a_code_is_explained_with_what_to_do_and_its_rules() -> None:
    lines = text_of("80E18005")

    assert lines[0] == "80E18005  RestartNPU: parity error in the HBM controller"
    assert lines[2].startswith("  To do: ")
    assert lines[3] == (
        "  Rule: 3 times within 24 h: the NPU is raised to ManuallySeparateNPU, "
        "until people lift it."
    )
    assert lines[-1] == "fault rules: built-in"


def test_the_spelling_of_the_table_is_shown() -> None:
    """Other components publish 020001002, and people search for that."""
    assert the_one("20001002")["code"] == "020001002"


def test_several_codes_are_explained_in_the_order_given() -> None:
    lines = text_of("81078603", "40F84E00")

    assert [line.split()[0] for line in lines if line and line[0].isdecimal()] == [
        "81078603",
        "40F84E00",
    ]


def test_an_unknown_code_is_explained_by_severity() -> None:
    one = the_one("8ABCDEF0")

    assert one["level"] is None
    assert one["by_severity"] == {
        "warning": "NotHandleFault",
        "minor": "NotHandleFault",
        "major": "SeparateNPU",
        "critical": "SeparateNPU",
    }
    assert text_of("8ABCDEF0")[0].startswith("8ABCDEF0  by severity: ")
    assert text_of("8ABCDEF0")[3].startswith("  By severity: warning NotHandleFault, ")


def test_a_special_code_outside_the_table_has_no_level() -> None:
    assert text_of("200001001")[0] == "200001001  no level: DPU NIC degraded"
    assert the_one("200001001")["by_severity"] is None


def test_a_switch_fault_is_explained() -> None:
    one = the_one("[0x08520003,na,CPU,na]"), the_one("[0x8520003,na,cpu,na]")

    assert [each["level"] for each in one] == [None, "Separate"]
    assert one[1]["code"] == "[0x08520003,na,cpu,na]"
    assert one[1]["plane"] == "switch"


def test_without_codes_all_are_listed_with_their_levels() -> None:
    lines = text_of()

    assert lines[0] == "fault rules: built-in"
    assert "80E18005   RestartNPU           parity error in the HBM controller  (rules: 1)" in lines
    assert "A2301001   SeparateNPU" in lines
    assert "[0x08520003,na,L2,na]       NotHandle            switch" in lines
    assert any(line.startswith("81078603") and "network" in line for line in lines)
    assert len(lines) == 1 + 802 + 1 + 30  # the DPU code stands in no list


def test_the_rules_of_a_directory_are_the_ones_that_count(tmp_path: Path) -> None:
    (tmp_path / "faultCode.json").write_text('{"SubHealthFaultCodes": ["80E18005", "8ABCDEF0"]}')
    (tmp_path / "faultCustomization.json").write_text('{"FaultFrequency": []}')

    assert the_one("80E18005", directory=tmp_path)["level"] == "SubHealthFault"
    assert the_one("80E18005", directory=tmp_path)["rules"] == ()
    assert the_one("8ABCDEF0", directory=tmp_path)["level"] == "SubHealthFault"
    assert f"directory {tmp_path}" in text_of("1", directory=tmp_path)[-1]


def test_every_word_that_is_no_code_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        look_up(["80E18005", "xyz", "[1,2,3]"], directory=None)

    lines = str(caught.value).splitlines()
    assert [line.partition(" is ")[0] for line in lines] == ["'xyz'", "'[1,2,3]'"]


def test_rules_that_can_not_be_used_are_said_and_end_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a directory can be tried before an agent is given it."""
    (tmp_path / "faultCode.json").write_text("{}")
    options = Show(for_s=None, as_json=True, has_scenario=False, words=("80E18005",))

    code = faults(Settings(fault_config_dir=tmp_path), options)

    out, err = capsys.readouterr()
    assert code == 1
    assert err.startswith(f"ascend-agent: faultCode.json of directory {tmp_path}: names no code")
    assert json.loads(out)["faults"][0]["level"] == "RestartNPU"
    assert len(json.loads(out)["refused"]) == 1


def test_json_says_what_the_text_says() -> None:
    stream = io.StringIO()
    found = look_up(["40F84E00"], directory=None)
    show(found, stream=stream, as_json=True)

    assert isinstance(found, Explained)
    assert json.loads(stream.getvalue()) == {
        "source": "built-in",
        "refused": [],
        "faults": [
            {
                "code": "40F84E00",
                "level": "RestartNPU",
                "by_severity": None,
                "plane": "chip",
                "title": found.faults[0].meaning.title,
                "meaning": found.faults[0].meaning.meaning,
                "action": found.faults[0].meaning.action,
                "rules": [],
            }
        ],
    }


@pytest.mark.peer
def test_the_command_explains_codes_wherever_its_options_stand() -> None:
    outcome = run_program("faults", "80E18005", "--json", "40F84E00")

    assert (outcome.code, outcome.err) == (0, "")
    assert [each["code"] for each in json.loads(outcome.out)["faults"]] == ["80E18005", "40F84E00"]


@pytest.mark.peer
def test_bad_input_ends_with_2_and_says_why() -> None:
    outcome = run_program("faults", "xyz")

    assert (outcome.code, outcome.out) == (2, "")
    assert "'xyz' is no fault code; give hex digits" in outcome.err
