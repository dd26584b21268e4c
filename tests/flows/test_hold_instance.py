"""One serving instance a node (KL-4)."""

import asyncio
import logging

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError
from ascend_agent.flows.hold_instance import HoldInstance
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    PluginDirectory,
    ServingPhase,
    ServingState,
)
from tests.fakes.running import running, settle

RESOURCE = ResourceName("huawei.com/Ascend910")


class _Lock:
    def __init__(self, *, free: bool) -> None:
        self.free = free
        self.held = False
        self.trouble = ""

    def try_acquire(self) -> bool:
        if self.trouble:
            raise HostError(self.trouble)
        self.held = self.free
        return self.held

    def holder(self) -> str:
        return "pid 7 on node-a"

    def release(self) -> None:
        self.held = False


def _flow(bus: Bus, lock: _Lock) -> HoldInstance:
    return HoldInstance(lock=lock, bus=bus, instance=bus.instance.claim("hold-instance"))


async def test_a_free_lock_is_held_at_once() -> None:
    bus, lock = Bus([]), _Lock(free=True)
    async with running(_flow(bus, lock).run):
        assert bus.instance.value == InstanceState(phase=InstancePhase.HOLDING)


async def test_another_instance_is_waited_for_and_named_then_replaced_within_a_tenth_of_a_second(
    looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """Two at once would make the kubelet reset the counts; the hand-over is under 5 s."""
    caplog.set_level(logging.INFO)
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
    assert [record.getMessage() for record in caplog.records] == [
        "another instance serves this node",
        "took over from another instance",
    ]


async def test_the_lock_is_given_back_on_the_way_out() -> None:
    """The next instance must not wait for this process to end."""
    bus, lock = Bus([]), _Lock(free=True)
    async with running(_flow(bus, lock).run):
        assert lock.held
    assert not lock.held


async def test_the_lock_is_kept_until_nothing_is_served_any_more(looptime: LoopTimeProxy) -> None:
    """Another instance's registration would break the Allocate that is still being answered."""
    bus, lock = Bus([RESOURCE]), _Lock(free=True)
    serving = bus.serving[RESOURCE].claim("test")
    serving.put(ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING))

    async def drain() -> None:
        await asyncio.sleep(3)
        assert lock.held
        serving.put(ServingState(resource=RESOURCE, phase=ServingPhase.WAITING))

    async with asyncio.TaskGroup() as group, running(_flow(bus, lock).run):
        group.create_task(drain())

    assert not lock.held
    assert looptime == 3


async def test_a_drain_without_end_does_not_keep_the_lock(looptime: LoopTimeProxy) -> None:
    bus, lock = Bus([RESOURCE]), _Lock(free=True)
    bus.serving[RESOURCE].claim("test").put(
        ServingState(resource=RESOURCE, phase=ServingPhase.SERVING)
    )
    async with running(_flow(bus, lock).run):
        pass

    assert not lock.held
    assert looptime == 5


async def test_a_lock_that_can_not_be_taken_is_said_until_it_is_held() -> None:
    """KL-4, PM-1: readiness must name the directory; who serves already goes on."""
    bus, lock = Bus([]), _Lock(free=True)
    flow = _flow(bus, lock)
    lock.trouble = "can't take lock /run/ascend-agent: Read-only file system"
    with pytest.raises(HostError):
        await flow.run()
    assert bus.instance.value is not None
    assert bus.instance.value.obstacle == lock.trouble

    lock.trouble = ""
    async with running(flow.run):
        assert bus.instance.value.obstacle == ""

    lock.trouble = "No space left on device"
    with pytest.raises(HostError):
        await flow.run()
    assert bus.instance.value.obstacle == ""

    lock.trouble, lock.free = "", False
    async with running(flow.run):
        assert bus.instance.value.obstacle
    lock.trouble = "Permission denied"
    with pytest.raises(HostError):
        await flow.run()
    assert bus.instance.value.obstacle == lock.trouble


async def test_a_change_among_the_sockets_is_reason_to_look_at_the_lock(
    looptime: LoopTimeProxy,
) -> None:
    """Until it looked, two instances replaced each other's sockets as fast as they could."""
    bus, lock = Bus([]), _Lock(free=True)
    directory = bus.directory.claim("test")
    async with running(_flow(bus, lock).run):
        lock.free = False
        directory.put(PluginDirectory(present=True))
        await settle()
        assert bus.instance.value == InstanceState(
            phase=InstancePhase.WAITING, holder="pid 7 on node-a"
        )
    assert looptime == 0


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
