"""An operator's levels: what a file says counts, what it leaves out stays, nonsense is told."""

import json

import pytest

from ascend_agent.faults.catalog import BUILT_IN, CATALOG
from ascend_agent.faults.code_files import parse_fault_codes, parse_switch_codes
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import SwitchLevel

SMALL = Catalog(
    levels={
        FaultCode(0xA1): FaultLevel.NOT_HANDLE,
        FaultCode(0xB1): FaultLevel.RESTART_NPU,
        FaultCode(0xB2): FaultLevel.RESTART_NPU,
    },
    network_levels={FaultCode(0xC1): FaultLevel.NOT_HANDLE, FaultCode(0xC2): FaultLevel.SUB_HEALTH},
    spellings={FaultCode(0xA1): "0A1"},
)
SWITCHES = {
    "[0x00000001,na,L2,na]": SwitchLevel.NOT_HANDLE,
    "[0x00000002,na,cpu,na]": SwitchLevel.SEPARATE,
}


def levels(**keys: list[str]) -> dict[str, str]:
    """Return the level of each code of the small table once a file was read, without problems."""
    parsed = parse_fault_codes(json.dumps(keys), built_in=SMALL)
    assert parsed.value is not None
    assert parsed.problems == ()
    both = {**parsed.value.levels, **parsed.value.network_levels}
    return {f"{code:X}": level.value for code, level in both.items()}


def problems(text: str) -> tuple[str, ...]:
    """Return what is said of a file that is refused."""
    parsed = parse_fault_codes(text, built_in=SMALL)
    assert parsed.value is None
    return parsed.problems


def test_a_file_as_the_peer_ships_it_is_the_built_in_table() -> None:
    """Its network codes stand among those of chips."""
    both = {**CATALOG.levels, **CATALOG.network_levels}
    file = {
        f"{level.value}Codes": [CATALOG.text_of(code) for code in both if both[code] is level]
        for level in FaultLevel
        if level is not FaultLevel.MANUALLY_SEPARATE_NPU
    }

    assert parse_fault_codes(json.dumps(file), built_in=CATALOG).value == CATALOG


def test_a_code_that_is_named_gets_the_new_level_and_the_others_keep_theirs() -> None:
    """A short file moves a code: nobody means to make all the others unknown by it (D31)."""
    assert levels(SubHealthFaultCodes=["B1"]) == {
        "A1": "NotHandleFault",
        "B1": "SubHealthFault",
        "B2": "RestartNPU",
        "C1": "NotHandleFault",
        "C2": "SubHealthFault",
    }


def test_a_code_that_is_new_joins_its_level() -> None:
    found = levels(RestartNPUCodes=["D1"])

    assert (found["B1"], found["D1"]) == ("RestartNPU", "RestartNPU")


def test_an_empty_list_empties_nothing() -> None:
    """Its codes would be unknown, and an NPU with one of them be taken for lost."""
    assert levels(RestartNPUCodes=[], RestartBusinessCodes=["D1"])["B1"] == "RestartNPU"


def test_a_code_under_two_levels_counts_as_the_more_severe() -> None:
    assert levels(RestartNPUCodes=["D1"], NotHandleFaultCodes=["D1"])["D1"] == "RestartNPU"
    assert levels(SeparateNPUCodes=["D1"], RestartNPUCodes=["D1"])["D1"] == "SeparateNPU"


@pytest.mark.parametrize(
    "key",
    ["NotHandleFaultCodes", "SubHealthFaultCodes", "PreSeparateNPUCodes", "SeparateNPUCodes"],
)
def test_a_networks_code_may_stand_among_those_of_chips(key: str) -> None:
    found = levels(**{key: ["C1"]})

    assert found["C1"] == key.removesuffix("Codes")


def test_a_networks_code_may_stand_in_a_list_of_its_own() -> None:
    assert levels(SeparateNPUNetworkCodes=["C1"])["C1"] == "SeparateNPU"
    assert levels(SubHealthFaultNetworkCodes=["C1"])["C1"] == "SubHealthFault"


def test_no_restart_helps_a_network() -> None:
    parsed = parse_fault_codes('{"RestartNPUCodes": ["C2"]}', built_in=SMALL)

    assert parsed.value is not None
    assert parsed.value.network_levels[FaultCode(0xC2)] is FaultLevel.NOT_HANDLE
    assert "counts as NotHandleFault" in parsed.problems[0]


def test_a_chips_code_in_a_networks_list_is_left_out_and_told() -> None:
    text = '{"SeparateNPUNetworkCodes": ["A1", "C1"]}'
    parsed = parse_fault_codes(text, built_in=SMALL)

    assert parsed.value is not None
    assert parsed.value.levels[FaultCode(0xA1)] is FaultLevel.NOT_HANDLE
    assert "put it under SeparateNPUCodes" in parsed.problems[0]


def test_codes_are_numbers_and_keep_their_spelling() -> None:
    """D30: 20001002 is 020001002; the built-in spelling is what others compare with."""
    text = '{"SubHealthFaultCodes": ["a1", "0d1", "00D1", "000000D2", "D3"]}'
    catalog = parse_fault_codes(text, built_in=SMALL).value

    assert catalog is not None
    texts = [catalog.text_of(FaultCode(code)) for code in (0xA1, 0xD1, 0xD2, 0xD3)]
    assert texts == ["0A1", "0D1", "000000D2", "D3"]


def test_an_entry_that_is_no_code_is_left_out_and_told() -> None:
    parsed = parse_fault_codes('{"RestartNPUCodes": ["0xB1", "B2", ""]}', built_in=SMALL)

    assert parsed.value is not None
    assert parsed.value.levels[FaultCode(0xB2)] is FaultLevel.RESTART_NPU
    assert parsed.problems == (
        "RestartNPUCodes: '0xB1' is no code; write hex digits without 0x",
        "RestartNPUCodes: '' is no code; write hex digits without 0x",
    )


def test_a_key_without_meaning_is_told() -> None:
    text = '{"RestartNPUCode": ["B1"], "SubHealthFaultCodes": ["B2"]}'
    parsed = parse_fault_codes(text, built_in=SMALL)

    assert "key 'RestartNPUCode' has no meaning" in parsed.problems[0]


@pytest.mark.parametrize(
    "text",
    ["{}", '{"RestartNPUCodes": []}', '{"RestartNPUCodes": ["xyz"]}', '{"Codes": ["80E18005"]}'],
)
def test_a_file_without_any_code_is_refused(text: str) -> None:
    """D31: it would empty the table, and with it every NPU with a fault would be taken for lost."""
    assert "names no code" in problems(text)[-1]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"RestartNPUCodes": "80E18005"}', '{"RestartNPUCodes": [80]}']
)
def test_a_file_of_another_form_is_refused(text: str) -> None:
    assert len(problems(text)) == 1


def test_switch_faults_get_the_levels_of_their_keys() -> None:
    keys = {
        "NotHandleFaultCodes": SwitchLevel.NOT_HANDLE,
        "SubHealthFaultCodes": SwitchLevel.SUB_HEALTH,
        "RestartRequestFaultCodes": SwitchLevel.RESTART_REQUEST,
        "PreSeparateFaultCodes": SwitchLevel.PRE_SEPARATE,
        "SeparateFaultCodes": SwitchLevel.SEPARATE,
        "ResetFaultCodes": SwitchLevel.SEPARATE,
    }
    file = {key: [f"[0x{place:08X},1,npu,na]"] for place, key in enumerate(keys)}
    parsed = parse_switch_codes(json.dumps(file), built_in=SWITCHES)

    assert parsed.value == {
        **SWITCHES,
        **{f"[0x{place:08x},1,npu,na]": level for place, level in enumerate(keys.values())},
    }
    assert parsed.problems == ()


def test_the_built_in_switch_faults_that_are_not_named_stay() -> None:
    text = '{"SubHealthFaultCodes": ["[0x00000001,na,L2,na]"], "ResetFaultCodes": []}'
    parsed = parse_switch_codes(text, built_in=SWITCHES)

    assert parsed.value == {
        "[0x00000001,na,L2,na]": SwitchLevel.SUB_HEALTH,
        "[0x00000002,na,cpu,na]": SwitchLevel.SEPARATE,
    }


def test_a_switch_fault_under_two_levels_counts_as_the_more_severe() -> None:
    text = '{"SeparateFaultCodes": ["[1,2,3,4]"], "NotHandleFaultCodes": ["[1,2,3,4]"]}'

    assert parse_switch_codes(text, built_in={}).value == {"[1,2,3,4]": SwitchLevel.SEPARATE}


def test_a_bad_switch_fault_is_left_out_and_told() -> None:
    text = '{"SeparateFaultCodes": ["[1,2,3]", "[1,2,3,4]"], "Surprise": []}'
    parsed = parse_switch_codes(text, built_in={})

    assert parsed.value == {"[1,2,3,4]": SwitchLevel.SEPARATE}
    assert "'Surprise' has no meaning" in parsed.problems[0]
    assert "'[1,2,3]' is no switch fault" in parsed.problems[1]


@pytest.mark.parametrize(
    "text", ["{}", '{"SeparateFaultCodes": []}', "[]", '{"ResetFaultCodes": 1}']
)
def test_a_file_without_any_switch_fault_is_refused(text: str) -> None:
    assert parse_switch_codes(text, built_in=BUILT_IN.switches).value is None
