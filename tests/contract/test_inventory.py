"""InventoryReader: which NPUs a driver lists, what each is, and how lists follow the hardware."""

import re

import pytest

from ascend_agent.chips import identify
from ascend_agent.errors import DriverError
from ascend_agent.model.ids import CardId, LogicId, SlotId
from ascend_agent.model.npu import DriverApi, NpuAddress, NpuIdentity
from tests.contract.drivers import Driver, patient
from tests.contract.steps import CardBack, CardLost

DIE = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{8}){4}")
BUS = re.compile(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]")
CPULIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")

# Chip, generation, chip name, NPU name, product, NPUs a card, has a PCI address.
CHIPS = [
    ("310", "310", "310", "310", "Atlas 300I Model 3010", 4, True),
    ("310B4", "310B", "310B4", "310B4", "Atlas 200I A2", 1, True),
    ("310P3", "310P", "310P3", "310P3", "Atlas 300I Pro", 1, True),
    ("310P3-duo", "310P", "310P3", "310P3", "Atlas 300I Duo", 2, True),
    ("910A", "910A", "910A", "910A", None, 1, True),
    ("910B1", "910B", "910B1", "910B1", None, 1, True),
    ("910B2", "910B", "910B2", "910B2", None, 1, True),
    ("910B3", "910B", "910B3", "910B3", None, 1, True),
    ("910B4", "910B", "910B4", "910B4", None, 1, True),
    ("910C", "910C", "Ascend910", "9391", None, 2, True),
    ("950", "950", "Ascend950PR", "9579", None, 1, False),
]


async def test_every_chip_listed_has_an_address_of_its_own(driver: Driver) -> None:
    """Card and slot in generation 1, the logic id alone in generation 2."""
    async with driver.open() as node:
        listed = await node.inventory.enumerate(reinitialise=False)

        assert listed.addresses
        assert len({a.logic for a in listed.addresses}) == len(listed.addresses)
        assert (listed.lost_cards, listed.unreadable) == (0, ())
        for address in listed.addresses:
            if node.state.api is DriverApi.V1:
                assert address.card is not None
                assert address.slot is not None
                assert address.lane == address.card
            else:
                assert (address.card, address.slot) == (None, None)
                assert address.lane == address.logic


async def test_cards_are_counted_and_not_chips(driver: Driver) -> None:
    async with driver.open() as node:
        listed = await node.inventory.enumerate(reinitialise=False)

        assert listed.cards == len({address.lane for address in listed.addresses})


async def test_looking_twice_shows_the_same(driver: Driver) -> None:
    """With and without asking the hardware anew."""
    async with driver.open() as node:
        first = await node.identities()

        assert await node.identities() == first
        assert await node.identities(reinitialise=True) == first


async def test_identities_are_facts_of_the_right_shape(driver: Driver) -> None:
    """Texts as people and sysfs write them; numbers in range; None where a chip does not tell."""
    async with driver.open() as node:
        found = (await node.identities()).values()

        for identity in found:
            assert identity.phy >= 0
            assert identity.chip.chip_name
            assert identify(identity.chip) is not None
            assert identity.die is None or DIE.fullmatch(identity.die)
            assert identity.bus is None or BUS.fullmatch(identity.bus)
            assert identity.affinity is None or CPULIST.fullmatch(identity.affinity)
            assert identity.memory_mib is None or identity.memory_mib >= 1024
            assert identity.ai_cores is None or 1 <= identity.ai_cores <= 64
        dies = [identity.die for identity in found if identity.die is not None]
        buses = [identity.bus for identity in found if identity.bus is not None]
        assert len(set(dies)) == len(dies)
        assert len(set(buses)) == len(buses)


@pytest.mark.parametrize(
    ("chip", "generation", "chip_name", "npu_name", "product", "per_card", "on_pci"),
    CHIPS,
    ids=[chip[0] for chip in CHIPS],
)
async def test_each_chip_says_what_it_is(  # noqa: PLR0913 -- a column of the table each
    any_chip: Driver,
    *,
    chip: str,
    generation: str,
    chip_name: str,
    npu_name: str,
    product: str | None,
    per_card: int,
    on_pci: bool,
) -> None:
    """Raw names of the DCMI API; what they mean is told by the chip's own file."""
    async with any_chip.open(chip=chip, npus=4) as node:
        found = await node.identities()

        assert sorted(found) == [0, 1, 2, 3]
        for identity in found.values():
            spec = identify(identity.chip)
            assert spec is not None
            assert spec.generation == generation
            assert (identity.chip.chip_name, identity.chip.npu_name) == (chip_name, npu_name)
            assert (identity.chip.chip_type, identity.chip.chip_version) == ("Ascend", "V1")
            assert identity.chip.product == product
            assert (identity.bus is not None) == on_pci
            assert (identity.ai_cores is None) == (chip == "310")
            assert identity.chip.board_id is not None
            assert identity.die is not None
            assert identity.memory_mib is not None
        if generation != "950":
            places = {(i.address.card, i.address.slot) for i in found.values()}
            assert places == {(phy // per_card, phy % per_card) for phy in range(4)}


@pytest.mark.parametrize(
    ("chip", "kind"), [("310P3", "ddr"), ("910A", "hbm"), ("910B3", "hbm"), ("950", "hbm")]
)
async def test_memory_is_what_the_chip_has(any_chip: Driver, chip: str, kind: str) -> None:
    """A 910A has both; HBM counts."""
    async with any_chip.open(chip=chip, npus=1) as node:
        (address,) = (await node.inventory.enumerate(reinitialise=False)).addresses

        answer = await node.ask_chip(address, "identity")

        assert answer["memory_kind"] == kind


def on_card(identity: NpuIdentity, card: int) -> bool:
    """Return whether an NPU is on a card; in generation 2 each NPU is a card of its own."""
    return (identity.phy if identity.address.card is None else identity.address.card) == card


@patient
async def test_a_lost_card_leaves_the_list_at_the_next_look_at_the_hardware(
    scripted: Driver,
) -> None:
    """The others keep physical and die id, whatever becomes of their logic ids (HL-3)."""
    async with scripted.open(CardLost(card=1)) as node:
        before = await node.identities()
        lost = {phy for phy, identity in before.items() if on_card(identity, 1)}
        assert lost
        await node.happen()

        stale = await node.inventory.enumerate(reinitialise=False)
        assert len(stale.addresses) == len(before)
        listed = await node.inventory.enumerate(reinitialise=True)
        assert (listed.cards, listed.lost_cards) == (stale.cards, 1)
        after = await node.identities()

        assert after.keys() == before.keys() - lost
        assert {phy: after[phy].die for phy in after} == {phy: before[phy].die for phy in after}
        logics = sorted(identity.address.logic for identity in after.values())
        assert logics == list(range(len(after)))


@patient
async def test_a_card_that_is_back_is_listed_again_as_it_was(scripted: Driver) -> None:
    async with scripted.open(CardLost(card=1), CardBack(card=1)) as node:
        before = await node.identities()
        await node.happen()
        await node.identities(reinitialise=True)
        await node.happen()

        assert await node.identities(reinitialise=True) == before


@patient
async def test_a_lost_chip_can_not_be_identified(scripted: Driver) -> None:
    async with scripted.open(CardLost(card=1)) as node:
        before = await node.identities()
        address = next(i.address for i in before.values() if on_card(i, 1))
        await node.happen()

        with pytest.raises(DriverError):
            await node.inventory.read_identity(address)


async def test_a_chip_that_does_not_exist_is_an_error_of_its_own(driver: Driver) -> None:
    """It must cost nobody else anything: the others answer as before."""
    async with driver.open() as node:
        nowhere = NpuAddress(card=CardId(61), slot=SlotId(3), logic=LogicId(250), lane=61)
        if node.state.api is DriverApi.V2:
            nowhere = NpuAddress(card=None, slot=None, logic=LogicId(250), lane=250)

        with pytest.raises(DriverError):
            await node.inventory.read_identity(nowhere)
        with pytest.raises(DriverError):
            await node.health.read_health(nowhere)
        assert await node.identities()
