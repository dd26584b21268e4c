"""What a step about switches may say."""

import pytest
from pydantic import TypeAdapter, ValidationError

from ascend_agent.settings import Step, SwitchPlace, SwitchStep

STEP: TypeAdapter[Step] = TypeAdapter(Step)


@pytest.mark.parametrize(
    ("raw", "step"),
    [
        (
            {
                "at_s": "1",
                "switch": {"chip": "0", "port": "7", "peer": "L2"},
                "fault": "0x08520003",
            },
            SwitchStep(at_s=1, switch=SwitchPlace(chip=0, port=(7,), peer="L2"), fault=0x08520003),
        ),
        (
            {
                "at_s": "1",
                "switch": {"chip": "2", "port": "14-16", "peer": "npu", "id": "155914"},
                "recover": "00f1fef5",
            },
            SwitchStep(
                at_s=1,
                switch=SwitchPlace(chip=2, port=(14, 15, 16), peer="npu", id=155914),
                recover=0x00F1FEF5,
            ),
        ),
        (
            {"at_s": "1", "switch": {"chip": "2", "severity": "3"}, "pulse": "00f103b0"},
            SwitchStep(at_s=1, switch=SwitchPlace(chip=2, severity=3), pulse=0x00F103B0),
        ),
    ],
)
def test_a_step_names_a_place_and_what_happens_there(
    raw: dict[str, object], step: SwitchStep
) -> None:
    """All values are text: that is how a scenario file is read."""
    assert STEP.validate_python(raw) == step


@pytest.mark.parametrize(
    "raw",
    [
        {"at_s": 1, "switch": {"chip": 0}},
        {"at_s": 1, "switch": 0, "fault": "A"},
        {"at_s": 1, "switch": {}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 16}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": 7}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "peer": "L2"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": 48, "peer": "L2"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": "9-8", "peer": "L2"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": "0-48", "peer": "L2"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": "all", "peer": "L2"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "port": 7, "peer": "gpu"}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0, "severity": 4}, "fault": "A"},
        {"at_s": 1, "switch": {"chip": 0}, "fault": "100000000"},
        {"at_s": 1, "switch": {"chip": 0}, "fault": "A", "recover": "A"},
        {"at_s": 1, "switch": {"chip": 0}, "npu": 0, "fault": "A"},
    ],
)
def test_a_step_that_means_nothing_is_refused(raw: object) -> None:
    with pytest.raises(ValidationError):
        STEP.validate_python(raw)
