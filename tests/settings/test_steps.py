"""What a step may say."""

import pytest
from pydantic import TypeAdapter, ValidationError

from ascend_agent.settings import (
    DpuStep,
    DropStep,
    FaultStep,
    HangStep,
    LinkStep,
    ProcessStep,
    Step,
    StormStep,
    SwitchPlace,
    SwitchStep,
    VnpuStep,
    WorkerStep,
)

STEP: TypeAdapter[Step] = TypeAdapter(Step)


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        ({"at_s": "4", "npu": "3", "recover": "A"}, FaultStep(at_s=4, npu=3, recover=10)),
        ({"at_s": "4.5", "card": "3", "pulse": "A"}, FaultStep(at_s=4.5, card=3, pulse=10)),
        ({"at_s": "0", "card": "5", "drop": "true"}, DropStep(at_s=0, card=5, drop=True)),
        (
            {"at_s": "1", "npu": "3", "recover": "A", "listed_for_s": "2"},
            FaultStep(at_s=1, npu=3, recover=10, listed_for_s=2),
        ),
        (
            {"at_s": "1", "npu": "3", "storm": "A", "for_s": "2", "per_s": "500"},
            StormStep(at_s=1, npu=3, storm=10, for_s=2, per_s=500),
        ),
        ({"at_s": "1", "card": "5", "drop": "false"}, DropStep(at_s=1, card=5, drop=False)),
        (
            {"at_s": "1", "card": "0", "call": "health", "hang_s": "20"},
            HangStep(at_s=1, card=0, call="health", hang_s=20),
        ),
        (
            {"at_s": "1", "call": "enumerate", "hang_s": "20"},
            HangStep(at_s=1, call="enumerate", hang_s=20),
        ),
        ({"at_s": "1", "worker": "die"}, WorkerStep(at_s=1, worker="die")),
        (
            {"at_s": "1", "dpu": "enps0", "operstate": "lowerlayerdown"},
            DpuStep(at_s=1, dpu="enps0", operstate="lowerlayerdown"),
        ),
        ({"at_s": "1", "npu": "3", "link": "down"}, LinkStep(at_s=1, npu=3, link="down")),
        ({"at_s": "1", "npu": "3", "bonded_down": "2"}, LinkStep(at_s=1, npu=3, bonded_down=2)),
        ({"at_s": "1", "npu": "3", "ub_down": "0"}, LinkStep(at_s=1, npu=3, ub_down=0)),
        (
            {"at_s": "1", "call": "switches_read", "hang_s": "20"},
            HangStep(at_s=1, call="switches_read", hang_s=20),
        ),
        ({"at_s": "1", "npu": "2", "process": "4711"}, ProcessStep(at_s=1, npu=2, process=4711)),
        (
            {"at_s": "1", "npu": "2", "process": "4711", "memory_mib": "7", "pod": "5a1f0b77-web"},
            ProcessStep(at_s=1, npu=2, process=4711, memory_mib=7, pod="5a1f0b77-web"),
        ),
        (
            {"at_s": "9", "npu": "2", "process": "4711", "gone": "true"},
            ProcessStep(at_s=9, npu=2, process=4711, gone=True),
        ),
        (
            {"at_s": "9", "npu": "2", "vnpu": "101", "template": "vir04_3c", "opened": "true"},
            VnpuStep(at_s=9, npu=2, vnpu=101, template="vir04_3c", opened=True),
        ),
        (
            {"at_s": "9", "npu": "2", "vnpu": "101", "gone": "true"},
            VnpuStep(at_s=9, npu=2, vnpu=101, gone=True),
        ),
    ],
)
def test_a_step_is_what_its_verb_says(raw: dict[str, str], step: Step) -> None:
    """All values are text: that is how a scenario file is read."""
    assert STEP.validate_python(raw) == step


def test_a_step_that_is_one_already_stays_what_it_is() -> None:
    """A loaded scenario passes through the settings once more."""
    steps: list[Step] = [
        FaultStep(at_s=1, npu=0, fault=1),
        StormStep(at_s=1, npu=0, storm=1, for_s=1),
        DropStep(at_s=1, card=0, drop=True),
        HangStep(at_s=1, card=0, call="usage", hang_s=1),
        WorkerStep(at_s=1, worker="die"),
        ProcessStep(at_s=1, npu=0, process=4711, pod="a"),
        VnpuStep(at_s=1, npu=0, vnpu=100, template="vir04"),
        SwitchStep(at_s=1, switch=SwitchPlace(chip=0, port=(7, 8), peer="L2"), fault=1),
        DpuStep(at_s=1, dpu="enps0", operstate="down"),
        LinkStep(at_s=1, npu=0, ub_down=1),
    ]

    assert [STEP.validate_python(step) for step in steps] == steps


@pytest.mark.parametrize(
    "raw",
    [
        {"at_s": 1},
        {"at_s": 1, "npu": 0},
        7,
        None,
        {"npu": 0, "fault": "A"},
        {"at_s": -0.1, "npu": 0, "fault": "A"},
        {"at_s": 1, "fault": "A"},
        {"at_s": 1, "npu": 0, "card": 0, "fault": "A"},
        {"at_s": 1, "npu": 0, "fault": "A", "recover": "A"},
        {"at_s": 1, "npu": -1, "fault": "A"},
        {"at_s": 1, "npu": 0, "fault": "A", "hang_s": 3},
        {"at_s": 1, "npu": 0, "fault": "A", "listed_for_s": 1},
        {"at_s": 1, "npu": 0, "recover": "A", "listed_for_s": 0},
        {"at_s": 1, "npu": 0, "storm": "A"},
        {"at_s": 1, "card": 0, "storm": "A", "for_s": 1},
        {"at_s": 1, "npu": 0, "storm": "A", "for_s": 1, "per_s": 1001},
        {"at_s": 1, "npu": 0, "storm": "A", "for_s": 20.1},
        {"at_s": 1, "npu": 0, "drop": True},
        {"at_s": 1, "card": 0, "drop": "perhaps"},
        {"at_s": 1, "card": 0, "call": "reset", "hang_s": 3},
        {"at_s": 1, "card": 0, "call": "health"},
        {"at_s": 1, "card": 0, "call": "health", "hang_s": 0},
        {"at_s": 1, "card": 0, "hang_s": 3},
        {"at_s": 1, "call": "health", "hang_s": 3},
        {"at_s": 1, "card": 0, "call": "open", "hang_s": 3},
        {"at_s": 1, "worker": "live"},
        {"at_s": 1, "dpu": "enps0"},
        {"at_s": 1, "link": "down"},
        {"at_s": 1, "npu": 0, "link": "broken"},
        {"at_s": 1, "npu": 0, "bonded_down": 3},
        {"at_s": 1, "npu": 0, "bonded_down": 1, "ub_down": 1},
        {"at_s": 1, "dpu": "enps0", "operstate": "broken"},
        {"at_s": 1, "vnpu": 101, "template": "vir04"},
        {"at_s": 1, "npu": 0, "vnpu": 101},
        {"at_s": 1, "npu": 0, "vnpu": 101, "template": "vir04", "gone": True},
        {"at_s": 1, "npu": 0, "vnpu": 99, "template": "vir04"},
        {"at_s": 1, "npu": 0, "vnpu": 1124, "gone": True},
        {"at_s": 1, "npu": 0, "vnpu": 101, "template": "sixteen_or_more_"},
        {"at_s": 1, "process": 4711},
        {"at_s": 1, "card": 0, "process": 4711},
        {"at_s": 1, "npu": 0, "process": 0},
        {"at_s": 1, "npu": 0, "process": 1 << 23},
        {"at_s": 1, "npu": 0, "process": 4711, "memory_mib": 0},
        {"at_s": 1, "npu": 0, "process": 4711, "pod": ""},
        {"at_s": 1, "npu": 0, "process": 4711, "pod": "a pod"},
        {"at_s": 1, "npu": 0, "process": 4711, "gone": True, "memory_mib": 100},
        {"at_s": 1, "npu": 0, "process": 4711, "gone": True, "pod": "a"},
    ],
)
def test_a_step_that_means_nothing_is_refused(raw: object) -> None:
    with pytest.raises(ValidationError):
        STEP.validate_python(raw)
