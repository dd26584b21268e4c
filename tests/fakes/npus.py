"""NPUs as values for tests: an eight-NPU 910B node unless a test says otherwise."""

import dataclasses

from ascend_agent.model.health import HealthState, NodeView, NpuView
from ascend_agent.model.ids import CardId, DieId, LogicId, Millis, PhyId, SlotId
from ascend_agent.model.npu import (
    ChipIdentity,
    Enumeration,
    Inventory,
    Npu,
    NpuAddress,
    NpuIdentity,
)

CHIP = ChipIdentity(
    chip_type="Ascend",
    chip_name="910B3",
    npu_name="910B3",
    chip_version="V1",
    board_id=0x30,
    mainboard_id=0x14,
    product=None,
)


def address(card: int, *, logic: int | None = None) -> NpuAddress:
    """Return the v1 address of the only NPU of *card*."""
    return NpuAddress(
        card=CardId(card),
        slot=SlotId(0),
        logic=LogicId(card if logic is None else logic),
        lane=card,
    )


def identity(phy: int, *, at: NpuAddress | None = None, chip: ChipIdentity = CHIP) -> NpuIdentity:
    """Return what the NPU of that physical id says of itself."""
    return NpuIdentity(
        phy=PhyId(phy),
        address=at or address(phy),
        chip=chip,
        die=DieId(f"{phy:08X}-00000005-DEADBEEF-00000000-00FF00FF"),
        bus=f"0000:{0xC0 + phy:02X}:00.0",
        memory_mib=65536,
        ai_cores=20,
        affinity=None,
    )


def npu(phy: int, *, listed: bool = True) -> Npu:
    """Return an inventoried 910B NPU; not *listed*: the driver has lost it."""
    known = identity(phy)
    return Npu(
        phy=PhyId(phy),
        identity=known,
        address=known.address if listed else None,
        generation="910B",
        numa=None,
        link_group=0,
    )


def inventory(count: int = 8) -> Inventory:
    """Return the inventory of a node on which nothing is wrong."""
    return Inventory(
        generation=1,
        npus=tuple(npu(phy) for phy in range(count)),
        unread=(),
        unknown=(),
        lost_cards=0,
    )


def view(phy: int, *, state: HealthState = HealthState.HEALTHY) -> NpuView:
    """Return an NPU as sinks see it."""
    return NpuView(npu=npu(phy), state=state, reasons=(), faults=(), health=0, since_ms=Millis(0))


def node_view(count: int = 8, *, sick: tuple[int, ...] = (), generation: int = 1) -> NodeView:
    """Return a node whose NPUs are healthy but for the *sick* ones."""
    return NodeView(
        generation=generation,
        npus=tuple(
            view(phy, state=HealthState.SEPARATED if phy in sick else HealthState.HEALTHY)
            for phy in range(count)
        ),
    )


def enumeration(*cards: int, lost: int = 0) -> Enumeration:
    """Return the driver's list of single-NPU *cards*."""
    return Enumeration(
        addresses=tuple(address(card) for card in cards),
        cards=len(cards) + lost,
        lost_cards=lost,
        unreadable=(),
    )


def without_address(known: Npu) -> Npu:
    """Return *known* as it stays in the inventory once the driver lost it."""
    return dataclasses.replace(known, address=None)
