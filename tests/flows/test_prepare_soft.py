"""The host is prepared while soft slices are wanted, and what it lacks is said."""

import asyncio
import dataclasses

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, DriverUnavailableError, NotSupportedError
from ascend_agent.flows.prepare_soft import PrepareSoft
from ascend_agent.model.hami import HamiConfig, HamiState, SoftHost, SoftPaths
from ascend_agent.model.ids import Millis, ResourceName
from ascend_agent.model.kubelet import AllocateServed
from tests.fakes.host import FakeHost
from tests.fakes.npus import inventory, npu
from tests.fakes.running import running, settle
from tests.fakes.shares import FakeShares
from tests.fakes.soft_host import FakePreparation

READY = SoftHost(ready=True)
HARD = HamiState(config=HamiConfig(chips=()), chip=None)
SOFT = dataclasses.replace(HARD, wants_soft=True)
DRIVER = "/usr/local/Ascend/driver/lib64/driver"
PRELOAD, LIBRARY = "/opt/core/ld.so.preload", "/opt/core/libvnpu.so"
SERVED = AllocateServed(
    resource=ResourceName("r"), npus=(), took_s=0.1, refusal="", at_ms=Millis(0)
)
REFUSED = dataclasses.replace(SERVED, refusal="something is missing")


class Scene:
    """A prepared host, unless a test takes something away."""

    def __init__(self, *, hami: HamiState | None = SOFT) -> None:
        self.bus = Bus([])
        self.hami = self.bus.hami.claim("test")
        self.served = self.bus.served.claim("test")
        self.inventory = self.bus.inventory.claim("test")
        self.preparation = FakePreparation()
        self.shares = FakeShares()
        self.host = FakeHost(
            PRELOAD,
            LIBRARY,
            directories={DRIVER: (), "/opt/core": (), "/opt/region": ()},
        )
        self.host.paths |= self.host.directories.keys()
        self.flow = PrepareSoft(
            preparation=self.preparation,
            host=self.host,
            shares=self.shares,
            inventory=self.bus.inventory,
            where=SoftPaths(root="/opt/core", region="/opt/region"),
            hami=self.bus.hami,
            served=self.bus.served,
            soft=self.bus.soft.claim("prepare-soft"),
        )
        if hami is not None:
            self.hami.put(hami)

    @property
    def said(self) -> SoftHost | None:
        return self.bus.soft.value


@pytest.mark.parametrize("hami", [None, HARD])
async def test_nothing_is_done_to_a_host_that_needs_none_of_it(hami: HamiState | None) -> None:
    """HAMi E7: the older plugin stages it in hard mode too, and ends where that fails."""
    scene = Scene(hami=hami)
    async with running(scene.flow.run):
        await asyncio.sleep(3600)

        assert scene.preparation.asked == []
        assert scene.said == SoftHost(ready=False)


async def test_a_host_is_prepared_when_soft_slices_are_wanted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    scene = Scene(hami=HARD)
    async with running(scene.flow.run):
        scene.hami.put(SOFT)
        await settle()

        assert scene.said == READY
        assert caplog.messages == ["host prepared for soft slices"]


async def test_until_then_it_is_said_that_it_takes_a_moment() -> None:
    scene = Scene()
    scene.preparation.hold = asyncio.Event()
    async with running(scene.flow.run):
        assert scene.said is not None
        assert not scene.said.ready
        assert scene.said.preparing
        assert "is being prepared" in scene.said.trouble

        scene.preparation.hold.set()
        await settle()
        assert scene.said == READY


async def test_what_fails_is_said_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.preparation.trouble = "libvnpu.so is no ELF file"
    async with running(scene.flow.run):
        await asyncio.sleep(65)
        assert scene.said == SoftHost(ready=False, trouble="libvnpu.so is no ELF file")
        assert scene.preparation.asked == [0, 30, 60]
        assert [vars(told)["why"] for told in caplog.records] == ["libvnpu.so is no ELF file"]

        scene.preparation.trouble = "another"
        await asyncio.sleep(30)
        assert caplog.messages == ["soft slices not possible"] * 2

        scene.preparation.trouble = ""
        await asyncio.sleep(30)
        assert scene.said == READY


@pytest.mark.parametrize(
    ("path", "there"), [(DRIVER, False), (PRELOAD, False), (LIBRARY, False), (DRIVER, True)]
)
async def test_a_mount_that_every_container_needs_must_be_there(path: str, there: bool) -> None:  # noqa: FBT001 -- a column of the table
    """IM-1: an Allocate must not be the first to find out."""
    scene = Scene()
    scene.host.paths.discard(path)
    scene.host.directories.pop(path, None)
    if there:
        scene.host.paths.add(path)  # as a file
    async with running(scene.flow.run):
        assert scene.said is not None
        assert not scene.said.ready
        assert path in scene.said.trouble


async def test_a_host_that_loses_a_file_offers_soft_slices_no_more() -> None:
    """IM-7: noticed by the slow look at the latest."""
    scene = Scene()
    async with running(scene.flow.run):
        await asyncio.sleep(599)
        scene.preparation.trouble = "the library is gone"
        assert scene.said == READY

        await asyncio.sleep(2)
        assert scene.said == SoftHost(ready=False, trouble="the library is gone")


async def test_a_refused_allocate_may_have_missed_a_file() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        await asyncio.sleep(100)
        scene.served.publish(SERVED)
        await asyncio.sleep(1)
        assert scene.preparation.asked == [0]

        scene.preparation.trouble = "the library is gone"
        scene.served.publish(REFUSED)
        await settle()
        assert scene.said == SoftHost(ready=False, trouble="the library is gone")


async def test_a_pod_that_is_refused_over_and_over_costs_little() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        for _ in range(25):
            await asyncio.sleep(1)
            scene.served.publish(REFUSED)
        await settle()

        assert scene.preparation.asked == [0, 10, 20]


async def test_a_storm_of_allocates_may_hide_a_refused_one() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        await asyncio.sleep(100)
        for _ in range(5000):
            scene.served.publish(SERVED)
        await settle()

        assert scene.preparation.asked == [0, 100]


async def test_refusals_do_not_prepare_a_host_in_hard_mode() -> None:
    scene = Scene(hami=HARD)
    async with running(scene.flow.run):
        scene.served.publish(REFUSED)
        await asyncio.sleep(100)

        assert scene.preparation.asked == []


async def test_the_wish_may_go_and_come_back() -> None:
    """Other news of the configuration is no reason to look at the host."""
    scene = Scene()
    async with running(scene.flow.run):
        scene.hami.put(dataclasses.replace(SOFT, soft=True))
        await asyncio.sleep(50)
        assert scene.preparation.asked == [0]

        scene.hami.put(HARD)
        await settle()
        assert scene.said == SoftHost(ready=False)

        scene.hami.put(SOFT)
        await settle()
        assert scene.said == READY
        assert scene.preparation.asked == [0, 50]


# --- the way to share -----------------------------------------------------------------------

NO_WAY = NotSupportedError("share_get", -99998, detail="driver too old, and there is no npu-smi")


async def test_where_no_npu_can_be_shared_soft_slices_alone_are_off() -> None:
    """HAMi E10: neither the driver's calls nor the tool; hard slices and whole cards go on."""
    scene = Scene()
    scene.shares.mute = {0: NO_WAY, 1: NO_WAY}
    async with running(scene.flow.run):
        assert scene.said == READY

        scene.inventory.put(inventory(2))
        await settle()
        assert scene.said is not None
        assert not scene.said.ready
        assert "no npu-smi" in scene.said.trouble
        assert "hard mode" in scene.said.trouble

        scene.shares.mute.clear()
        await asyncio.sleep(30.1)
        assert scene.said == READY


@pytest.mark.parametrize(
    "second",
    [None, DriverError("share_get", -8020), DriverUnavailableError("worker ended")],
    ids=["answers", "fails", "no worker"],
)
async def test_one_npu_that_can_not_be_shared_keeps_no_other_from_it(
    second: Exception | None,
) -> None:
    scene = Scene()
    scene.shares.mute = {0: NO_WAY} | ({1: second} if second else {})
    scene.inventory.put(inventory(3))
    async with running(scene.flow.run):
        assert scene.said == READY


async def test_an_npu_that_is_not_there_is_not_asked() -> None:
    scene = Scene()
    scene.inventory.put(dataclasses.replace(inventory(0), npus=(npu(0, listed=False),)))
    async with running(scene.flow.run):
        assert scene.said == READY
        assert scene.shares.calls == []


async def test_later_news_of_the_inventory_are_no_reason_to_look() -> None:
    scene = Scene()
    scene.inventory.put(inventory(1))
    async with running(scene.flow.run):
        scene.inventory.put(inventory(2))
        await asyncio.sleep(100)

        assert scene.preparation.asked == [0]
