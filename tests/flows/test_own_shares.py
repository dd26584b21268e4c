"""What this agent switched on it takes back, once nobody uses the NPU, and nothing else."""

import asyncio
import dataclasses

import pytest

from ascend_agent.errors import DriverError, DriverUnavailableError
from ascend_agent.flows.own_shares import OwnShares
from ascend_agent.model.ids import CardId, SlotId
from ascend_agent.model.npu import HiddenNpu, Inventory, Npu, UnreadCard
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.latest import Latest
from tests.fakes.cluster import granted
from tests.fakes.npus import inventory, npu, without_address
from tests.fakes.shares import FakeShareRecord, FakeShares

ALL = inventory(3)
NPUS = ALL.npus
NOBODY = Pods(pods=(), live=True)
USED = Pods(pods=(granted("p", NPUS[1]),), live=True)
STALE = Pods(pods=(), live=False)


class Scene:
    """A driver and a record; ``restart`` is another agent on the same node."""

    def __init__(self) -> None:
        self.driver = FakeShares()
        self.record = FakeShareRecord()
        self.own = self.restart()

    def restart(self) -> OwnShares:
        return OwnShares(switch=self.driver, processes=self.driver, record=self.record)

    async def switch_on(self, *npus: Npu) -> None:
        for each in npus:
            await self.own.note(each)
            self.driver.on.add(each.phy)


def _on_card(card: int | None, known: Npu, slot: int | None) -> Npu:
    """Return *known* at that place of that card; None: its driver has no cards."""
    assert known.address is not None
    address = dataclasses.replace(
        known.address,
        card=None if card is None else CardId(card),
        slot=None if slot is None else SlotId(slot),
    )
    identity = dataclasses.replace(known.identity, address=address)
    return dataclasses.replace(known, address=address, identity=identity)


def shown(pods: Pods | None) -> Latest[Pods]:
    """Return the pods as the API server shows them; None: it has not yet."""
    latest: Latest[Pods] = Latest("pods")
    if pods is not None:
        latest.claim("test").put(pods)
    return latest


def holding(*npus: Npu) -> Inventory:
    return dataclasses.replace(ALL, npus=npus)


def dies(*phys: int) -> set[object]:
    return {npu(phy).identity.die for phy in phys}


async def test_a_flag_is_noted_before_it_is_set() -> None:
    """A crash in between must not leave one that nobody takes back."""
    scene = Scene()
    await scene.own.note(NPUS[1])

    assert scene.record.dies == dies(1)


async def test_what_earlier_agents_noted_stays_noted() -> None:
    scene = Scene()
    await scene.own.note(NPUS[0])
    await scene.restart().note(NPUS[1])

    assert scene.record.dies == dies(0, 1)


async def test_nothing_is_written_twice() -> None:
    scene = Scene()
    await asyncio.gather(*(scene.own.note(NPUS[0]) for _ in range(5)))

    assert scene.record.asked == 2  # read once, written once


async def test_only_our_own_flags_are_taken_back() -> None:
    """HAMi E13: others may have set a flag before us, for reasons of theirs."""
    scene = Scene()
    scene.driver.on |= {0, 2}
    await scene.switch_on(NPUS[1])

    assert await scene.restart().release(ALL, shown(NOBODY))

    assert scene.driver.on == {0, 2}
    assert scene.record.dies == frozenset()


@pytest.mark.parametrize("pods", [None, STALE, USED], ids=["none", "not current", "used"])
async def test_a_flag_stays_while_somebody_may_use_the_npu(pods: Pods | None) -> None:
    scene = Scene()
    await scene.switch_on(NPUS[1])

    assert not await scene.own.release(ALL, shown(pods))
    assert scene.driver.on == {1}
    assert scene.record.dies == dies(1)

    assert await scene.own.release(ALL, shown(NOBODY))
    assert scene.driver.on == set()


async def test_a_flag_stays_where_a_pod_comes_while_the_driver_is_asked() -> None:
    """What was known before the first NPU was asked for says nothing of the last one."""
    scene = Scene()
    await scene.switch_on(*NPUS)
    pods: Latest[Pods] = Latest("pods")
    writer = pods.claim("test")
    writer.put(NOBODY)

    async with asyncio.TaskGroup() as group:
        released = group.create_task(scene.own.release(ALL, pods))
        while ("processes", 1) not in scene.driver.calls:  # noqa: ASYNC110 -- step by step
            await asyncio.sleep(0)
        writer.put(USED)

    assert not released.result()
    assert scene.driver.on == {1}


async def test_a_process_of_nobody_uses_it_as_well() -> None:
    scene = Scene()
    await scene.switch_on(*NPUS)
    scene.driver.busy.add(1)

    assert not await scene.own.release(ALL, shown(NOBODY))

    assert scene.driver.on == {1}


@pytest.mark.parametrize("by", ["container", "process"])
async def test_a_flag_stays_while_the_other_die_of_the_card_is_used(by: str) -> None:
    """One call of the driver switches both dies of a card."""
    scene = Scene()
    pair = tuple(_on_card(3, each, slot) for slot, each in enumerate(NPUS[:2]))
    await scene.switch_on(pair[0])
    if by == "process":
        scene.driver.busy.add(1)

    assert not await scene.own.release(holding(*pair), shown(USED if by == "container" else NOBODY))
    assert scene.driver.on == {0}

    scene.driver.busy.clear()
    assert await scene.own.release(holding(*pair), shown(NOBODY))
    assert scene.driver.on == set()


@pytest.mark.parametrize("other", ["hidden", "not read yet"])
async def test_a_flag_stays_while_nobody_can_tell_who_has_the_other_die(other: str) -> None:
    """CF-8: what the operator hides is not ours to change, and has the same flag."""
    scene = Scene()
    pair = tuple(_on_card(3, each, slot) for slot, each in enumerate(NPUS[:2]))
    await scene.switch_on(pair[0])
    place = pair[1].identity.address
    seen = dataclasses.replace(
        holding(pair[0]),
        hidden=(HiddenNpu(address=place),) if other == "hidden" else (),
        unread=() if other == "hidden" else (UnreadCard(address=place, reason="no answer"),),
    )

    assert not await scene.own.release(seen, shown(NOBODY))
    assert scene.driver.on == {0}

    assert await scene.own.release(holding(*pair), shown(NOBODY))


async def test_a_flag_stays_while_the_other_die_has_no_name() -> None:
    """No pod can be known by it."""
    scene = Scene()
    pair = tuple(_on_card(3, each, slot) for slot, each in enumerate(NPUS[:2]))
    await scene.switch_on(pair[0])
    nameless = dataclasses.replace(
        pair[1], identity=dataclasses.replace(pair[1].identity, die=None)
    )

    assert not await scene.own.release(holding(pair[0], nameless), shown(NOBODY))


async def test_a_die_that_the_driver_has_lost_is_on_its_card_all_the_same() -> None:
    scene = Scene()
    pair = tuple(_on_card(3, each, slot) for slot, each in enumerate(NPUS[:2]))
    lost = without_address(pair[1])
    await scene.switch_on(pair[0])

    assert not await scene.own.release(holding(pair[0], lost), shown(USED))
    assert await scene.own.release(holding(pair[0], lost), shown(NOBODY))


async def test_npus_without_cards_have_a_flag_each() -> None:
    scene = Scene()
    apart = tuple(_on_card(None, each, None) for each in NPUS[:2])
    await scene.switch_on(*apart)

    assert not await scene.own.release(holding(*apart), shown(USED))

    assert scene.driver.on == {1}


async def test_an_npu_that_refuses_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    await scene.switch_on(*NPUS)
    scene.driver.refuses[0] = DriverError("share_disable", -8020)

    assert not await scene.own.release(ALL, shown(NOBODY))
    assert not await scene.own.release(ALL, shown(NOBODY))
    assert scene.driver.on == {0}
    assert caplog.messages == ["device share not switched off"]
    assert vars(caplog.records[0])["npu"] == 0

    scene.driver.refuses.clear()
    assert await scene.own.release(ALL, shown(NOBODY))


async def test_a_worker_that_is_away_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    await scene.switch_on(NPUS[0])
    scene.driver.mute[0] = DriverUnavailableError("worker ended")

    assert not await scene.own.release(ALL, shown(NOBODY))

    assert scene.record.dies == dies(0)
    assert not caplog.records


async def test_an_npu_that_is_not_there_keeps_its_note_and_nobody_waiting() -> None:
    scene = Scene()
    await scene.switch_on(NPUS[0])

    assert await scene.own.release(holding(without_address(NPUS[0])), shown(NOBODY))

    assert scene.record.dies == dies(0)


async def test_a_record_that_fails_is_said_once_and_tried_when_it_is_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """NPUs are shared all the same, and a disk that hangs is not asked once an NPU."""
    caplog.set_level("INFO")
    scene = Scene()
    scene.record.trouble = "read-only file system"
    for each in NPUS:
        await scene.own.note(each)
    assert scene.record.asked == 1

    scene.own.begin()
    await scene.own.note(NPUS[0])
    assert scene.record.asked == 2
    assert caplog.messages == ["share record not kept"]

    scene.record.trouble = ""
    scene.own.begin()
    await scene.own.note(NPUS[0])
    assert scene.record.dies == dies(0, 1, 2)
    assert caplog.messages == ["share record not kept", "share record kept again"]
