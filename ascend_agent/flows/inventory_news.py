"""What is logged as the inventory changes: NPUs that come and go, cards that can't be used.

Each state is said when it begins, under the names that people know an NPU by.
"""

import logging

from ascend_agent.model.npu import Inventory

log = logging.getLogger(__name__)

NOT_YET = "has not answered yet"
"""Why a card is not read that is only being asked; that is no news."""


def log_inventory(old: Inventory | None, new: Inventory) -> None:
    """Log what is different in *new*; *old* None: there was none before."""
    before = old or Inventory(generation=0, npus=(), unread=(), unknown=(), lost_cards=0)
    _log_npus(before, new)
    _log_cards(before, new)
    if len(new.hidden) != len(before.hidden):
        log.info("npus hidden", extra={"count": len(new.hidden)})
    if not (new.npus or new.hidden) and (old is None or old.npus or old.hidden):
        log.warning("no npu found", extra={"unknown": len(new.unknown)})


def _log_npus(old: Inventory, new: Inventory) -> None:
    before = {npu.phy: npu for npu in old.npus}
    for npu in new.npus:
        facts = {**npu.names, "chip": npu.identity.chip.chip_name}
        last = before.get(npu.phy)
        if last is None:
            log.info("npu found", extra=facts)
        elif npu.address is None and last.address is not None:
            log.warning("npu no longer listed by the driver", extra=facts)
        elif npu.address is not None and last.address is None:
            log.info("npu listed again", extra=facts)


def _log_cards(old: Inventory, new: Inventory) -> None:
    for chip in set(new.unknown) - set(old.unknown):
        log.warning("chip not recognised", extra={"npu": chip.phy, "chip": chip.chip.chip_name})
    reasons = {card.reason for card in old.unread}
    for card in new.unread:
        if card.reason not in reasons and card.reason != NOT_YET:
            log.warning("card not readable", extra={"lane": card.address.lane, "why": card.reason})
    for place, call, rc in set(new.unreadable) - set(old.unreadable):
        log.warning("card not listed", extra={"lane": place, "call": call, "rc": rc})
    if new.lost_cards > old.lost_cards:
        log.warning("cards missing", extra={"missed": new.lost_cards})
