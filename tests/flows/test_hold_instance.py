"""One serving instance a node (KL-4)."""

import asyncio

from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.flows.hold_instance import HoldInstance
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from tests.fakes.running import running


class _Lock:
    def __init__(self, *, free: bool) -> None:
        self.free = free
        self.held = False

    def try_acquire(self) -> bool:
        self.held = self.free
        return self.held

    def holder(self) -> str:
        return "pid 7 on node-a"

    def release(self) -> None:
        self.held = False


def _flow(bus: Bus, lock: _Lock) -> HoldInstance:
    return HoldInstance(lock=lock, instance=bus.instance.claim("hold-instance"))


async def test_a_free_lock_is_held_at_once() -> None:
    bus, lock = Bus([]), _Lock(free=True)
    async with running(_flow(bus, lock).run):
        assert bus.instance.value == InstanceState(phase=InstancePhase.HOLDING)


async def test_another_instance_is_waited_for_and_named_then_replaced_within_a_tenth_of_a_second(
    looptime: LoopTimeProxy,
) -> None:
    """Two at once would make the kubelet reset the counts; the hand-over is under 5 s."""
    bus, lock = Bus([]), _Lock(free=False)
    async with running(_flow(bus, lock).run):
        await asyncio.sleep(60)
        assert bus.instance.value == InstanceState(
            phase=InstancePhase.WAITING, holder="pid 7 on node-a"
        )
        lock.free = True
        await asyncio.sleep(0.1)
        assert bus.instance.value == InstanceState(phase=InstancePhase.HOLDING)
    assert looptime == 60.1


async def test_the_lock_is_given_back_on_the_way_out() -> None:
    """The next instance must not wait for this process to end."""
    bus, lock = Bus([]), _Lock(free=True)
    async with running(_flow(bus, lock).run):
        assert lock.held
    assert not lock.held


async def test_a_lock_that_was_taken_away_is_noticed_and_waited_for_again() -> None:
    """A removed lock file would let a second instance in without the first one knowing."""
    bus, lock = Bus([]), _Lock(free=True)
    async with running(_flow(bus, lock).run):
        lock.free = False
        await asyncio.sleep(10)
        assert bus.instance.value == InstanceState(
            phase=InstancePhase.WAITING, holder="pid 7 on node-a"
        )
        lock.free = True
        await asyncio.sleep(0.1)
        assert bus.instance.value == InstanceState(phase=InstancePhase.HOLDING)
