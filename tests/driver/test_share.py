import pytest

from ascend_agent.driver.share import DriverShares
from ascend_agent.errors import DriverBusyError, DriverError, NotSupportedError
from tests.driver.readers import ADDRESS, answering

_OFF = {"rc": 0, "enabled": 0}


@pytest.mark.parametrize(
    ("answer", "enabled"),
    [
        ({"rc": 0, "enabled": 1}, True),
        ({"rc": 0, "enabled": 0}, False),
        ({"rc": -8255, "call": "dcmi_get_device_share_enable"}, True),
    ],
    ids=["on", "read back off", "not needed on this chip"],
)
async def test_the_flag_is_what_was_read_back(answer: dict[str, object], enabled: bool) -> None:  # noqa: FBT001 -- a column of the table
    async with answering(share_read=_OFF, share_enable=answer) as (worker, script):
        assert await DriverShares(worker).enable_share(ADDRESS) is enabled
        assert script.worker.requests[-1]["args"] == [2, 1, 5]


@pytest.mark.parametrize(("rc", "error"), [(-8020, DriverBusyError), (-8002, DriverError)])
async def test_a_refusal_is_an_error(rc: int, error: type[DriverError]) -> None:
    async with answering(share_read=_OFF, share_enable={"rc": rc}) as (worker, _):
        with pytest.raises(error, match=str(rc)):
            await DriverShares(worker).enable_share(ADDRESS)


async def test_a_flag_that_is_on_is_not_switched() -> None:
    """Switching takes the node's one turn, which another card's hang may hold for ever."""
    async with answering(share_read={"rc": 0, "enabled": 1}) as (worker, script):
        assert await DriverShares(worker).enable_share(ADDRESS)
        assert script.worker.ops[-1] == "share_read"


async def test_a_flag_that_can_not_be_read_is_switched_all_the_same() -> None:
    """Where the library has no way to read it, the driver's tool may have one to set it."""
    unread = {"rc": -99998, "call": "dcmi_get_device_share_enable"}
    async with answering(share_read=unread, share_enable={"rc": 0, "enabled": 1}) as (worker, _):
        assert await DriverShares(worker).enable_share(ADDRESS)


@pytest.mark.parametrize("enabled", [True, False], ids=["on", "off"])
async def test_looking_at_the_flag_changes_nothing(enabled: bool) -> None:  # noqa: FBT001 -- a column of the table
    async with answering(share_read={"rc": 0, "enabled": int(enabled)}) as (worker, script):
        assert await DriverShares(worker).read_share(ADDRESS) is enabled
        assert not {"share_enable", "share_disable"} & set(script.worker.ops)


@pytest.mark.parametrize("rc", [-8255, -99998], ids=["not on this chip", "not in this library"])
async def test_a_flag_that_nobody_knows_is_not_on(rc: int) -> None:
    """Soft slices would share a chip that may let one container in alone (HAMi E10)."""
    async with answering(share_read={"rc": rc, "detail": "no npu-smi"}) as (worker, _):
        with pytest.raises(NotSupportedError, match="no npu-smi"):
            await DriverShares(worker).read_share(ADDRESS)


@pytest.mark.parametrize("rc", [0, -8255])
async def test_the_flag_is_taken_back_or_there_is_none(rc: int) -> None:
    async with answering(share_disable={"rc": rc, "enabled": 0}) as (worker, script):
        await DriverShares(worker).disable_share(ADDRESS)
        assert script.worker.ops[-1] == "share_disable"


async def test_a_flag_that_can_not_be_taken_back_is_an_error() -> None:
    async with answering(share_disable={"rc": -8020}) as (worker, _):
        with pytest.raises(DriverBusyError, match="-8020"):
            await DriverShares(worker).disable_share(ADDRESS)
