"""MindCluster's file of hang thresholds: what each form of it means."""

import json

import pytest

from ascend_agent.faults.hang import HangThresholds
from ascend_agent.faults.hang_config import BadHangConfig, HangConfig, parse_hang_config, spelled


def _parse(document: object) -> HangConfig | BadHangConfig:
    return parse_hang_config(json.dumps(document).encode())


def test_the_shipped_file_says_what_is_built_in() -> None:
    shipped = b"""{"HangDetection": {"Enabled": true, "Threshold": {"AICoreUtilization": 5,
        "HbmMemoryDelta": 0, "TrafficDelta": 100, "CPUTimeDelta": 5, "DetectDuration": 5}}}"""

    assert parse_hang_config(shipped) == HangConfig(enabled=True, thresholds=HangThresholds())


def test_every_threshold_is_taken() -> None:
    given = {
        "AICoreUtilization": 1,
        "HbmMemoryDelta": 2,
        "TrafficDelta": 3,
        "CPUTimeDelta": 4,
        "DetectDuration": 10,
    }

    assert _parse({"HangDetection": {"Enabled": True, "Threshold": given}}) == HangConfig(
        thresholds=HangThresholds(core_percent=1, memory_percent=2, traffic=3, cpu_s=4, rounds=10)
    )


@pytest.mark.parametrize("section", [{}, {"Threshold": {}}, {"Enabled": False}])
def test_a_file_that_does_not_say_enabled_switches_it_off(section: object) -> None:
    assert _parse({"HangDetection": section}) == HangConfig(enabled=False)


@pytest.mark.parametrize(
    ("key", "value"),
    [("AICoreUtilization", -1), ("TrafficDelta", -5), ("DetectDuration", 0)],
)
def test_a_threshold_that_is_too_small_has_its_default_and_is_named(key: str, value: int) -> None:
    """A duration of 0 would call every NPU hung at once."""
    config = _parse({"HangDetection": {"Enabled": True, "Threshold": {key: value}}})

    assert config == HangConfig(remarks=(f"{key} {value} is too small; the default counts",))


def test_what_has_no_effect_is_named() -> None:
    """A key with a typing error would else change nothing and nobody knew."""
    document = {
        "HangDetection": {"Enabled": True, "Treshold": {}, "Threshold": {"aicore": 3}},
        "Version": 2,
    }

    assert _parse(document) == HangConfig(
        remarks=("unknown: Version", "unknown: Treshold", "unknown: aicore")
    )


def test_no_more_is_named_than_people_read() -> None:
    """All of it goes into one line of the log."""
    document = {"HangDetection": {"Enabled": True}} | {f"key{n}": n for n in range(10_000)}

    config = _parse(document)
    assert isinstance(config, HangConfig)
    assert len(config.remarks) == 20


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is no JSON"),
        (b"{", "it is no JSON"),
        (b"\xff\xfe", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[]", "it has no object HangDetection"),
        (b"{}", "it has no object HangDetection"),
        (b'{"HangDetection": true}', "it has no object HangDetection"),
        (b'{"HangDetection": {"Enabled": "yes"}}', "Enabled is neither true nor false"),
        (b'{"HangDetection": {"Enabled": true, "Threshold": 5}}', "Threshold is no object"),
        (
            b'{"HangDetection": {"Enabled": true, "Threshold": {"CPUTimeDelta": 1.5}}}',
            "CPUTimeDelta is no whole number",
        ),
        (
            b'{"HangDetection": {"Enabled": true, "Threshold": {"CPUTimeDelta": true}}}',
            "CPUTimeDelta is no whole number",
        ),
    ],
)
def test_a_file_that_means_nothing_is_refused_whole(data: bytes, why: str) -> None:
    """Half of it in force would be what nobody wrote."""
    assert parse_hang_config(data) == BadHangConfig(why=why)


def test_thresholds_are_told_by_the_names_of_the_file() -> None:
    given = {
        "AICoreUtilization": 1,
        "HbmMemoryDelta": 2,
        "TrafficDelta": 3,
        "CPUTimeDelta": 4,
        "DetectDuration": 6,
    }
    data = json.dumps({"HangDetection": {"Enabled": True, "Threshold": given}}).encode()
    config = parse_hang_config(data)
    assert isinstance(config, HangConfig)

    assert spelled(config.thresholds) == given
