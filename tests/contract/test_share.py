"""DeviceShare: the driver's flag that lets several containers open one NPU."""

import pytest

from tests.contract.drivers import Driver


async def test_the_flag_is_off_and_stays_on_once_set(scripted: Driver) -> None:
    """Read back after setting; setting it twice is no error."""
    async with scripted.open() as node:
        address = await node.address(1)
        assert await node.ask_chip(address, "share_read") == {"rc": 0, "enabled": 0}

        assert await node.shares.enable_share(address)
        assert await node.ask_chip(address, "share_read") == {"rc": 0, "enabled": 1}
        assert await node.shares.enable_share(address)


async def test_the_flag_can_be_looked_at_and_taken_back(scripted: Driver) -> None:
    """Taking back what is off already is no error."""
    async with scripted.open() as node:
        address = await node.address(1)
        assert not await node.share_switch.read_share(address)
        await node.shares.enable_share(address)
        assert await node.share_switch.read_share(address)

        await node.share_switch.disable_share(address)
        await node.share_switch.disable_share(address)
        assert not await node.share_switch.read_share(address)


async def test_the_flag_is_each_cards_own(scripted: Driver) -> None:
    async with scripted.open() as node:
        identities = await node.identities()
        await node.shares.enable_share(identities[0].address)

        for identity in identities.values():
            same = identity.address.lane == identities[0].address.lane
            answer = await node.ask_chip(identity.address, "share_read")
            assert answer == {"rc": 0, "enabled": int(same)}


@pytest.mark.parametrize("chip", ["310", "310B4", "310P3", "910A", "910C", "950"])
async def test_any_chip_can_be_shared_or_needs_no_flag(any_chip: Driver, chip: str) -> None:
    """-8255 counts as not needed."""
    async with any_chip.open(chip=chip, npus=2) as node:
        for identity in (await node.identities()).values():
            assert await node.shares.enable_share(identity.address)
