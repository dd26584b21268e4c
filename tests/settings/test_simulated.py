"""The shape of a simulated node."""

import pytest
from pydantic import ValidationError

from ascend_agent import chips
from ascend_agent.driver.simulated.presets import MOST_CARDS, PRESETS
from ascend_agent.settings import (
    CHIPS,
    DpuStep,
    DropStep,
    FaultStep,
    LinkStep,
    SimulatedNode,
    Step,
    WorkerStep,
)
from tests.model.samples import make_chip


def test_every_chip_of_the_simulated_driver_can_be_named_and_no_other() -> None:
    """Settings can't import the driver, so the two tables are compared here."""
    assert set(CHIPS) == set(PRESETS)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_card_carries_as_many_npus_as_the_driver_simulates(chip: str) -> None:
    assert CHIPS[chip].npus_per_card == PRESETS[chip].dies


@pytest.mark.parametrize("chip", CHIPS)
def test_a_node_is_as_large_as_usual_unless_told(chip: str) -> None:
    assert SimulatedNode(chip=chip).count == CHIPS[chip].usual_npus
    assert SimulatedNode(chip=chip, npus=2).count == 2
    assert SimulatedNode(chip=chip, npus=0).count == 0


@pytest.mark.parametrize("chip", CHIPS)
def test_a_node_can_be_as_large_as_the_driver_allows_and_no_larger(chip: str) -> None:
    most = MOST_CARDS * PRESETS[chip].dies

    assert SimulatedNode(chip=chip, npus=most).count == most
    with pytest.raises(ValidationError, match=f"give 0 to {most}"):
        SimulatedNode(chip=chip, npus=most + 1)


def test_an_unknown_chip_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="use one of 310, 310B4"):
        SimulatedNode(chip="910Z")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (FaultStep(at_s=1, npu=8, fault=1), "has 8; use 0 to 7"),
        (FaultStep(at_s=1, card=4, fault=1), "has 4; use 0 to 3"),
        (DropStep(at_s=1, card=4, drop=True), "has 4; use 0 to 3"),
    ],
)
def test_a_step_about_what_the_node_does_not_have_is_refused(step: Step, text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        SimulatedNode(chip="910C", npus=8, steps=(step,))


def test_a_half_filled_card_is_a_card() -> None:
    """Three NPUs of two-die cards are two cards."""
    node = SimulatedNode(chip="910C", npus=3, steps=(DropStep(at_s=1, card=1, drop=True),))

    assert node.count == 3


def test_a_node_without_npus_has_nothing_that_could_fail() -> None:
    with pytest.raises(ValidationError, match="give the node NPUs or remove the step"):
        SimulatedNode(npus=0, steps=(FaultStep(at_s=1, npu=0, fault=1),))


def test_every_wrong_step_is_told_at_once() -> None:
    steps = tuple(FaultStep(at_s=1, npu=npu, fault=1) for npu in (8, 3, 9))

    with pytest.raises(ValidationError) as caught:
        SimulatedNode(npus=8, steps=steps)

    assert [error["loc"] for error in caught.value.errors()] == [
        ("steps", 0, "npu"),
        ("steps", 2, "npu"),
    ]


def test_the_worker_gets_plain_values() -> None:
    """They travel as JSON; codes are numbers, absent keys are absent."""
    node = SimulatedNode(
        chip="910C",
        seed=7,
        steps=(FaultStep(at_s=1, npu=0, fault=0x80E01801), WorkerStep(at_s=2, worker="die")),
    )

    assert node.backend_config(5) == {
        "chip": "910C",
        "npus": 16,
        "seed": 7,
        "steps": [{"at_s": 1, "npu": 0, "fault": 0x80E01801}, {"at_s": 2, "worker": "die"}],
        "started_at_ns": 5,
    }


def test_what_happens_to_dpu_nics_is_none_of_the_workers_business() -> None:
    """The driver knows nothing of them; the agent reads them from the host."""
    down = DpuStep(at_s=1, dpu="enps0", operstate="down")
    node = SimulatedNode(chip="950", steps=(down, WorkerStep(at_s=2, worker="die")))

    assert node.backend_config(5)["steps"] == [{"at_s": 2, "worker": "die"}]
    assert node.dpu_steps == (down,)


def test_what_happens_to_network_ports_is_none_of_the_workers_business() -> None:
    """The vendor's tool tells of them, not the driver's library."""
    down = LinkStep(at_s=1, npu=0, ub_down=1)
    node = SimulatedNode(chip="950", steps=(down, WorkerStep(at_s=2, worker="die")))

    assert node.backend_config(5)["steps"] == [{"at_s": 2, "worker": "die"}]
    assert node.link_steps == (down,)


@pytest.mark.parametrize("chip", CHIPS)
def test_the_npus_of_a_chip_have_the_ports_of_its_generation(chip: str) -> None:
    """Settings can't import the chips, so the two tables are compared here."""
    preset = PRESETS[chip]
    spec = chips.identify(
        make_chip(preset.chip_name, board=preset.board_id, product=preset.product)
    )
    assert spec is not None

    assert CHIPS[chip].ports is spec.ports


@pytest.mark.parametrize("chip", CHIPS)
def test_a_node_has_a_dpu_nic_in_each_slot_that_its_npus_look_into(chip: str) -> None:
    """Settings can't import the chips, so the two tables are compared here."""
    preset = PRESETS[chip]
    spec = chips.identify(
        make_chip(preset.chip_name, board=preset.board_id, product=preset.product)
    )
    assert spec is not None

    slots = {slot for pair in spec.dpu_slots for slot in pair}
    assert set(CHIPS[chip].dpus.values()) == slots
