"""Which NPUs the driver lists, and what each is: ``InventoryReader`` on the driver worker.

What a chip's raw names mean is decided in ``chips``.
"""

from collections.abc import Mapping

from ascend_agent.driver.answers import Reply, address_args, format_place
from ascend_agent.driver.process import DriverWorker
from ascend_agent.model.ids import CardId, DieId, LogicId, PhyId, SlotId
from ascend_agent.model.npu import ChipIdentity, Enumeration, NpuAddress, NpuIdentity


class DriverInventory:
    """Asks the current worker, or has a second one look past a card that hangs."""

    def __init__(self, worker: DriverWorker) -> None:
        self._worker = worker

    async def enumerate(self, *, reinitialise: bool) -> Enumeration:
        """Return the driver's list, of the hardware as it is now if *reinitialise*."""
        fields = await self._worker.enumerate(reinitialise=reinitialise)
        return _parse_enumeration(fields)

    async def read_identity(self, address: NpuAddress) -> NpuIdentity:
        """Return what the chip at *address* is."""
        fields = await self._worker.call(address.lane, "identity", *address_args(address))
        return _parse_identity(fields, address)


def _parse_enumeration(fields: Mapping[str, object]) -> Enumeration:
    answer = Reply(fields, op="enumerate", where="")
    addresses = []
    for row in answer.items("chips"):
        match row:
            case [int(card), int(slot), int(logic), int(lane)]:
                addresses.append(_make_address(card, slot, logic, lane))
            case _:
                raise answer.malformed("chips")
    unreadable = []
    for row in answer.items("failed"):
        match row:
            case [int(card), str(call), int(code)]:
                unreadable.append((CardId(card), call, code))
            case _:
                raise answer.malformed("failed")
    return Enumeration(
        addresses=tuple(addresses),
        cards=answer.number("cards"),
        lost_cards=answer.number("lost_cards"),
        unreadable=tuple(unreadable),
    )


def _make_address(card: int, slot: int, logic: int, lane: int) -> NpuAddress:
    placed = card >= 0
    return NpuAddress(
        card=CardId(card) if placed else None,
        slot=SlotId(slot) if placed else None,
        logic=LogicId(logic),
        lane=lane,
    )


def _parse_identity(fields: Mapping[str, object], address: NpuAddress) -> NpuIdentity:
    answer = Reply(fields, op="identity", where=format_place(address))
    die = answer.text_or_none("die")
    return NpuIdentity(
        phy=PhyId(answer.number("phy")),
        address=address,
        chip=ChipIdentity(
            chip_type=answer.text("chip_type"),
            chip_name=answer.text("chip_name"),
            npu_name=answer.text("npu_name"),
            chip_version=answer.text("chip_version"),
            board_id=answer.number_or_none("board_id"),
            mainboard_id=answer.number_or_none("mainboard_id"),
            product=answer.text_or_none("product"),
        ),
        die=None if die is None else DieId(die),
        bus=answer.text_or_none("bus"),
        memory_mib=answer.number_or_none("memory_mib"),
        # Quirk: the 310 says that it has no AI core at all, which means that it does not tell.
        ai_cores=answer.number_or_none("ai_cores") or None,
        affinity=answer.text_or_none("affinity"),
    )
