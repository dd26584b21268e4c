"""The driver's device-share flag follows the inventory; where it stays off, that is said."""

import asyncio
import dataclasses
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.flows.enable_shares import EnableShares
from ascend_agent.model.fault import RESET_FINISHED, Assertion, FaultEvent, Origin, Resync
from ascend_agent.model.health import HealthAnswer, HealthReading, ReadingFailure, ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import NpuAddress
from tests.fakes.npus import inventory, without_address
from tests.fakes.running import running, settle

FAILED = ReadingFailure.FAILED


@dataclass
class _Share:
    """A driver that refuses on the lanes a test names."""

    refuses: dict[int, Exception] = field(default_factory=dict)
    stays_off: set[int] = field(default_factory=set)
    asked: list[tuple[int, float]] = field(default_factory=list)

    async def enable_share(self, address: NpuAddress) -> bool:
        self.asked.append((address.lane, asyncio.get_running_loop().time()))
        await asyncio.sleep(0)
        if error := self.refuses.get(address.lane):
            raise error
        return address.lane not in self.stays_off


def _flow(bus: Bus, share: _Share) -> EnableShares:
    return EnableShares(
        share=share,
        inventory=bus.inventory,
        faults=bus.faults,
        readings=bus.readings,
        shares=bus.shares.claim("enable-shares"),
    )


def _states(bus: Bus) -> dict[PhyId, bool]:
    assert isinstance(bus.shares.value, ShareStates)
    return dict(bus.shares.value.enabled)


def _reading(phy: int, *, lost: bool) -> HealthReading:
    answer = HealthAnswer(
        health=None if lost else 0, lost=lost, codes=None if lost else frozenset()
    )
    return HealthReading(npu=PhyId(phy), asked_after=0, answered_at_ms=Millis(0), outcome=answer)


async def test_every_npu_is_switched_and_those_that_stay_off_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(3))
    share = _Share(refuses={1: DriverError("share", -8002)}, stays_off={2})

    async with running(_flow(bus, share).run):
        assert _states(bus) == {0: True, 1: False, 2: False}
        assert [(vars(told)["npu"], vars(told)["bus"]) for told in caplog.records] == [
            (1, "0000:C1:00.0"),
            (2, "0000:C2:00.0"),
        ]

        share.refuses.clear()
        share.stays_off.clear()
        await asyncio.sleep(10.1)
        assert _states(bus) == {0: True, 1: True, 2: True}


async def test_a_worker_that_is_away_changes_nothing() -> None:
    """What the driver confirmed before stands: a crash of the worker resets no flag."""
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(1))
    faults = bus.faults.claim("test")
    share = _Share()

    async with running(_flow(bus, share).run):
        share.refuses[0] = DriverUnavailableError("worker ended")
        faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        assert _states(bus) == {0: True}


async def test_an_npu_that_is_lost_has_to_be_switched_anew() -> None:
    """Its card forgets the flag: between its return and the switch it must not be shared."""
    bus = Bus([])
    npus = bus.inventory.claim("test")
    npus.put(inventory(2))
    share = _Share()

    async with running(_flow(bus, share).run):
        known = inventory(2)
        npus.put(dataclasses.replace(known, npus=(known.npus[0], without_address(known.npus[1]))))
        await settle()
        assert _states(bus) == {0: True}

        share.stays_off.add(1)
        npus.put(known)
        await settle()
        assert _states(bus) == {0: True, 1: False}


async def test_a_card_that_was_lost_in_its_place_is_switched_before_it_is_shared() -> None:
    """It may be back before anybody looked, and not every chip tells that it was reset."""
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(2))
    readings = bus.readings.claim("test")
    share = _Share()

    async with running(_flow(bus, share).run):
        await asyncio.sleep(1)
        readings.publish(_reading(1, lost=True))
        readings.publish(_reading(0, lost=False))
        readings.publish(dataclasses.replace(_reading(1, lost=True), outcome=FAILED))
        bus.faults.claim("test").publish(Resync(npu=None, reason="a look at all"))
        await settle()
        assert _states(bus) == {0: True}

        await asyncio.sleep(1)
        readings.publish(_reading(1, lost=False))
        await settle()
        assert _states(bus) == {0: True, 1: True}
        assert share.asked == [(0, 0), (1, 0), (0, 1), (0, 2), (1, 2)]

        readings.publish(_reading(1, lost=False))
        await settle()
        assert len(share.asked) == 5


async def test_the_flag_is_set_again_after_a_reset_and_a_new_worker() -> None:
    """Dcmi 6.8: the driver may have forgotten it."""
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(1))
    faults = bus.faults.claim("test")
    share = _Share()

    async with running(_flow(bus, share).run):
        await asyncio.sleep(1)
        faults.publish(Resync(npu=None, reason="worker started"))
        await asyncio.sleep(1)
        faults.publish(
            FaultEvent(
                npu=PhyId(0),
                code=RESET_FINISHED,
                assertion=Assertion.ONE_OFF,
                severity=None,
                received_at_ms=Millis(0),
                seen_ns=0,
                driver_time=None,
                origin=Origin.CALLBACK,
                sequence=2,
            )
        )
        await settle()
    assert [at for _, at in share.asked] == [0, 1, 2]


async def test_an_npu_that_hung_is_switched_after_all_others() -> None:
    """A change that hangs holds the node's one turn, and no other card could be switched."""
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(3))
    faults = bus.faults.claim("test")
    share = _Share(refuses={0: NpuUnresponsiveError("share_enable", -8006)})

    async with running(_flow(bus, share).run):
        share.asked.clear()
        faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        assert [lane for lane, _ in share.asked] == [1, 2, 0]

        share.refuses.clear()
        faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        share.asked.clear()
        faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        assert [lane for lane, _ in share.asked] == [0, 1, 2]
