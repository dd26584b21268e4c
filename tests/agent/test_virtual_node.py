"""The whole agent on a simulated node, on virtual time: long stories that take no time."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ascend_agent.app import Agent
from ascend_agent.model.npu import DriverPhase
from ascend_agent.settings import SimulatedNode
from ascend_agent.settings.simulated import CHIPS
from ascend_agent.sim.kubelet import (
    AdmissionError,
    Listed,
    Registered,
    Started,
    StreamEnded,
)
from tests.agent.stage import Stage, pod, staged
from tests.fakes.running import settle

ASCEND910 = "huawei.com/Ascend910"
WORDS = {"310": "Ascend310", "310B4": "Ascend310", "310P3": "Ascend310P", "950": "npu"}
WORDS |= {"310P3-duo": "Ascend310P"}
"""The device word of each chip that is not offered as Ascend910."""

EXAMPLE: list[dict[str, Any]] = [
    {"at_s": 4, "npu": 3, "fault": "80E01801"},
    {"at_s": 8, "npu": 3, "recover": "80E01801"},
    {"at_s": 9, "npu": 2, "pulse": "80E01801"},
    {"at_s": 10, "card": 5, "drop": True},
    {"at_s": 12, "card": 5, "drop": False},
    {"at_s": 13, "card": 1, "call": "health", "hang_s": 20},
    {"at_s": 14, "worker": "die"},
]


def node(*steps: dict[str, Any], chip: str = "910B3", npus: int | None = None) -> SimulatedNode:
    """Return a node of *chip* to which *steps* happen."""
    return SimulatedNode.model_validate({"chip": chip, "npus": npus, "steps": steps, "seed": 7})


def reasons(agent: Agent, phy: int) -> list[str]:
    """Return why an NPU is out of service, as /status tells it."""
    (found,) = [npu for npu in agent.report.status()["npus"] if npu["npu"] == phy]  # type: ignore[attr-defined]
    return list(found["reasons"])


# --- start ---------------------------------------------------------------------------------


async def test_an_agent_that_finds_a_kubelet_registers_and_lists_all() -> None:
    async with staged() as stage, stage.kubelet, stage.agent() as agent:
        registered = await stage.next(Registered)
        listed = await stage.next(Listed)
        await settle()

        assert (registered.resource, registered.endpoint) == (ASCEND910, "Ascend910.sock")
        assert (listed.total, listed.healthy) == (8, 8)
        assert agent.report.readyz() == (True, "ok")


async def test_an_agent_that_is_first_waits_and_registers_when_the_kubelet_comes() -> None:
    """The directory itself is made by the kubelet (KL-1: at any stage of the own start-up)."""
    async with staged() as stage, stage.agent() as agent:
        await asyncio.sleep(60)
        ready, why = agent.report.readyz()
        assert not ready
        assert str(stage.plugins) in why

        async with stage.kubelet:
            back = stage.now()
            listed = await stage.next(Listed)

            assert listed.healthy == 8
            assert stage.now() - back < 0.1
            await settle()
            assert agent.report.readyz() == (True, "ok")


async def test_the_first_list_waits_for_no_card_that_hangs() -> None:
    """KL-9: 300 ms after the enumeration the others are offered; the card joins when it answers."""
    hang = {"at_s": 0, "card": 2, "call": "identity", "hang_s": 2}
    async with staged(node(hang)) as stage, stage.kubelet, stage.agent():
        first = await stage.next(Listed)
        assert (first.total, first.healthy, round(stage.now(), 1)) == (7, 7, 0.3)

        second = await stage.next(Listed)

        assert (second.total, second.healthy, round(stage.now(), 1)) == (8, 8, 2.0)


async def test_a_node_without_npus_offers_nothing_and_says_so() -> None:
    async with staged(node(npus=0)) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(700)

        assert stage.seen(Registered) == []
        assert agent.report.readyz()[0] is False
        assert "lists no npu that can be offered" in agent.report.readyz()[1]


async def test_a_lock_that_can_not_be_taken_is_named_and_tried_again() -> None:
    """PM-1: nothing is served without it, since another instance might serve too."""
    async with staged() as stage, stage.kubelet:
        (stage.directory / "run").write_text("a file in the way")
        async with stage.agent() as agent:
            await asyncio.sleep(60)
            assert stage.seen(Registered) == []
            ready, why = agent.report.readyz()
            assert not ready
            assert f"{stage.directory}/run" in why
            assert "--run-dir" in why

            (stage.directory / "run").unlink()
            await stage.next(Listed)

            assert stage.now() < 100


# --- chips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CHIPS)
async def test_each_chip_is_offered_under_its_resource(chip: str) -> None:
    """Names and ids are those that the older plugins' users have in their pods."""
    word, count = WORDS.get(chip, "Ascend910"), CHIPS[chip].usual_npus
    async with staged(node(chip=chip)) as stage, stage.kubelet, stage.agent():
        registered = await stage.next(Registered)
        await stage.next(Listed)

        assert (registered.resource, registered.endpoint) == (f"huawei.com/{word}", f"{word}.sock")
        assert list(stage.ids(f"huawei.com/{word}")) == [f"{word}-{phy}" for phy in range(count)]
        assert stage.kubelet.resources == (registered.resource,)


@pytest.mark.parametrize("chip", CHIPS)
async def test_on_each_chip_a_fault_takes_one_npu_out_until_it_recovers(chip: str) -> None:
    """Those without callbacks (310, 950) are polled every two seconds instead."""
    count = CHIPS[chip].usual_npus
    fault = {"at_s": 10, "npu": count - 1, "fault": "80E01801"}
    recovery = {"at_s": 20, "npu": count - 1, "recover": "80E01801"}
    latest = 2.0 if chip in {"310", "950"} else 0.0
    async with staged(node(fault, recovery, chip=chip)) as stage, stage.kubelet, stage.agent():
        await asyncio.sleep(40)

        (_, first), (sick_at, sick), (well_at, well) = stage.healthy_counts()
        assert (first, sick, well) == (count, count - 1, count)
        assert 10 <= sick_at <= 10 + latest
        assert 20 <= well_at <= 20 + latest


async def test_shares_are_devices_of_their_own_and_fail_together() -> None:
    fault = {"at_s": 5, "npu": 1, "fault": "80E01801"}
    async with staged(node(fault, npus=2), shares=4) as stage, stage.kubelet, stage.agent():
        await stage.next(Listed)
        assert list(stage.ids(ASCEND910)) == [
            f"Ascend910-{p}-{s}" for p in (0, 1) for s in range(4)
        ]

        await asyncio.sleep(6)

        sick = [device for device, healthy in stage.ids(ASCEND910).items() if not healthy]
        assert sick == [f"Ascend910-1-{share}" for share in range(4)]


# --- quiet ---------------------------------------------------------------------------------


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.slow
async def test_five_quiet_minutes_change_nothing() -> None:
    """No list, no registration, no growth; the NPUs are read at their period and no more often."""
    async with staged() as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(31)  # everything is periodic: not when half of it happens
        story = list(stage.story)
        bus, tasks, files = agent.bus, len(asyncio.all_tasks()), descriptors()
        before = (bus.node.version, bus.inventory.version, bus.sent.published, bus.faults.published)
        readings = bus.readings.published

        await asyncio.sleep(300)

        after = (bus.node.version, bus.inventory.version, bus.sent.published, bus.faults.published)
        assert stage.story == story
        assert after == before
        assert bus.readings.published - readings == 8 * 300 / 5
        assert (len(asyncio.all_tasks()), descriptors()) == (tasks, files)
        assert [task.name for task in bus.tasks.value or () if task.restarts] == []


# --- scenarios -----------------------------------------------------------------------------


async def test_the_example_scenario_is_seen_step_by_step() -> None:
    """Read every second, the lost card (10 to 12 s) shows as well as the faults that tell."""
    example = node(*EXAMPLE, npus=8)
    async with staged(example, health_interval_s=1) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(20)
        assert reasons(agent, 1) == ["driver-unresponsive"]
        await asyncio.sleep(25)

        counts = stage.healthy_counts()
        assert [healthy for _, healthy in counts] == [8, 7, 8, 7, 6, 7, 8, 7, 8]
        times = [at for at, _ in counts]
        assert times[1:4] == [4.0, 8.0, 9.0]  # fault, recovery, what happened once
        assert 10 <= times[4] <= 11  # the lost card, at its next reading
        assert times[5:7] == [11.0, 12.0]  # two seconds after the pulse; the card's return tells
        assert 17 <= times[7] <= 18  # the hang, one deadline after the new worker asked
        assert times[8] == 33.0  # its end
        # The death of the worker (14 s) changed nothing for the kubelet.
        assert len(stage.seen(Registered)) == 1
        assert stage.seen(StreamEnded) == []
        assert agent.bus.driver.value is not None
        assert agent.bus.driver.value.starts > 1


@pytest.mark.parametrize(
    ("chip", "word"), [("910C", "Ascend910"), ("310P3-duo", "Ascend310P"), ("310", "Ascend310")]
)
async def test_a_hang_takes_out_all_npus_of_its_card_and_no_others(chip: str, word: str) -> None:
    """HL-8: a card of several NPUs has one lane; its second card hangs here, and answers again."""
    hang = {"at_s": 10, "card": 1, "call": "health", "hang_s": 30}
    on_card = {"910C": [2, 3], "310P3-duo": [2, 3], "310": [4, 5, 6, 7]}[chip]
    async with (
        staged(node(hang, chip=chip, npus=12)) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await asyncio.sleep(30)
        out = [device for device, fit in stage.ids(f"huawei.com/{word}").items() if not fit]
        assert out == [f"{word}-{phy}" for phy in on_card]
        assert {tuple(reasons(agent, phy)) for phy in on_card} == {("driver-unresponsive",)}

        await asyncio.sleep(30)
        assert all(stage.ids(f"huawei.com/{word}").values())


async def test_a_usage_that_hangs_takes_its_npu_out_once() -> None:
    """A second worker looks past the hung call ten seconds later; it isn't made again soon."""
    hang = {"at_s": 10, "card": 1, "call": "usage", "hang_s": 5000}
    async with staged(node(hang)) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(600)

        assert [healthy for _, healthy in stage.healthy_counts()] == [8, 7, 8]
        assert agent.bus.driver.value is not None
        assert agent.bus.driver.value.starts == 2


async def test_a_card_that_is_lost_stays_listed_and_returns() -> None:
    """HL-3: identity is kept, so the pod that holds it and the operator still see which one."""
    lost = {"at_s": 10, "card": 5, "drop": True}
    back = {"at_s": 60, "card": 5, "drop": False}
    async with staged(node(lost, back)) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(50)
        assert [device for device, fit in stage.ids(ASCEND910).items() if not fit] == [
            "Ascend910-5"
        ]
        assert reasons(agent, 5) == ["card-drop"]

        await asyncio.sleep(30)

        assert [healthy for _, healthy in stage.healthy_counts()] == [8, 7, 8]
        assert {listed.total for listed in stage.seen(Listed)} == {8}
        assert len(stage.seen(Registered)) == 1


async def test_a_card_that_is_missing_at_the_start_joins_later() -> None:
    """Looked for after 2, 4, 8, 10 s and so on, by initialising the library anew."""
    missing = {"at_s": 0, "card": 3, "drop": True}
    found = {"at_s": 25, "card": 3, "drop": False}
    async with staged(node(missing, found)) as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        assert "Ascend910-3" not in stage.ids(ASCEND910)
        cards: Any = agent.report.status()["cards"]
        assert cards["lost"] == 1

        joined = await stage.next(Listed)

        assert (joined.total, joined.healthy) == (8, 8)
        assert 25 <= stage.now() <= 35


async def test_a_driver_that_stays_away_takes_all_out_after_its_grace_and_brings_them_back() -> (
    None
):
    """The kubelet keeps its devices for --driver-grace: a driver that is soon back is no event."""
    death = {"at_s": 10, "worker": "die"}
    stuck = {"at_s": 10, "call": "open", "hang_s": 50}
    async with staged(node(death, stuck)) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(50)
        assert {tuple(reasons(agent, phy)) for phy in range(8)} == {("driver-unavailable",)}
        assert not agent.report.readyz()[0]

        await asyncio.sleep(50)

        assert stage.healthy_counts()[:2] == [(0.0, 8), (40.0, 0)]
        assert stage.healthy_counts()[-1][1] == 8
        assert agent.bus.driver.value is not None
        assert agent.bus.driver.value.phase is DriverPhase.READY
        assert len(stage.seen(Registered)) == 1
        assert stage.seen(StreamEnded) == []


# --- kubelet restarts, pods ----------------------------------------------------------------


async def outages(stage: Stage, *down_s: float) -> list[float]:
    """Restart the kubelet again and again; return how long each then waited for its list."""
    took = []
    for away_s in down_s:
        await stage.kubelet.restart(down_s=away_s)
        back = stage.now()
        assert (await stage.next(Listed)).healthy == 8
        took.append(stage.now() - back)
    return took


async def test_every_kubelet_restart_is_followed_by_a_registration() -> None:
    """KL-1: whatever the kubelet's absence, even longer than the agent's longest back-off."""
    async with staged() as stage, stage.kubelet, stage.agent():
        await stage.next(Listed)

        took = await outages(stage, 0, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 120)

        assert max(took) < 0.1
        assert len(stage.seen(Started)) == len(stage.seen(Registered)) == 11


async def test_pods_keep_their_npus_over_a_kubelet_restart() -> None:
    async with staged() as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        await stage.kubelet.admit(pod("train-0", 4))
        await stage.kubelet.admit(pod("infer-0", 2))
        await outages(stage, 1.0)
        await asyncio.sleep(11)

        npus: Any = agent.report.status()["npus"]
        holders = {npu["npu"]: npu["holders"] for npu in npus if npu["holders"]}
        assert holders == {
            **{phy: ["default/train-0/main"] for phy in range(4)},
            **{phy: ["default/infer-0/main"] for phy in (4, 5)},
        }


async def test_a_wish_to_register_anew_makes_a_fresh_socket() -> None:
    """SIGHUP: for an operator whose kubelet has lost us in a way that nothing shows."""
    async with staged() as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        before = (stage.plugins / "Ascend910.sock").stat().st_ctime_ns

        agent.reregister()
        await stage.next(Registered)
        listed = await stage.next(Listed)

        assert listed.healthy == 8
        assert (stage.plugins / "Ascend910.sock").stat().st_ctime_ns != before
        await asyncio.sleep(100)
        assert len(stage.seen(Registered)) == 2


async def test_an_agent_that_ends_leaves_no_socket_behind() -> None:
    async with staged() as stage, stage.kubelet:
        async with stage.agent():
            await stage.next(Listed)
        await stage.next(StreamEnded)

        assert [path.name for path in stage.plugins.iterdir()] == ["kubelet.sock"]


# --- who holds an NPU ----------------------------------------------------------------------


def process(at_s: float, npu: int, **more: object) -> dict[str, Any]:
    """Return a step in which process 4711 takes an NPU, or is gone from it."""
    return {"at_s": at_s, "npu": npu, "process": 4711, **more}


async def test_an_npu_that_a_forgotten_pod_holds_is_given_once_that_pod_is_gone() -> None:
    held = (process(1, 0, pod="forgotten-0"), process(60, 0, gone=True))
    async with staged(node(*held, npus=1)) as stage, stage.kubelet, stage.agent():
        await stage.next(Listed)
        await asyncio.sleep(2)

        with pytest.raises(AdmissionError, match="pod with uid forgotten-0 holds NPU 0"):
            await stage.kubelet.admit(pod("trainer-0", 1))

        await asyncio.sleep(60)
        assert (await stage.kubelet.admit(pod("trainer-0", 1))).devices == ("Ascend910-0",)


async def test_a_pod_that_is_just_ending_makes_room_for_the_next() -> None:
    """A restarted job gets the NPU of its predecessor, which may have ended this moment."""
    held = (process(1, 0, pod="trainer-0"), process(10.7, 0, gone=True))
    async with staged(node(*held, npus=1)) as stage, stage.kubelet, stage.agent():
        await stage.next(Listed)
        await asyncio.sleep(10 - stage.now())

        await stage.kubelet.admit(pod("trainer-1", 1))

        assert stage.now() == pytest.approx(11.0, abs=0.1)  # asked again after 0.5, then 1.0 s


async def test_a_refusal_is_in_time_however_short_an_allocate_may_be() -> None:
    held = process(1, 0, pod="forgotten-0")
    async with (
        staged(node(held, npus=1), allocate_timeout_s=1) as stage,
        stage.kubelet,
        stage.agent(),
    ):
        await stage.next(Listed)
        await asyncio.sleep(2)

        with pytest.raises(AdmissionError, match="pod with uid forgotten-0 holds NPU 0"):
            await stage.kubelet.admit(pod("trainer-0", 1))
