import pytest

from ascend_agent.driver.share import DriverShares
from ascend_agent.errors import DriverBusyError, DriverError
from tests.driver.readers import ADDRESS, answering


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
    async with answering(share_enable=answer) as (worker, script):
        assert await DriverShares(worker).enable_share(ADDRESS) is enabled
        assert script.worker.requests[-1]["args"] == [2, 1, 5]


@pytest.mark.parametrize(("rc", "error"), [(-8020, DriverBusyError), (-8002, DriverError)])
async def test_a_refusal_is_an_error(rc: int, error: type[DriverError]) -> None:
    async with answering(share_enable={"rc": rc}) as (worker, _):
        with pytest.raises(error, match=str(rc)):
            await DriverShares(worker).enable_share(ADDRESS)
