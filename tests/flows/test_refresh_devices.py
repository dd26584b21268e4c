"""The inventory follows the driver; one silent card holds nothing up, missing ones are sought."""

import asyncio
import dataclasses
import logging
from dataclasses import dataclass, field

import pytest
from looptime import LoopTimeProxy

from ascend_agent import chips
from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, NpuUnresponsiveError
from ascend_agent.flows.refresh_devices import RefreshDevices, RefreshPeriods
from ascend_agent.model.fault import Resync
from ascend_agent.model.hami import HamiConfig, HamiNodeEntry, HamiState
from ascend_agent.model.health import HealthAnswer, HealthReading, ReadingFailure
from ascend_agent.model.ids import CardId, Millis, PhyId
from ascend_agent.model.npu import (
    DriverPhase,
    DriverState,
    Enumeration,
    Inventory,
    NpuAddress,
    NpuIdentity,
)
from ascend_agent.runtime.latest import Latest, LatestWriter
from tests.fakes.npus import CHIP, enumeration, identity
from tests.fakes.running import running, settle

_PERIODS = RefreshPeriods(rescan_s=300, patient_s=30, eager_for_s=60)


@dataclass
class _Reader:
    """A driver whose list and whose silent cards a test sets."""

    lists: list[Enumeration]
    silent: set[int] = field(default_factory=set)
    deadline_s: float = 3.0
    chip_names: dict[int, str] = field(default_factory=dict)
    nameless: set[int] = field(default_factory=set)
    asked: list[tuple[float, bool]] = field(default_factory=list)
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def enumerate(self, *, reinitialise: bool) -> Enumeration:
        self.asked.append((asyncio.get_running_loop().time(), reinitialise))
        self.looked.set()
        found = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if found.cards < 0:
            raise DriverError("dcmi_get_card_list", -8005)
        return found

    async def read_identity(self, address: NpuAddress) -> NpuIdentity:
        if address.lane in self.silent:
            await asyncio.sleep(self.deadline_s)
            raise NpuUnresponsiveError("identity", -1, f"lane {address.lane}")
        chip = CHIP
        if name := self.chip_names.get(address.lane):
            chip = dataclasses.replace(CHIP, chip_name=name, board_id=None)
        known = identity(address.lane, at=address, chip=chip)
        return dataclasses.replace(known, die=None) if address.lane in self.nameless else known


def _flow(
    bus: Bus,
    reader: _Reader,
    driver: LatestWriter[DriverState] | None = None,
    config: Latest[HamiState] | None = None,
) -> RefreshDevices:
    (driver or bus.driver.claim("test")).put(DriverState(phase=DriverPhase.READY))
    return RefreshDevices(
        reader=reader,
        identify=chips.identify,
        place=lambda _: None,
        bus=bus,
        inventory=bus.inventory.claim("refresh-devices"),
        periods=_PERIODS,
        config=config,
    )


def _hiding(*cards: int) -> HamiState:
    entry = HamiNodeEntry(hidden_cards=frozenset(CardId(card) for card in cards))
    return HamiState(config=HamiConfig(chips=(), entry=entry), chip=None)


def _lost(phy: int) -> HealthReading:
    answer = HealthAnswer(health=None, lost=True, codes=None, rc=-8012)
    return HealthReading(npu=PhyId(phy), asked_after=0, answered_at_ms=Millis(0), outcome=answer)


def _value(bus: Bus) -> Inventory:
    assert bus.inventory.value is not None
    return bus.inventory.value


async def test_cards_that_answer_are_published_without_waiting_for_a_silent_one(
    looptime: LoopTimeProxy,
) -> None:
    """HL-3: a hung card costs nothing but itself; 300 ms is all the others wait (design D3)."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1, 2)], silent={1})

    async with running(_flow(bus, reader).run):
        await bus.inventory.first()

        assert looptime == 0.3
        assert [npu.phy for npu in _value(bus).npus] == [0, 2]

        await asyncio.sleep(3)
        assert [card.address.lane for card in _value(bus).unread] == [1]
        assert "lane 1" in _value(bus).unread[0].reason


async def test_a_card_that_falls_silent_keeps_its_last_identity() -> None:
    """HL-3: it stays listed under its address, so that health can call it unresponsive."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])

    async with running(_flow(bus, reader).run):
        reader.silent.add(1)
        await asyncio.sleep(310)

        assert [npu.phy for npu in _value(bus).npus] == [0, 1]
        assert _value(bus).npus[1].address is not None
        assert _value(bus).unread == ()


async def test_a_lost_card_stays_known_and_is_sought_with_growing_pauses(
    looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """HL-1: 2, 4, 8, 10 ... s up to the reset time-out, then patiently, and it comes back."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1), enumeration(0, lost=1)])

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(300.1)
        assert [npu.phy for npu in _value(bus).npus] == [0, 1]
        assert _value(bus).npus[1].address is None
        (told,) = (
            vars(record)
            for record in caplog.records
            if record.getMessage() == "npu no longer listed by the driver"
        )
        assert (told["logic"], told["card"], told["bus"]) == (1, 1, "0000:C1:00.0")

        await asyncio.sleep(120)
        first_missed = reader.asked[1][0]
        pauses = [round(at - first_missed) for at, _ in reader.asked[2:]]
        assert pauses == [2, 6, 14, 24, 34, 44, 54, 64, 94]
        assert all(reinitialise for _, reinitialise in reader.asked[1:])

        reader.lists = [enumeration(0, 1)]
        await asyncio.sleep(30)
        assert _value(bus).npus[1].address is not None


async def test_zero_chips_at_first_and_chips_later() -> None:
    """OB-5: a driver that loads after the agent is found without a restart."""
    bus = Bus([])
    reader = _Reader([enumeration(), enumeration(), enumeration(0)])

    async with running(_flow(bus, reader).run):
        assert _value(bus).npus == ()
        await asyncio.sleep(6.1)
        assert [npu.phy for npu in _value(bus).npus] == [0]


@pytest.mark.parametrize("hami", [True, False])
async def test_an_npu_without_serial_is_asked_again_soon_where_it_is_known_by_that(
    *, hami: bool
) -> None:
    """HAMi B1, B4: of a driver that is still busy at the start, five minutes are too long."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)], nameless={1})
    bus.hami.claim("test").put(HamiState(config=HamiConfig(chips=()), chip=None))

    async with running(_flow(bus, reader, config=bus.hami if hami else None).run):
        await asyncio.sleep(1)
        assert [npu.identity.die is None for npu in _value(bus).npus] == [False, True]
        reader.nameless.clear()
        await asyncio.sleep(2)

        assert [npu.identity.die is None for npu in _value(bus).npus] == [False, not hami]


async def test_a_card_that_can_not_be_listed_is_told_once_and_sought(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """HL-3: the others are offered; it was only shown by `ascend-agent devices`."""
    bus = Bus([])
    broken = dataclasses.replace(enumeration(0), unreadable=((CardId(1), "count", -8005),))
    reader = _Reader([broken, broken, enumeration(0, 1)])

    async with running(_flow(bus, reader).run):
        assert _value(bus).unreadable == broken.unreadable
        await asyncio.sleep(6.1)
        assert [npu.phy for npu in _value(bus).npus] == [0, 1]

    told = [vars(r) for r in caplog.records if r.getMessage() == "card not listed"]
    assert [(r["lane"], r["call"], r["rc"]) for r in told] == [(1, "count", -8005)]


async def test_a_list_that_fails_is_asked_for_again() -> None:
    bus = Bus([])
    broken = Enumeration(addresses=(), cards=-1, lost_cards=0, unreadable=())
    reader = _Reader([broken, enumeration(0)])

    async with running(_flow(bus, reader).run):
        assert bus.inventory.value is None
        await asyncio.sleep(2.1)
        assert [npu.phy for npu in _value(bus).npus] == [0]


async def test_an_unknown_chip_is_reported_and_not_offered() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)], chip_names={1: "Nonesuch"})

    async with running(_flow(bus, reader).run):
        await settle()
        assert [npu.phy for npu in _value(bus).npus] == [0]
        assert [chip.phy for chip in _value(bus).unknown] == [1]


async def test_a_new_worker_is_asked_at_once_and_without_another_init() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0)])
    faults = bus.faults.claim("test")

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        faults.publish(Resync(npu=None, reason="worker started"))
        await settle()
        assert reader.asked == [(0, False), (1, False)]


async def test_an_npu_the_driver_lost_makes_it_look_again_soon() -> None:
    """-8012 is the first sign; the card list only shows it after a re-init (dcmi 6.3)."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    readings = bus.readings.claim("test")

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        readings.publish(_lost(1))
        await asyncio.sleep(2.1)
        assert reader.asked[1:] == [(3, True)]


async def test_each_card_that_is_lost_is_sought_eagerly() -> None:
    """Also while another one has been missing for so long that it is sought patiently."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1, lost=1)])
    readings = bus.readings.claim("test")

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(200)
        readings.publish(_lost(0))
        await asyncio.sleep(15)

        assert [at for at, _ in reader.asked if at > 200] == [202, 206, 214]


async def test_a_lane_that_hangs_between_two_looks_is_looked_past_soon() -> None:
    """Design D3: past a parked lane a second worker looks; 10, 30 and 60 s, then slowly."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    driver = bus.driver.claim("driver-worker")

    async with running(_flow(bus, reader, driver).run):
        await asyncio.sleep(5)
        driver.put(DriverState(phase=DriverPhase.READY, parked_lanes=(1,)))
        await asyncio.sleep(420)

        assert reader.asked[1:] == [(15, True), (45, True), (105, True), (405, True)]


async def test_workers_that_hang_one_after_the_other_are_not_replaced_for_ever() -> None:
    """Each new one seems fine until it has asked the card."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    driver = bus.driver.claim("driver-worker")

    async def hang() -> None:
        while True:
            reader.looked.clear()
            driver.put(DriverState(phase=DriverPhase.READY))
            await asyncio.sleep(3)
            driver.put(DriverState(phase=DriverPhase.READY, parked_lanes=(1,)))
            await reader.looked.wait()

    async with running(_flow(bus, reader, driver).run, hang):
        await asyncio.sleep(1000)

    times = [round(at) for at, _ in reader.asked[1:]]
    assert times == [13, 46, 109, 409, 709]


async def test_nobody_is_asked_before_there_is_a_driver() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0)])
    driver = bus.driver.claim("driver-worker")
    flow = _flow(bus, reader, driver)
    driver.put(DriverState(phase=DriverPhase.STARTING))

    async with running(flow.run):
        await asyncio.sleep(5)
        assert reader.asked == []
        driver.put(DriverState(phase=DriverPhase.READY))
        await settle()
        assert reader.asked == [(5, False)]


async def test_a_card_that_is_found_again_ends_the_search() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0, lost=1), enumeration(0, 1)])

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(290)

        assert [at for at, _ in reader.asked] == [0, 2]


async def test_readings_that_tell_nothing_of_a_card_change_nothing() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0)])
    readings = bus.readings.claim("test")

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        readings.publish(dataclasses.replace(_lost(0), outcome=ReadingFailure.FAILED))
        await asyncio.sleep(100)

        assert len(reader.asked) == 1


async def test_what_came_and_went_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bus = Bus([])
    everything, without = enumeration(0, 1, 2, 3), enumeration(0, 2, 3, lost=1)
    reader = _Reader(
        [everything, without, without, everything], chip_names={2: "Nonesuch"}, silent={3}
    )
    faults = bus.faults.claim("test")

    async with running(_flow(bus, reader).run):
        for _ in range(4):
            await asyncio.sleep(4)
            faults.publish(Resync(npu=None, reason="look"))

    said = [(r.levelname, r.getMessage(), vars(r).get("npu")) for r in caplog.records]
    assert said == [
        ("INFO", "npu found", 0),
        ("INFO", "npu found", 1),
        ("WARNING", "chip not recognised", 2),
        ("WARNING", "card not readable", None),
        ("WARNING", "npu no longer listed by the driver", 1),
        ("WARNING", "cards missing", None),
        ("INFO", "npu listed again", 1),
    ]


async def test_a_list_that_fails_is_said_once_and_its_end_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    broken = Enumeration(addresses=(), cards=-1, lost_cards=0, unreadable=())
    bus = Bus([])

    async with running(_flow(bus, _Reader([broken, broken, enumeration()])).run):
        await asyncio.sleep(30)

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "device list not readable"),
        ("INFO", "device list readable again"),
        ("WARNING", "no npu found"),
    ]


async def test_a_look_that_finds_no_change_is_no_news() -> None:
    """Whoever follows the inventory would do everything anew."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])

    async with running(_flow(bus, reader).run):
        await asyncio.sleep(700)

        assert len(reader.asked) == 3
        assert bus.inventory.version == 1


async def test_nothing_is_looked_at_before_it_is_known_who_is_hidden() -> None:
    """CF-8: nor is who is hidden published even for a moment."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    config = bus.hami.claim("test")

    async with running(_flow(bus, reader, config=bus.hami).run):
        assert reader.asked == []
        config.put(_hiding(1))
        found = await bus.inventory.first()

        assert [npu.phy for npu in found.npus] == [0]
        assert [npu.phy for npu in found.hidden] == [1]


async def test_who_is_hidden_or_shown_later_goes_and_comes_at_once(
    looptime: LoopTimeProxy,
) -> None:
    """HAMi C5: and the library is not initialised anew for that."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    config = bus.hami.claim("test")

    async with running(_flow(bus, reader, config=bus.hami).run):
        config.put(_hiding())
        await settle()
        assert len(_value(bus).npus) == 2
        config.put(_hiding(1))
        await settle()
        assert [npu.phy for npu in _value(bus).npus] == [0]
        config.put(_hiding(1))
        config.put(HamiState(config=HamiConfig(chips=()), chip=None))
        await settle()

        assert len(_value(bus).npus) == 2
        assert [again for _, again in reader.asked] == [False, False, False]
        assert looptime == 0


async def test_hidden_cards_that_hang_or_are_lost_are_not_sought(
    looptime: LoopTimeProxy,
) -> None:
    """CF-8: each look past a silent card costs a second worker, and disturbs all others."""
    bus = Bus([])
    reader = _Reader([enumeration(0, 1, lost=1)], silent={1})
    driver = bus.driver.claim("driver")
    config = bus.hami.claim("test")
    config.put(_hiding(1, 2))

    async with running(_flow(bus, reader, driver, config=bus.hami).run):
        driver.put(DriverState(phase=DriverPhase.READY, parked_lanes=(1,)))
        await asyncio.sleep(290)

        assert len(reader.asked) == 1
        assert (_value(bus).unread, _value(bus).lost_cards) == ((), 0)


async def test_a_node_whose_npus_are_all_hidden_is_not_searched() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0)])
    config = bus.hami.claim("test")
    config.put(_hiding(0))

    async with running(_flow(bus, reader, config=bus.hami).run):
        await asyncio.sleep(290)

        assert len(reader.asked) == 1
        assert _value(bus).npus == ()


async def test_an_npu_that_was_lost_and_is_hidden_then_is_not_sought() -> None:
    bus = Bus([])
    reader = _Reader([enumeration(0, 1)])
    config = bus.hami.claim("test")
    readings = bus.readings.claim("test")
    config.put(_hiding())

    async with running(_flow(bus, reader, config=bus.hami).run):
        readings.publish(_lost(1))
        await asyncio.sleep(3)
        config.put(_hiding(1))
        await settle()
        looks = len(reader.asked)
        await asyncio.sleep(290)

        assert len(reader.asked) == looks
