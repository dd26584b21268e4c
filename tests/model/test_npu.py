"""The names of an NPU are all that people may know it by."""

import dataclasses

from ascend_agent.model.ids import CardId, PhyId
from ascend_agent.model.npu import HiddenNpu, Inventory, UnknownChip, UnreadCard
from tests.fakes.npus import CHIP, address, inventory, npu


def test_an_npu_has_all_its_names_in_one_place() -> None:
    """OB-3: a line that carries some of them makes people repair the wrong card."""
    assert npu(3).names == {
        "npu": 3,
        "logic": 3,
        "card": 3,
        "slot": 0,
        "die": "00000003-00000005-DEADBEEF-00000000-00FF00FF",
        "bus": "0000:C3:00.0",
    }


def test_a_lost_npu_keeps_the_names_of_its_last_place() -> None:
    assert npu(3, listed=False).names == npu(3).names


def test_all_is_hidden_once_nothing_is_there_that_is_not_or_may_turn_out_not_to_be() -> None:
    hidden = dataclasses.replace(inventory(0), hidden=(HiddenNpu(address=address(0)),))
    others: list[Inventory] = [
        inventory(0),
        dataclasses.replace(hidden, npus=(npu(1),)),
        dataclasses.replace(hidden, unread=(UnreadCard(address=address(1), reason="busy"),)),
        dataclasses.replace(hidden, unknown=(UnknownChip(phy=PhyId(1), chip=CHIP),)),
        dataclasses.replace(hidden, lost_cards=1),
        dataclasses.replace(hidden, unreadable=((CardId(1), "dcmi_get_device_num_in_card", -1),)),
    ]

    assert hidden.all_hidden
    assert not any(each.all_hidden for each in others)
