"""What people read of an inventory that changes, and what is no news."""

import dataclasses
import logging

import pytest

from ascend_agent.flows.inventory_news import NOT_YET, log_inventory
from ascend_agent.model.ids import CardId, PhyId
from ascend_agent.model.npu import HiddenNpu, Inventory, UnknownChip, UnreadCard
from tests.fakes.npus import CHIP, address, inventory, without_address

_NONE = inventory(0)


def told(caplog: pytest.LogCaptureFixture, old: Inventory | None, new: Inventory) -> list[str]:
    caplog.set_level(logging.INFO)
    log_inventory(old, new)
    return caplog.messages


def test_npus_that_come_are_told_by_all_their_names(caplog: pytest.LogCaptureFixture) -> None:
    """OB-3."""
    assert told(caplog, inventory(1), inventory(2)) == ["npu found"]
    assert vars(caplog.records[0])["bus"] == "0000:C1:00.0"


def test_npus_that_go_and_come_back_are_told(caplog: pytest.LogCaptureFixture) -> None:
    there = inventory(1)
    gone = dataclasses.replace(there, npus=(without_address(there.npus[0]),))

    told(caplog, there, gone)

    assert told(caplog, gone, there) == ["npu no longer listed by the driver", "npu listed again"]


@pytest.mark.parametrize(
    ("new", "phrase"),
    [
        (
            dataclasses.replace(_NONE, unknown=(UnknownChip(phy=PhyId(0), chip=CHIP),)),
            "chip not recognised",
        ),
        (
            dataclasses.replace(_NONE, unread=(UnreadCard(address=address(0), reason="hangs"),)),
            "card not readable",
        ),
        (dataclasses.replace(_NONE, unreadable=((CardId(0), "call", -1),)), "card not listed"),
        (dataclasses.replace(_NONE, lost_cards=1), "cards missing"),
        (dataclasses.replace(_NONE, hidden=(HiddenNpu(address=address(0)),)), "npus hidden"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_can_not_be_used_is_told_once(
    caplog: pytest.LogCaptureFixture, new: Inventory, phrase: str
) -> None:
    assert phrase in told(caplog, _NONE, new)
    caplog.clear()

    assert told(caplog, new, new) == []


def test_a_card_that_is_only_being_asked_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    asked = dataclasses.replace(_NONE, unread=(UnreadCard(address=address(0), reason=NOT_YET),))

    assert told(caplog, _NONE, asked) == []


def test_a_node_without_any_npu_is_told(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, None, _NONE) == ["no npu found"]


def test_a_node_whose_npus_are_all_hidden_has_some(caplog: pytest.LogCaptureFixture) -> None:
    hidden = dataclasses.replace(_NONE, hidden=(HiddenNpu(address=address(0)),))

    assert told(caplog, None, hidden) == ["npus hidden"]
