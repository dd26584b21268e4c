"""An operator's rules, with every limit of MindCluster's format."""

import json

import pytest

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.config_text import Parsed
from ascend_agent.faults.customization import Customization, parse_customization
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FrequencyRule

RULES = Customization(frequency=BUILT_IN.frequency, duration=BUILT_IN.duration, spellings={})
PARITY, LINK = FaultCode(0x80E18005), FaultCode(0x81078603)
FREQUENCY = {
    "EventId": ["80E18005"],
    "TimeWindow": 86400,
    "Times": 3,
    "FaultHandling": "ManuallySeparateNPU",
}
DURATION = {
    "EventId": ["81078603"],
    "FaultTimeout": 20,
    "RecoverTimeout": 60,
    "FaultHandling": "PreSeparateNPU",
}


def parse(**keys: object) -> Parsed[Customization]:
    return parse_customization(json.dumps(keys), built_in=RULES)


def frequency(**changes: object) -> Parsed[Customization]:
    """Parse the file with one frequency rule, changed, beside a valid one of another code."""
    return parse(FaultFrequency=[FREQUENCY | changes, FREQUENCY | {"EventId": ["1"]}])


def duration(**changes: object) -> Parsed[Customization]:
    return parse(FaultDuration=[DURATION | changes, DURATION | {"EventId": ["1"]}])


def test_both_kinds_of_rule_are_read_in_seconds() -> None:
    release = {"EventId": ["81078603"], "Times": 5, "ReleaseTimeWindow": 172800}
    parsed = parse(
        GraceTolerance={"WaitProcessReadCMTime": 30},
        FaultFrequency=[FREQUENCY, FREQUENCY | release],
        FaultDuration=[DURATION],
    )

    manual = FaultLevel.MANUALLY_SEPARATE_NPU
    assert parsed.problems == ()
    assert parsed.value == Customization(
        frequency={
            PARITY: FrequencyRule(times=3, window_ms=86_400_000, release_ms=None, level=manual),
            LINK: FrequencyRule(
                times=5, window_ms=86_400_000, release_ms=172_800_000, level=manual
            ),
        },
        duration={
            LINK: DurationRule(
                fault_timeout_ms=20_000,
                recover_timeout_ms=60_000,
                level=FaultLevel.PRE_SEPARATE_NPU,
            )
        },
        spellings={},
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"EventId": []}, "EventId names no code"),
        ({"EventId": None}, "EventId names no code"),
        ({"TimeWindow": 59}, "TimeWindow 59 is out of range; give 60 to 864000"),
        ({"TimeWindow": 864_001}, "TimeWindow"),
        ({"TimeWindow": None}, "TimeWindow 0"),
        ({"ReleaseTimeWindow": 59}, "ReleaseTimeWindow 59 is out of range; give 60 to 4294967296"),
        ({"ReleaseTimeWindow": 2**32 + 1}, "ReleaseTimeWindow"),
        ({"ReleaseTimeWindow": -1}, "ReleaseTimeWindow"),
        ({"Times": 0}, "Times 0 is out of range; give 1 to 100"),
        ({"Times": 101}, "Times"),
        ({"FaultHandling": "RestartNPU"}, "would never end"),
        ({"FaultHandling": "RestartNPU", "ReleaseTimeWindow": 2**32}, "would never end"),
        ({"FaultHandling": None}, "would never end"),
        ({"FaultHandling": "Isolate", "ReleaseTimeWindow": 60}, "'Isolate' is no level"),
        ({"FaultHandling": "manuallyseparatenpu", "ReleaseTimeWindow": 60}, "is no level"),
    ],
)
def test_a_frequency_rule_out_of_its_limits_is_left_out(
    changes: dict[str, object], says: str
) -> None:
    """The other rule stands."""
    parsed = frequency(**changes)

    assert parsed.value is not None
    assert set(parsed.value.frequency) == {1}
    assert parsed.problems[0].startswith("FaultFrequency[0]: ")
    assert says in parsed.problems[0]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"TimeWindow": 60}, (60_000, 3, None)),
        ({"TimeWindow": 864_000}, (864_000_000, 3, None)),
        ({"Times": 1}, (86_400_000, 1, None)),
        ({"Times": 100}, (86_400_000, 100, None)),
        ({"ReleaseTimeWindow": 0}, (86_400_000, 3, None)),
        ({"ReleaseTimeWindow": 2**32}, (86_400_000, 3, None)),  # means never
        ({"ReleaseTimeWindow": 60}, (86_400_000, 3, 60_000)),
        ({"ReleaseTimeWindow": 2**32 - 1}, (86_400_000, 3, (2**32 - 1) * 1000)),
    ],
)
def test_the_limits_of_a_frequency_rule_are_allowed(
    changes: dict[str, object], rule: tuple[int, int, int | None]
) -> None:
    parsed = frequency(**changes)

    assert parsed.value is not None
    found = parsed.value.frequency[PARITY]
    assert (found.window_ms, found.times, found.release_ms) == rule
    assert parsed.problems == ()


@pytest.mark.parametrize("level", FaultLevel)
def test_a_frequency_rule_may_raise_to_each_level_that_ends(level: FaultLevel) -> None:
    parsed = frequency(FaultHandling=level.value, ReleaseTimeWindow=60)

    assert parsed.value is not None
    assert parsed.value.frequency[PARITY].level is level


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"EventId": []}, "EventId names no code"),
        ({"FaultTimeout": -1}, "FaultTimeout -1 is out of range; give 0 to 600"),
        ({"FaultTimeout": 601}, "FaultTimeout"),
        ({"RecoverTimeout": -1}, "RecoverTimeout -1 is out of range; give 0 to 86400"),
        ({"RecoverTimeout": 86_401}, "RecoverTimeout"),
        ({"FaultHandling": "ManuallySeparateNPU"}, "'ManuallySeparateNPU' is no level for it"),
        ({"FaultHandling": ""}, "is no level for it"),
    ],
)
def test_a_duration_rule_out_of_its_limits_is_left_out(
    changes: dict[str, object], says: str
) -> None:
    parsed = duration(**changes)

    assert parsed.value is not None
    assert set(parsed.value.duration) == {1}
    assert parsed.problems[0].startswith("FaultDuration[0]: ")
    assert says in parsed.problems[0]


@pytest.mark.parametrize("limits", [(0, 0), (600, 86_400)])
def test_the_limits_of_a_duration_rule_are_allowed(limits: tuple[int, int]) -> None:
    parsed = duration(FaultTimeout=limits[0], RecoverTimeout=limits[1])

    assert parsed.value is not None
    found = parsed.value.duration[LINK]
    assert (found.fault_timeout_ms, found.recover_timeout_ms) == (
        limits[0] * 1000,
        limits[1] * 1000,
    )


def test_the_first_valid_rule_for_a_code_counts() -> None:
    """Also where an earlier entry for the code was left out."""
    bad, first, second = ({"Times": times} for times in (0, 7, 8))
    parsed = parse(FaultFrequency=[FREQUENCY | bad, FREQUENCY | first, FREQUENCY | second])

    assert parsed.value is not None
    assert parsed.value.frequency[PARITY].times == 7
    assert parsed.problems[1] == (
        "FaultFrequency[2]: '80E18005' has a rule already; the first one counts"
    )


def test_rules_are_for_numbers_and_spellings_are_kept() -> None:
    """D30: a rule for 20001002 is one for 020001002."""
    parsed = frequency(EventId=["20001002", "0000000000a", "0x1"])

    assert parsed.value is not None
    assert set(parsed.value.frequency) == {0x20001002, 0xA, 1}
    assert parsed.value.spellings == {FaultCode(0xA): "0000000000A", FaultCode(1): "1"}
    assert "'0x1' is no code" in parsed.problems[0]


def test_a_list_that_is_absent_leaves_the_built_in_rules() -> None:
    parsed = parse(FaultDuration=[DURATION])

    assert parsed.value is not None
    assert parsed.value.frequency == BUILT_IN.frequency
    assert set(parsed.value.duration) == {LINK}


def test_an_empty_list_switches_its_rules_off() -> None:
    """There is no other way to say so."""
    parsed = parse(FaultFrequency=[])

    assert parsed.value is not None
    assert parsed.value.frequency == {}
    assert parsed.value.duration == BUILT_IN.duration


def test_a_list_without_any_valid_rule_is_refused() -> None:
    """Whoever writes rules does not mean to have none."""
    parsed = parse(FaultFrequency=[FREQUENCY | {"Times": 0}])

    assert parsed.value is None
    assert "Times 0" in parsed.problems[0]
    assert "no entry that can be used" in parsed.problems[1]


def test_a_key_without_meaning_is_told() -> None:
    parsed = parse(
        FaultFrequency=[FREQUENCY | {"Window": 1}],
        FaultDuration=[DURATION | {"Times": 1}],
        Surprise=1,
    )

    assert parsed.value is not None
    assert [text.partition(" has no meaning")[0] for text in parsed.problems] == [
        "FaultFrequency[0]: key 'Window'",
        "FaultDuration[0]: key 'Times'",
        "key 'Surprise'",
    ]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({}, "has none of the keys"),
        ({"Frequency": []}, "has none of the keys"),
        ({"FaultFrequency": {}}, "FaultFrequency is no list"),
        ({"FaultFrequency": ["80E18005"]}, "FaultFrequency[0] is no object"),
        ({"FaultDuration": [DURATION | {"EventId": "81078603"}]}, "EventId is no list"),
        ({"FaultDuration": [DURATION | {"EventId": [1]}]}, "EventId holds something else"),
        ({"FaultDuration": [DURATION | {"FaultTimeout": "20"}]}, "FaultTimeout '20' is no whole"),
        ({"FaultDuration": [DURATION | {"FaultTimeout": 2.5}]}, "FaultTimeout 2.5 is no whole"),
        ({"FaultDuration": [DURATION | {"FaultTimeout": True}]}, "FaultTimeout True is no whole"),
        ({"FaultDuration": [DURATION | {"FaultHandling": 7}]}, "FaultHandling 7 is no text"),
        ({"GraceTolerance": 30}, "GraceTolerance is no object"),
        ({"GraceTolerance": {"WaitDeviceResetTime": "150"}}, "WaitDeviceResetTime '150' is no"),
    ],
)
def test_a_wrong_type_refuses_the_whole_file(keys: dict[str, object], says: str) -> None:
    """``{}`` too: it says nothing, and must not empty anything (D31, D32)."""
    parsed = parse(**keys)

    assert parsed.value is None
    assert says in parsed.problems[-1]


def test_grace_times_alone_change_nothing() -> None:
    """What they were for exists no more; MindCluster reads them and uses them nowhere."""
    assert parse(GraceTolerance={"WaitDeviceResetTime": 9999}) == Parsed(value=RULES)
