"""The texts of a pod that was placed, version by version."""

import json
from datetime import UTC, datetime

import pytest

from ascend_agent.sim.hami.placement import format_info, format_slots, placement, template_of
from ascend_agent.sim.hami.usage import Granted
from ascend_agent.sim.hami.versions import VERSIONS, SlotLayout
from tests.sim.hami.pods import B3

WORD = "Ascend910B3"
ONE = Granted(die="U0", word=WORD, memory_mib=16384, core_percent=0)
SOFT = Granted(die="U3", word=WORD, memory_mib=28672, core_percent=40)
CARDS = tuple(Granted(die=die, word=WORD, memory_mib=65536, core_percent=0) for die in ("U1", "U0"))
TEXT = f"U0,{WORD},16384,0:;"


def test_two_devices_share_a_slot() -> None:
    text = f"U1,{WORD},65536,0:U0,{WORD},65536,0:;"

    assert format_slots([CARDS], SlotLayout.ALL) == text


@pytest.mark.parametrize(
    ("layout", "leading", "trailing", "between"),
    [
        (SlotLayout.ALL, f";{TEXT}", f"{TEXT};", f";{TEXT};"),
        (SlotLayout.APPS, f";{TEXT}", f"{TEXT};", f";{TEXT};"),
        (SlotLayout.LATE, TEXT, f"{TEXT};", f";{TEXT};"),
        (SlotLayout.BLANK, TEXT, f"{TEXT},,0,0:;", f"{TEXT},,0,0:;"),
        (SlotLayout.ASKING, TEXT, TEXT, TEXT),
    ],
)
def test_empty_slots_differ_by_version(
    layout: SlotLayout, leading: str, trailing: str, between: str
) -> None:
    assert format_slots([(), (ONE,)], layout) == leading
    assert format_slots([(ONE,), ()], layout) == trailing
    assert format_slots([(), (ONE,), ()], layout) == between


@pytest.mark.parametrize(
    ("version", "hard", "soft"),
    [
        ("2.8", {"UUID": "U0", "temp": "vir05_1c_16g"}, {"UUID": "U3"}),
        (
            "2.9",
            {"UUID": "U0", "temp": "vir05_1c_16g"},
            {"UUID": "U3", "memory": 28672, "core": 40},
        ),
        (
            "2.10",
            {"UUID": "U0", "temp": "vir05_1c_16g", "memory": 16384},
            {"UUID": "U3", "memory": 28672, "core": 40},
        ),
    ],
)
def test_runtime_info_differs_by_version(version: str, hard: object, soft: object) -> None:
    one = VERSIONS[version]

    assert json.loads(format_info([(), (ONE,)], chip=B3, version=one, soft=False)) == [hard]
    assert json.loads(format_info([(SOFT,)], chip=B3, version=one, soft=True)) == [soft]


def test_2_4_has_an_entry_for_an_empty_slot_that_is_not_the_first() -> None:
    info = format_info([(), (ONE,), ()], chip=B3, version=VERSIONS["2.4"], soft=False)

    assert json.loads(info) == [{"UUID": "U0", "temp": "vir05_1c_16g"}, {}]


def test_a_memory_between_templates_is_a_whole_card() -> None:
    assert template_of(CARDS[0], B3) == ""
    assert template_of(SOFT, B3) == ""


def test_the_patch_names_node_devices_and_times() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    patch = placement(
        [(ONE,)], node="node-a", chip=B3, version=VERSIONS["2.9"], soft=False, now=now
    )

    assert patch == {
        "metadata": {
            "annotations": {
                "hami.io/Ascend910B3-devices-allocated": TEXT,
                "hami.io/Ascend910B3-devices-to-allocate": TEXT,
                "hami.io/vgpu-node": "node-a",
                "hami.io/vgpu-time": "1767225600",
                "huawei.com/Ascend910B3": '[{"UUID":"U0","temp":"vir05_1c_16g"}]',
                "predicate-time": "1767225600",
            },
            "labels": {"hami.io/vgpu-node": "node-a"},
        }
    }


def test_volcano_labels_nothing() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    patch = placement([(ONE,)], node="n", chip=B3, version=VERSIONS["volcano"], soft=False, now=now)

    assert "labels" not in patch["metadata"]
