from collections.abc import AsyncIterator

import pytest

from ascend_agent.driver.bring_up import (
    OpenedDriver,
    StartFailedError,
    Subscription,
    WorkerEndedError,
    open_driver,
    subscribe,
)
from ascend_agent.driver.link import WorkerLink, start_link
from ascend_agent.model.npu import DriverApi
from tests.driver.scripted import OPENED, Ear, Frame, Script


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def link(script: Script) -> AsyncIterator[WorkerLink]:
    ear = Ear()
    link = await start_link(
        script.spawn, hello=b"\0\0\0\2{}", environment={}, hear=ear.hear, changed=ear.changed
    )
    yield link
    await link.close()


async def test_an_open_driver_says_what_it_is(link: WorkerLink) -> None:
    assert await open_driver(link, deadline_s=30) == OpenedDriver(
        api=DriverApi.V1,
        library="/usr/local/dcmi/libdcmi.so",
        dcmi_version="25.2.0",
        driver_version="25.2.RC1",
    )


async def test_versions_that_the_library_does_not_tell_are_empty(
    link: WorkerLink, script: Script
) -> None:
    script.worker.answers["open"] = {**OPENED, "dcmi_version": None, "driver_version": None}

    opened = await open_driver(link, deadline_s=30)

    assert (opened.dcmi_version, opened.driver_version) == ("", "")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"rc": -99999, "call": "open", "detail": "libdcmi.so was not found."}, "was not found"),
        ({"rc": -8005, "call": "dcmi_init"}, "dcmi_init answered -8005"),
        ({"rc": -1}, "open answered -1"),
        ({**OPENED, "api": "v3"}, "unknown interface: 'v3'"),
    ],
)
async def test_a_driver_that_can_not_be_opened_says_why(
    link: WorkerLink, script: Script, answer: Frame, text: str
) -> None:
    """The worker's own sentence where it has one; in any case the call and its answer."""
    script.worker.answers["open"] = answer

    with pytest.raises(StartFailedError, match=text) as caught:
        await open_driver(link, deadline_s=30)

    assert not isinstance(caught.value, WorkerEndedError)


async def test_a_worker_that_hangs_has_ended(link: WorkerLink, script: Script) -> None:
    """Nothing can be done without these calls, so a worker that hangs in one is no use."""
    script.worker.answers["open"] = None

    with pytest.raises(WorkerEndedError, match="hangs: open"):
        await open_driver(link, deadline_s=3)
    with pytest.raises(WorkerEndedError, match="hangs: open"):
        await subscribe(link, deadline_s=3)


@pytest.mark.parametrize(
    ("rc", "outcome"),
    [
        (0, Subscription.CALLBACKS),
        (-8255, Subscription.NOT_SUPPORTED),
        (-99998, Subscription.NOT_SUPPORTED),
        (-8002, Subscription.FAILED),
        (-8005, Subscription.FAILED),
    ],
)
async def test_a_subscription_works_never_will_or_may_later(
    link: WorkerLink, script: Script, rc: int, outcome: Subscription
) -> None:
    """-8255, or a library without the function, means polling for good; the rest is tried again."""
    script.worker.answers["subscribe"] = {"rc": rc}

    assert await subscribe(link, deadline_s=10) is outcome
