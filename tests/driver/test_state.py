import pytest

from ascend_agent.driver.bring_up import OpenedDriver, Subscription
from ascend_agent.driver.state import PublishedState
from ascend_agent.model.npu import DriverApi, DriverPhase, DriverState
from ascend_agent.runtime.latest import Latest

_OPENED = OpenedDriver(
    api=DriverApi.V1, library="/x/libdcmi.so", dcmi_version="25.2.0", driver_version="25.2"
)


@pytest.fixture
async def channel() -> Latest[DriverState]:
    return Latest("driver")


@pytest.fixture
async def state(channel: Latest[DriverState]) -> PublishedState:
    return PublishedState(channel.claim("test"))


async def test_a_driver_that_ended_is_still_known_by_its_version(
    state: PublishedState, channel: Latest[DriverState]
) -> None:
    """People ask for it exactly then."""
    state.note_launch()
    state.note_ready(_OPENED, Subscription.CALLBACKS, parked=())
    state.note_parked((3,))
    state.note_end("the driver worker ended")

    assert channel.value == DriverState(
        phase=DriverPhase.STARTING,
        detail="the driver worker ended",
        api=DriverApi.V1,
        library="/x/libdcmi.so",
        dcmi_version="25.2.0",
        driver_version="25.2",
        callbacks=None,
        starts=1,
        parked_lanes=(),
    )


async def test_an_unavailable_driver_stays_so_while_workers_come_and_go(
    state: PublishedState, channel: Latest[DriverState]
) -> None:
    """Readiness must not flap with each attempt, nor the log repeat itself."""
    assert state.note_unavailable("no libdcmi.so")
    version = channel.version
    state.note_end("the agent ended it")
    assert not state.note_unavailable("no libdcmi.so")

    assert channel.version == version
    assert state.note_unavailable("libdcmi.so is not owned by root")


@pytest.mark.parametrize(
    ("subscription", "callbacks"),
    [
        (Subscription.NOT_WANTED, None),
        (Subscription.CALLBACKS, True),
        (Subscription.NOT_SUPPORTED, False),
        (Subscription.FAILED, False),
    ],
)
async def test_callbacks_are_true_only_where_events_arrive(
    state: PublishedState,
    subscription: Subscription,
    callbacks: bool | None,  # noqa: FBT001 -- a column of the table
) -> None:
    state.note_subscription(subscription)

    assert state.now.callbacks is callbacks
