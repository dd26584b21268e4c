"""Driver events become events of NPUs; what can't be attributed asks for a full look."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.flows.subscribe_faults import SubscribeFaults
from ascend_agent.interfaces import DriverResync
from ascend_agent.model.fault import (
    Assertion,
    DriverFault,
    FaultCode,
    FaultEvent,
    FaultNotice,
    Resync,
    Severity,
)
from ascend_agent.model.ids import LogicId, PhyId
from ascend_agent.model.npu import HiddenNpu, LaneId
from ascend_agent.runtime.clock import Clock
from tests.fakes.npus import address, inventory


@dataclass(frozen=True, kw_only=True)
class _Resync:
    lane: LaneId | None
    reason: str = "worker started"


class _News:
    """What the worker tells, with pauses in seconds between."""

    def __init__(self, *items: DriverFault | DriverResync | float) -> None:
        self._items = items

    async def news(self) -> AsyncIterator[DriverFault | DriverResync]:
        for item in self._items:
            if isinstance(item, float):
                await asyncio.sleep(item)
            else:
                yield item


def _fault(logic: int) -> DriverFault:
    return DriverFault(
        logic=LogicId(logic),
        code=FaultCode(0x80E01801),
        assertion=Assertion.OCCURRED,
        severity=Severity.CRITICAL,
        driver_time=None,
        seen_ns=42,
        text="",
    )


async def _published(bus: Bus, *items: DriverFault | DriverResync | float) -> list[FaultNotice]:
    reader = bus.faults.subscribe()
    flow = SubscribeFaults(
        news=_News(*items),
        inventory=bus.inventory,
        faults=bus.faults.claim("subscribe-faults"),
        clock=Clock(),
    )
    await flow.run()
    return reader.drain()


def _bus() -> Bus:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory())
    return bus


async def test_an_event_is_attributed_by_logic_id_and_numbered() -> None:
    first, second = await _published(_bus(), _fault(3), _fault(5))

    assert isinstance(first, FaultEvent)
    assert isinstance(second, FaultEvent)
    assert (first.npu, first.seen_ns, first.sequence) == (PhyId(3), 42, 1)
    assert (second.npu, second.sequence) == (PhyId(5), 2)


async def test_an_event_before_the_inventory_asks_for_a_full_look() -> None:
    """It can't be attributed, and dropping it would leave a sick NPU healthy."""
    (notice,) = await _published(Bus([]), _fault(3))

    assert isinstance(notice, Resync)
    assert notice.npu is None


async def test_a_chatty_unlisted_chip_asks_once() -> None:
    """A chip that is never offered must not keep the whole node busy re-reading."""
    notices = await _published(_bus(), _fault(40), _fault(40), _fault(41))

    assert len(notices) == 1


async def test_a_chip_that_talks_on_is_asked_about_again_after_a_while() -> None:
    """The first look may have come too early to find it."""
    notices = await _published(_bus(), _fault(40), 4.9, _fault(40), 0.2, _fault(40))

    assert [type(notice) for notice in notices] == [Resync, Resync]


async def test_a_new_worker_resyncs_all_and_a_lane_its_own_npus() -> None:
    everything, one = await _published(_bus(), _Resync(lane=None), _Resync(lane=6))

    assert everything == Resync(npu=None, reason="worker started")
    assert one == Resync(npu=PhyId(6), reason="worker started")


async def test_a_lane_that_answers_before_the_inventory_resyncs_all() -> None:
    (notice,) = await _published(Bus([]), _Resync(lane=3))

    assert notice == Resync(npu=None, reason="worker started")


async def test_a_lane_of_no_known_npu_resyncs_all() -> None:
    """The card behind it never told its identity: only a full look can find it."""
    (notice,) = await _published(_bus(), _Resync(lane=77))

    assert notice == Resync(npu=None, reason="worker started")


async def test_what_a_hidden_npu_says_is_nobodys_and_makes_nobody_look() -> None:
    """CF-8: it is hidden since it is broken, mostly, and may talk all day."""
    bus = Bus([])
    seen = inventory(3)
    hidden = HiddenNpu(address=address(2), phy=PhyId(2))
    bus.inventory.claim("test").put(dataclasses.replace(seen, npus=seen.npus[:2], hidden=(hidden,)))

    assert await _published(bus, _fault(2), _Resync(lane=2), _fault(2)) == []


async def test_who_shares_a_lane_with_a_hidden_npu_is_read_anew() -> None:
    bus = Bus([])
    hidden = HiddenNpu(address=dataclasses.replace(address(1), logic=LogicId(9)), phy=PhyId(9))
    bus.inventory.claim("test").put(dataclasses.replace(inventory(2), hidden=(hidden,)))

    (notice,) = await _published(bus, _Resync(lane=1), _fault(9))

    assert isinstance(notice, Resync)
    assert notice.npu == 1
