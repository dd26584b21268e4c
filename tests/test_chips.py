import dataclasses
from pathlib import Path

import pytest

from ascend_agent import chips
from ascend_agent.model.npu import ChipIdentity
from tests.model.samples import make_chip

A3_BOARDS = (0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0x81, 0x83, 0xD1, 0xD3)


def files(folder: str) -> set[str]:
    """Return the modules of a folder of the package, by name."""
    paths = Path(chips.__file__).parents[1].joinpath(folder).glob("*.py")
    return {path.stem for path in paths} - {"__init__"}


@pytest.mark.parametrize(
    ("chip", "generation"),
    [
        (make_chip("310", board=0x04), "310"),
        (make_chip("310B1", board=None), "310B"),
        (make_chip("310B4", board=None), "310B"),
        (make_chip("310P1", board=0x64), "310P"),
        (make_chip("310P3", board=0x97, product="Atlas 300I Duo"), "310P"),
        (make_chip("I2", board=0x64), "310P"),  # China build
        (make_chip("910A", board=0x02), "910A"),
        (make_chip("910ProB", board=0x01), "910A"),
        (make_chip("910", board=None), "910A"),
        (make_chip("910B1", board=0x30), "910B"),
        (make_chip("910B4-1", board=0x3C), "910B"),
        (make_chip("910B4", board=0x28), "910B"),
        (make_chip("A2G4", board=0x28), "910B"),  # China build
        *((make_chip("Ascend910", board=board), "910C") for board in A3_BOARDS),
        (make_chip("910_9391", board=0xB3), "910C"),
        (make_chip("Ascend950PR", board=0x28), "950"),
        (make_chip("Ascend950DT", board=0x1A), "950"),
        (make_chip("Ascend950" + "x" * 23), "950"),  # as long as the driver's field
        # A vNPU that a virtual machine sees as its chip is offered like one.
        (make_chip("310P3vir04", board=None), "310P"),
        (make_chip("910B3vir10", board=None), "910B"),
        # The board ids of different families overlap: the name counts too.
        (make_chip("310P3", board=0xB0), "310P"),
        (make_chip("310", board=0x81), "310"),
        (make_chip("Ascend950PR", board=0xB0), "950"),
    ],
)
def test_a_chip_is_recognised(chip: ChipIdentity, generation: str) -> None:
    spec = chips.identify(chip)

    assert spec is not None
    assert spec.generation == generation


@pytest.mark.parametrize(
    "chip",
    [
        make_chip(""),
        make_chip("Ascend910", board=None),  # the name alone is no A3: the board decides
        make_chip("Ascend910", board=0x30),
        make_chip("920X", board=0x30),
        make_chip("Ascend950" + "x" * 24),  # longer than the driver's field
        make_chip("A2G"),
        make_chip("XI2"),
    ],
)
def test_an_unknown_chip_is_recognised_by_nobody(chip: ChipIdentity) -> None:
    """Reported, not offered, never fatal: that is the caller's part."""
    assert chips.identify(chip) is None


def test_the_type_of_a_chip_is_not_looked_at() -> None:
    """HAMi wants "Ascend" there; builds for China say "Alan" (DCMI defect 23)."""
    spec = chips.identify(dataclasses.replace(make_chip("A2G4", board=0x30), chip_type="Alan"))

    assert spec is not None
    assert spec.generation == "910B"


def test_every_file_is_found() -> None:
    """A new generation is a new file: nothing else lists them."""
    assert len(chips.SPECS) == len(files("chips"))


def test_no_two_generations_share_a_name_or_a_turn() -> None:
    assert len({spec.generation for spec in chips.SPECS}) == len(chips.SPECS)
    assert len({spec.precedence for spec in chips.SPECS}) == len(chips.SPECS)


def test_generations_are_tried_in_their_order() -> None:
    assert [spec.generation for spec in chips.SPECS] == [
        *("910C", "950", "310P", "310B", "310", "910B", "910A"),
    ]
