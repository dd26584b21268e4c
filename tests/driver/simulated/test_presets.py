"""What each chip reports must be what ``chips`` recognises, or a simulated node offers nothing."""

import pytest

from ascend_agent.driver.simulated.presets import PRESETS
from ascend_agent.settings.simulated import CHIPS


def test_a_scenario_can_name_exactly_the_chips_there_are() -> None:
    assert list(PRESETS) == list(CHIPS)


@pytest.mark.parametrize("chip", PRESETS)
def test_settings_and_driver_agree_how_many_npus_a_card_carries(chip: str) -> None:
    """The numbers of cards in a scenario are checked by one and played by the other."""
    assert PRESETS[chip].dies == CHIPS[chip].npus_per_card


@pytest.mark.parametrize("chip", PRESETS)
def test_settings_and_driver_agree_which_chips_can_be_cut(chip: str) -> None:
    assert PRESETS[chip].cuttable == CHIPS[chip].cuttable


def test_only_the_950_speaks_the_second_generation() -> None:
    assert [chip for chip, preset in PRESETS.items() if preset.api == "v2"] == ["950"]
