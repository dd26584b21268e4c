"""What programs and people read of HAMi; docs/status.md promises each of these keys."""

import json
from dataclasses import replace
from typing import Any

from ascend_agent.flows.hami_json import describe_hami, hami_lines
from ascend_agent.flows.health_json import JsonObject
from ascend_agent.model.hami import HamiRegistration, RegistrationPhase
from tests.flows.hami_told import REGISTRATION, STATE, SWEEP, with_hidden


def loaded(described: JsonObject) -> dict[str, Any]:
    """Return what a program gets of it."""
    got: dict[str, Any] = json.loads(json.dumps(described))
    return got


def test_the_chip_is_told_with_what_a_pod_may_ask_for() -> None:
    described = loaded(describe_hami(STATE, None, None, None))

    assert {key: described[key] for key in ("chip", "word", "allocatable_mib")} == {
        "chip": "910B3",
        "word": "Ascend910B3",
        "allocatable_mib": 65536,
    }
    assert described["resource"] == "huawei.com/Ascend910B3"
    assert described["memory_resource"] == "huawei.com/Ascend910B3-memory"
    assert described["core_resource"] == "huawei.com/Ascend910B3-core"
    assert described["templates"] == [
        {"name": "vir05_1c_16g", "memory_mib": 16384, "ai_core": 5, "ai_cpu": 1}
    ]


def test_each_value_is_told_with_where_it_is_from() -> None:
    """CF-2: nobody could see why a card takes only so many pods."""
    described = loaded(describe_hami(STATE, None, None, None))

    assert described["shares"] == 4
    assert described["origins"] == [
        {"value": "shares", "origin": "template vir05_1c_16g"},
        {"value": "soft", "origin": "default"},
    ]
    assert described["layout"] == "nested"
    assert described["warnings"] == ["unknown key <vDevice>"]
    assert described["refused"] == ["node-config.yaml: no mapping"]


def test_the_mode_is_the_one_that_is_done() -> None:
    """CF-6: pods stay pending where what is asked for and what is done differ."""
    hard = loaded(describe_hami(STATE, None, None, None))
    soft = loaded(describe_hami(replace(STATE, soft=True, soft_trouble=""), None, None, None))

    assert (hard["mode"], hard["wants_soft"]) == ("hard", True)
    assert hard["soft_trouble"] == "libvnpu.so is for another architecture"
    assert (soft["mode"], soft["soft_trouble"]) == ("soft", "")


def test_where_no_chip_is_configured_it_says_why() -> None:
    bare = replace(STATE, chip=None, trouble="chip 950 is not configured for HAMi")

    described = loaded(describe_hami(bare, None, None, None))

    assert described["trouble"] == "chip 950 is not configured for HAMi"
    assert (described["chip"], described["resource"], described["templates"]) == (None, None, [])
    assert hami_lines(bare, None)[0] == "HAMi: chip 950 is not configured for HAMi"


def test_the_registration_is_told_as_the_scheduler_sees_it() -> None:
    told = loaded(describe_hami(STATE, REGISTRATION, None, None))["registration"]

    assert told == {
        "phase": "asked",
        "word": "Ascend910B3",
        "devices": "[]",
        "handshake": "Requesting_2026-01-01 00:00:12",
        "told_at_ms": 1_700_000_000_000,
        "detail": "",
    }


def test_what_the_scheduler_is_told_of_each_npu_can_be_seen() -> None:
    """OB-6: eight NPUs at the kubelet, and a job for eight stays pending."""
    bare = describe_hami(STATE, None, None, with_hidden(1))
    told = describe_hami(STATE, REGISTRATION, None, with_hidden(2))

    assert loaded(bare)["npus"] == [{"npu": 0, "devices": None}]
    assert loaded(told)["npus"] == [{"npu": 0, "devices": 4}, {"npu": 1, "devices": None}]


def test_hidden_npus_are_named_with_all_that_is_known_of_them() -> None:
    (hidden,) = loaded(describe_hami(STATE, None, None, with_hidden()))["hidden"]

    assert hidden == {"npu": 7, "logic": 7, "card": 7, "slot": 0, "die": "D7"}


def test_vnpus_are_told_npu_by_npu() -> None:
    told = loaded(describe_hami(STATE, None, SWEEP, None))["vnpus"]

    assert told == {
        "mode": "remove",
        "detail": "",
        "removed": 3,
        "npus": [
            {
                "npu": 1,
                "found": [
                    {"vnpu": 100, "template": "vir05_1c_16g", "opened": True},
                    {"vnpu": 101, "template": "vir05_1c_16g", "opened": False},
                ],
                "surplus": [101],
                "failed": "the driver is busy",
            }
        ],
    }


def test_what_was_not_told_yet_is_null() -> None:
    described = describe_hami(STATE, None, None, None)

    assert (described["registration"], described["vnpus"]) == (None, None)
    assert described["hidden"] == []


def test_people_read_the_same_in_lines_what_is_wrong_last() -> None:
    assert hami_lines(STATE, REGISTRATION) == (
        (
            "HAMi: chip 910B3 as Ascend910B3, resource huawei.com/Ascend910B3, 4 devices an NPU "
            "(template vir05_1c_16g), hard mode"
        ),
        "HAMi's scheduler: asked Requesting_2026-01-01 00:00:12",
        "HAMi: soft mode is asked for and can't be had: libvnpu.so is for another architecture",
        "HAMi: node-config.yaml: no mapping",
        "HAMi: unknown key <vDevice>",
    )


def test_a_node_that_is_well_has_two_lines() -> None:
    well = replace(STATE, soft=True, soft_trouble="", warnings=(), refused=(), origins={})
    waiting = HamiRegistration(phase=RegistrationPhase.WAITING, detail="no NPU yet")

    assert hami_lines(well, waiting) == (
        (
            "HAMi: chip 910B3 as Ascend910B3, resource huawei.com/Ascend910B3, 4 devices an NPU, "
            "soft mode"
        ),
        "HAMi's scheduler: waiting no NPU yet",
    )
    assert len(hami_lines(well, None)) == 1
