"""Which of the offered rules are in force, and that nothing bad ever replaces something good."""

import json
from pathlib import Path

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fault_config import (
    CUSTOMIZATION,
    FAULT_CODES,
    FILES,
    SWITCH_CODES,
    FaultConfig,
    Sources,
    judge,
)
from ascend_agent.faults.meanings import describe_rules
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultFiles, SwitchLevel

PARITY = FaultCode(0x80E18005)
LOCAL, SHARED = "directory /etc/faults", "ConfigMap kube-system/rules"


def moved(level: str) -> str:
    """Return a file that gives one code another level."""
    return json.dumps({f"{level}Codes": ["80E18005"]})


def offered(
    *,
    files: dict[str, str] | None = None,
    troubles: dict[str, str] | None = None,
    data: dict[str, str] | None = None,
) -> Sources:
    return Sources(
        directory=LOCAL,
        files=FaultFiles(texts=files or {}, troubles=troubles or {}),
        config_map=SHARED,
        data=data,
    )


def level(config: FaultConfig) -> str:
    return config.rules().catalog.levels[PARITY].value


def test_without_any_offer_the_built_in_rules_are_in_force() -> None:
    config = judge(FaultConfig(), Sources())

    assert config.rules() == BUILT_IN
    assert config.rules().source == "built-in"
    assert config.refused == ()


def test_the_config_map_wins_over_the_file_and_the_file_over_what_is_built_in() -> None:
    file, data = {FAULT_CODES: moved("SubHealthFault")}, {FAULT_CODES: moved("SeparateNPU")}

    config = judge(FaultConfig(), offered(files=file))
    assert (level(config), config.rules().source) == (
        "SubHealthFault",
        f"faultCode.json: {LOCAL}",
    )
    config = judge(config, offered(files=file, data=data))
    assert (level(config), config.rules().source) == ("SeparateNPU", f"faultCode.json: {SHARED}")
    config = judge(config, offered(files=file, data=None))
    assert level(config) == "SubHealthFault"
    config = judge(config, offered())
    assert config.rules() == BUILT_IN


def test_each_file_is_taken_from_where_it_is() -> None:
    """A key that the ConfigMap lacks comes from the directory; ``PollInterval`` means nothing."""
    rules = json.dumps({"FaultFrequency": []})
    switches = json.dumps({"SeparateFaultCodes": ["[1,2,3,4]"]})
    sources = offered(
        files={CUSTOMIZATION: rules, SWITCH_CODES: switches},
        data={FAULT_CODES: moved("SubHealthFault"), "PollInterval": "300"},
    )

    config = judge(FaultConfig(), sources)

    found = config.rules()
    assert config.refused == ()
    assert level(config) == "SubHealthFault"
    assert found.frequency == {}
    assert found.duration == BUILT_IN.duration
    assert found.switches["[1,2,3,4]"] is SwitchLevel.SEPARATE
    assert found.source == (
        f"faultCode.json: {SHARED}, SwitchFaultCode.json: {LOCAL}, faultCustomization.json: {LOCAL}"
    )


def test_one_source_for_everything_is_named_once() -> None:
    data = {
        FAULT_CODES: moved("SubHealthFault"),
        SWITCH_CODES: '{"SeparateFaultCodes": ["[1,2,3,4]"]}',
        CUSTOMIZATION: '{"FaultDuration": []}',
    }

    assert set(data) == set(FILES)
    assert judge(FaultConfig(), offered(data=data)).rules().source == SHARED


def test_bad_content_is_refused_and_what_was_in_force_stays() -> None:
    """D31, D32: also where that came from the same place, and a good file lies below it."""
    good = offered(data={FAULT_CODES: moved("SeparateNPU")})
    config = judge(FaultConfig(), good)
    for bad in ("{}", "no JSON", '{"SeparateNPUCodes": "80E18005"}'):
        config = judge(
            config, offered(files={FAULT_CODES: moved("SubHealthFault")}, data={FAULT_CODES: bad})
        )
        assert level(config) == "SeparateNPU"
        assert len(config.refused) == 1
        assert config.refused[0].startswith(f"faultCode.json of {SHARED}: ")

    assert judge(config, good).refused == ()


def test_bad_content_at_start_leaves_what_lies_below() -> None:
    files = offered(files={FAULT_CODES: moved("SubHealthFault")})
    config = judge(FaultConfig(), files)

    config = judge(config, offered(files=dict(files.files.texts), data={FAULT_CODES: "{}"}))

    assert level(config) == "SubHealthFault"
    assert config.rules().source == f"faultCode.json: {LOCAL}"


def test_a_bad_entry_is_told_and_the_rest_is_in_force() -> None:
    config = judge(
        FaultConfig(), offered(data={FAULT_CODES: '{"SubHealthFaultCodes": ["80E18005", "xyz"]}'})
    )

    assert level(config) == "SubHealthFault"
    assert "'xyz' is no code" in config.refused[0]
    assert not config.codes.refused


def test_a_file_that_can_not_be_read_changes_nothing() -> None:
    """It may be there: a mount that hangs is no wish to fall back."""
    config = judge(FaultConfig(), offered(files={FAULT_CODES: moved("SeparateNPU")}))
    troubled = judge(config, offered(troubles={FAULT_CODES: "can't be read: permission denied"}))

    assert level(troubled) == "SeparateNPU"
    assert troubled.refused == (f"faultCode.json of {LOCAL}: can't be read: permission denied",)


def test_a_refused_file_that_goes_away_leaves_the_built_in_rules() -> None:
    config = judge(FaultConfig(), offered(data={CUSTOMIZATION: "{}"}))
    assert config.customization.refused

    config = judge(config, offered(data={}))

    assert config == FaultConfig()


def test_an_unchanged_offer_is_not_judged_again() -> None:
    sources = offered(data={FAULT_CODES: moved("SeparateNPU"), CUSTOMIZATION: "{}"})
    config = judge(FaultConfig(), sources)
    again = judge(config, sources)

    assert again.codes is config.codes
    assert again.customization is config.customization


def test_a_rule_keeps_the_spelling_of_its_code() -> None:
    """Other components compare the text; the table's own spelling comes first."""
    rule = {
        "EventId": ["00AB", "20001002"],
        "TimeWindow": 60,
        "Times": 1,
        "FaultHandling": "ManuallySeparateNPU",
    }
    data = {CUSTOMIZATION: json.dumps({"FaultFrequency": [rule]})}
    found = judge(FaultConfig(), offered(data=data)).rules()

    assert found.catalog.text_of(FaultCode(0xAB)) == "00AB"
    assert found.catalog.text_of(FaultCode(0x20001002)) == "020001002"
    assert found.frequency[FaultCode(0xAB)].level is FaultLevel.MANUALLY_SEPARATE_NPU
    assert found.catalog.levels is BUILT_IN.catalog.levels


def test_the_example_files_are_in_order_and_do_what_the_document_says() -> None:
    folder = Path(__file__).parents[2] / "examples/fault-rules"
    files = {name: (folder / name).read_text() for name in FILES}
    config = judge(FaultConfig(), offered(files=files))
    rules = config.rules()

    assert config.refused == ()
    assert rules.source == LOCAL
    assert rules.catalog.levels[FaultCode(0x80E18404)] is FaultLevel.NOT_HANDLE
    assert rules.catalog.network_levels[FaultCode(0x110001024)] is FaultLevel.SEPARATE_NPU
    assert rules.switches["[0x08520003,na,L2,na]"] is SwitchLevel.SUB_HEALTH
    assert describe_rules(FaultCode(0x8C204E00), rules) == (
        (
            "3 times within 60 min: the NPU is raised to ManuallySeparateNPU, "
            "until 24 h after its last recovery"
        ),
    )
    assert rules.duration[FaultCode(0x81078603)].fault_timeout_ms == 5000
