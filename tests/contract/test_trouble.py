"""What adapters make of a library that fails: only the fake can be told to."""

import asyncio

import pytest

from ascend_agent.errors import DriverBusyError, DriverError, NotSupportedError, NpuLostError
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.npu import DriverApi, NpuProcess
from tests.contract.drivers import FakeDriver

CODE = 0x80E01801

HEALTH = "dcmi*_get_device_health"
CODES = "dcmi*_get_device_error*code*"
PROCESSES = ("dcmi_get_device_resource_info", "dcmiv2_get_device_proc_mem_info")


async def test_a_failing_code_query_leaves_the_health_value(faked: FakeDriver) -> None:
    """The codes known so far stay, so the answer must not claim that there are none."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.set_health(1, 3)
        host.answer(CODES, -8005, phy=1)

        answer = await node.health.read_health(address)

        assert (answer.health, answer.lost, answer.codes, answer.rc) == (3, False, None, -8005)


async def test_a_failing_health_query_leaves_the_codes(faked: FakeDriver) -> None:
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.set_codes(1, [CODE])
        host.answer(HEALTH, -8009, phy=1)

        answer = await node.health.read_health(address)

        assert (answer.health, answer.lost, answer.rc) == (None, False, -8009)
        assert answer.codes == frozenset({FaultCode(CODE)})


async def test_a_chip_that_answers_neither_has_told_nothing(faked: FakeDriver) -> None:
    """An error, which counts as a failed round; the chip beside it is not touched."""
    async with faked.open_host() as (node, host):
        address, other = await node.address(1), await node.address(2)
        host.answer(HEALTH, -8009, phy=1)
        host.answer(CODES, -8005, phy=1)

        with pytest.raises(DriverError) as caught:
            await node.health.read_health(address)

        assert caught.value.code == -8009
        assert not isinstance(caught.value, NpuLostError)
        assert (await node.health.read_health(other)).health == 0


async def test_all_ones_as_health_mean_that_the_device_is_gone(faked: FakeDriver) -> None:
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.set_health(1, 0xFFFFFFFF)

        answer = await node.health.read_health(address)

        assert (answer.lost, answer.health) == (True, None)


async def test_a_health_value_off_the_scale_leaves_the_codes(faked: FakeDriver) -> None:
    """4 is the driver's own word for "unknown": that query failed, the other one did not."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.set_codes(1, [CODE])
        host.set_health(1, 4)

        answer = await node.health.read_health(address)

        assert (answer.health, answer.lost, answer.codes) == (None, False, frozenset({CODE}))
        assert answer.rc != 0


@pytest.mark.parametrize("claimed", [129, 500, -2])
async def test_an_impossible_count_of_codes_is_no_list(faked: FakeDriver, claimed: int) -> None:
    """The entries counted beyond the buffer don't exist."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.set_codes(1, [CODE])
        host.claim_codes(1, claimed)

        answer = await node.health.read_health(address)

        assert (answer.health, answer.codes) == (2, None)


async def test_all_128_codes_are_read_and_no_stale_one(faked: FakeDriver) -> None:
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        codes = range(CODE, CODE + 128)
        host.set_codes(1, codes)
        assert (await node.health.read_health(address)).codes == frozenset(codes)

        host.set_codes(1, [CODE])
        assert (await node.health.read_health(address)).codes == frozenset({CODE})


async def test_all_64_processes_are_read(faked: FakeDriver) -> None:
    """Manuals say 32; the driver writes up to 64 (DCMI defect 1)."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        processes = [(4000 + i, (i + 1) << 20) for i in range(64)]
        host.set_processes(1, processes)

        found = await node.usage.read_processes(address)

        assert found == tuple(NpuProcess(pid=pid, memory_bytes=size) for pid, size in processes)


async def test_a_process_that_ends_meanwhile_costs_one_retry(faked: FakeDriver) -> None:
    """The query fails whole then; a second failure is an error."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        for name in PROCESSES:
            host.answer(name, -8005, phy=1, times=1)
        assert await node.usage.read_processes(address) == ()

        host.clear()
        for name in PROCESSES:
            host.answer(name, -8005, phy=1)
        with pytest.raises(DriverError):
            await node.usage.read_processes(address)


async def test_a_card_that_can_not_be_listed_is_named_and_costs_nobody_else(
    faked: FakeDriver,
) -> None:
    """One bad chip must not abort the listing (DCMI defect 20)."""
    async with faked.open_host() as (node, host):
        host.answer("dcmi_get_device_num_in_card", -8009, phy=1)
        host.answer("dcmiv2_get_device_list", -8005)

        listed = await node.inventory.enumerate(reinitialise=True)

        logics = [address.logic for address in listed.addresses]
        if node.state.api is DriverApi.V1:
            assert listed.unreadable == ((1, "dcmi_get_device_num_in_card", -8009),)
            assert logics == [0, 2, 3]
        else:  # it has one list for all: who is there is found one by one
            assert (listed.unreadable, logics) == ((), [0, 1, 2, 3])


async def test_optional_facts_that_fail_are_absent_and_the_chip_is_known(
    faked: FakeDriver,
) -> None:
    """Only physical id and chip name are needed to offer an NPU."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        for name in ("board_info", "pcie_info*", "die_*", "hbm_info", "mainboard_id"):
            host.answer(f"dcmi*_get_*{name}", -8009, phy=1)

        identity = await node.inventory.read_identity(address)

        assert identity.phy == 1
        assert (identity.die, identity.bus, identity.memory_mib) == (None, None, None)
        assert (identity.chip.board_id, identity.chip.mainboard_id) == (None, None)


@pytest.mark.parametrize(
    ("code", "error"),
    [(-8012, NpuLostError), (-8255, NotSupportedError), (-8017, DriverBusyError)],
)
async def test_a_return_code_becomes_the_error_that_says_what_to_do(
    faked: FakeDriver, code: int, error: type[DriverError]
) -> None:
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.answer("dcmi*_phy*id*_by_dev_id", code, phy=1)
        host.answer("dcmi_get_device_phyid_from_logicid", code, phy=1)

        with pytest.raises(error) as caught:
            await node.inventory.read_identity(address)

        assert caught.value.code == code


async def test_sharing_that_is_not_permitted_is_an_error_with_a_remedy(
    faked: FakeDriver,
) -> None:
    """-8002: not root, or not in a privileged container."""
    async with faked.open_host() as (node, host):
        address = await node.address(1)
        host.answer("dcmi*_set_device_share_enable", -8002)

        with pytest.raises(DriverError, match="root"):
            await node.shares.enable_share(address)


async def test_two_adapters_calls_never_overlap_an_init(faked: FakeDriver) -> None:
    """Enumeration with a slow init, beside readings of every chip; the host counts overlaps."""
    async with faked.open_host(npus=4) as (node, host):
        host.delay("dcmi*_init", 30)
        addresses = (await node.inventory.enumerate(reinitialise=False)).addresses

        await asyncio.gather(
            node.inventory.enumerate(reinitialise=True),
            *(node.health.read_health(address) for address in addresses),
            node.inventory.enumerate(reinitialise=True),
            *(node.usage.read_usage(address) for address in addresses),
        )

        (counts,) = host.statistics().values()
        assert counts["inits"] == 3
        assert counts["overlaps"] == 0
