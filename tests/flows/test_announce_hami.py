"""What HAMi's side has to tell is told once, by what the bus shows."""

import dataclasses

from ascend_agent.bus import Bus
from ascend_agent.flows.announce_hami import HamiAnnouncements
from ascend_agent.model.hami import SoftHost
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.npu import Inventory
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuId, VnpuSweep
from ascend_agent.runtime.wakeup import Wakeup
from tests.fakes.hami import npu_view, state

LEAK = Vnpu(vnpu=VnpuId(100), template="vir01", opened=False, container=0)
REFUSED = AllocateServed(
    resource=ResourceName("huawei.com/Ascend910B3"),
    npus=(),
    took_s=0.1,
    refusal="no pod waits",
    at_ms=Millis(3),
)


class Scene:
    def __init__(self) -> None:
        self.bus = Bus([])
        self.served = self.bus.served.claim("test")
        self.hami = self.bus.hami.claim("test")
        self.inventory = self.bus.inventory.claim("test")
        self.soft = self.bus.soft.claim("test")
        self.shares = self.bus.shares.claim("test")
        self.vnpus = self.bus.vnpus.claim("test")
        self.announcements = HamiAnnouncements(self.bus)
        self.wakeup = Wakeup()
        self.announcements.attach(self.wakeup)

    def reasons(self) -> list[str]:
        return [one.reason for one in self.announcements.take(Millis(7))]


async def test_while_nothing_is_known_there_is_nothing_to_tell() -> None:
    assert Scene().reasons() == []


async def test_all_channels_are_told_of_once() -> None:
    scene = Scene()
    scene.served.publish(REFUSED)
    wanting = dataclasses.replace(state(), wants_soft=True, refused=("x",))
    scene.hami.put(wanting)
    scene.soft.put(SoftHost(ready=False, trouble="no library"))
    scene.shares.put(ShareStates(enabled={PhyId(0): False}))
    scene.vnpus.put(VnpuSweep(mode=SweepMode.REPORT, surplus={PhyId(0): (LEAK,)}))

    assert scene.reasons() == [
        "AscendAllocateFailed",
        "HamiConfigRefused",
        "HamiSoftModeWithdrawn",
        "HamiShareRefused",
        "VnpuLeaked",
    ]
    assert scene.reasons() == []


async def test_ends_are_told_as_well() -> None:
    scene = Scene()
    scene.hami.put(dataclasses.replace(state(), wants_soft=True, refused=("x",)))
    scene.soft.put(SoftHost(ready=False, trouble="no library"))
    scene.shares.put(ShareStates(enabled={PhyId(0): False}))
    scene.reasons()
    scene.hami.put(dataclasses.replace(state(), wants_soft=True))
    scene.soft.put(SoftHost(ready=True))
    scene.shares.put(ShareStates(enabled={PhyId(0): True}))

    assert scene.reasons() == ["HamiConfigTaken", "HamiSoftModeOffered", "HamiShareEnabled"]


async def test_each_channel_wakes_whoever_tells() -> None:
    scene = Scene()
    for change in (
        lambda: scene.served.publish(REFUSED),
        lambda: scene.hami.put(state()),
        lambda: scene.soft.put(SoftHost(ready=True)),
        lambda: scene.shares.put(ShareStates(enabled={})),
        lambda: scene.vnpus.put(VnpuSweep(mode=SweepMode.OFF)),
    ):
        change()
        assert await scene.wakeup.wait(0)


async def test_more_refusals_than_can_be_kept_are_left_to_the_log() -> None:
    scene = Scene()
    for _ in range(scene.bus.served.depth + 1):
        scene.served.publish(REFUSED)

    assert scene.reasons() == []
    scene.served.publish(REFUSED)
    assert scene.reasons() == ["AscendAllocateFailed"]


async def test_a_chip_is_told_of_once_the_npus_are_known_and_again_when_it_is_configured() -> None:
    scene = Scene()
    scene.hami.put(dataclasses.replace(state(), chip=None, trouble="chip 910B3: none of 910A"))
    early = scene.reasons()
    found = Inventory(generation=1, npus=(npu_view(0).npu,), unread=(), unknown=(), lost_cards=0)
    scene.inventory.put(found)
    known = scene.reasons()
    scene.hami.put(state())

    assert (early, known) == ([], ["HamiChipNotConfigured"])
    assert scene.reasons() == ["HamiChipConfigured"]
