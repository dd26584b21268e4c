"""vNPUs that nobody owns are found and removed, and none that a pod may own (VN-1, VN-2)."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.grants import claims
from ascend_agent.driver.simulated.driver import SimulatedDriver
from ascend_agent.errors import DriverBusyError, DriverError, DriverUnavailableError
from ascend_agent.flows.sweep_vnpus import SweepPlan, SweepVnpus
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.hami import HamiNodeEntry, HamiState
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import CardId, PhyId
from ascend_agent.model.npu import DriverState, NpuAddress
from ascend_agent.model.pods import Pod, PodPhase, Pods
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuId, VnpuSweep
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest
from tests.fakes.cluster import watched
from tests.fakes.hami import device, die, info, node_view, pod, state
from tests.fakes.running import running, settle

_SMALL = "vir05_1c_16g"
_LEAK = {"at_s": 0, "npu": 0, "vnpu": 101, "template": _SMALL}
_KNOWN = Allocations(known=True, holders={})


def _owner(name: str = "p1", *, npu: int = 0, phase: PodPhase = PodPhase.RUNNING) -> Pod:
    return pod(
        name,
        ";",
        allocated=f"{device(npu, 16384)};",
        runtime=info((npu, {"temp": _SMALL})),
        phase=phase,
    )


@dataclass
class _Driver:
    """A driver with vNPUs by NPU, which fails as a test wants."""

    vnpus: dict[int, list[Vnpu]] = field(default_factory=dict)
    unreadable: dict[int, Exception] = field(default_factory=dict)
    refuses: dict[int, Exception] = field(default_factory=dict)
    read_takes_s: float = 0
    destroy_takes_s: float = 0
    destroyed: list[tuple[int, int]] = field(default_factory=list)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    locked: list[bool] = field(default_factory=list)
    reads: int = 0

    async def read_vnpus(self, address: NpuAddress) -> tuple[Vnpu, ...]:
        self.reads += 1
        await asyncio.sleep(self.read_takes_s)
        if error := self.unreadable.get(address.lane):
            raise error
        return tuple(self.vnpus.get(address.lane, ()))

    async def destroy_vnpu(self, address: NpuAddress, vnpu: VnpuId) -> None:
        self.locked.append(self.turn.locked())
        await asyncio.sleep(self.destroy_takes_s)
        if error := self.refuses.get(vnpu):
            raise error
        self.destroyed.append((address.lane, vnpu))
        self.vnpus[address.lane] = [v for v in self.vnpus[address.lane] if v.vnpu != vnpu]


def _vnpu(number: int, *, opened: bool = False, container: int = 0) -> Vnpu:
    return Vnpu(vnpu=VnpuId(number), template=_SMALL, opened=opened, container=container)


def _flow(
    driver: _Driver | SimulatedDriver, bus: Bus, plan: SweepPlan, *, turn: asyncio.Lock
) -> SweepVnpus:
    return SweepVnpus(
        driver=driver,
        turn=turn,
        claims=claims,
        plan=plan,
        bus=bus,
        vnpus=bus.vnpus.claim("sweep-vnpus"),
        clock=Clock(),
    )


class _Scene:
    """The flow on a node of two NPUs whose owners are known."""

    def __init__(
        self,
        driver: _Driver | SimulatedDriver,
        *,
        mode: SweepMode = SweepMode.REMOVE,
        every_s: float = 60,
        view: NodeView | None = None,
        hami: HamiState | None = None,
    ) -> None:
        self.bus = Bus([])
        self._pods = self.bus.pods.claim("test")
        self.allocations = self.bus.allocations.claim("test")
        self.node = self.bus.node.claim("test")
        self.node.put(view or node_view(2))
        self.bus.hami.claim("test").put(hami or state())
        self.turn = driver.turn if isinstance(driver, _Driver) else asyncio.Lock()
        plan = SweepPlan(mode=mode, every_s=every_s, grace_s=120)
        self.flow = _flow(driver, self.bus, plan, turn=self.turn)

    def tell(self, *pods: Pod, live: bool = True) -> None:
        self._pods.put(Pods(pods=pods, live=live))

    @property
    def said(self) -> VnpuSweep:
        assert self.bus.vnpus.value is not None
        return self.bus.vnpus.value

    @property
    def surplus(self) -> dict[int, list[int]]:
        return {phy: [each.vnpu for each in of] for phy, of in self.said.surplus.items()}

    @asynccontextmanager
    async def sweeping(self, *pods: Pod) -> AsyncIterator[None]:
        """Run the flow; the owners are these pods."""
        self.tell(*pods)
        self.allocations.put(_KNOWN)
        async with running(self.flow.run):
            yield


def _without_cards(view: NodeView) -> NodeView:
    """Return *view* with NPUs as newer drivers address them: by logic id alone."""
    npus = []
    for each in view.npus:
        assert each.npu.address is not None
        address = dataclasses.replace(each.npu.address, card=None, slot=None)
        npus.append(dataclasses.replace(each, npu=dataclasses.replace(each.npu, address=address)))
    return dataclasses.replace(view, npus=tuple(npus))


async def _until(second: float) -> None:
    """Let virtual time come to *second*, and what is due then happen."""
    await asyncio.sleep(second - asyncio.get_running_loop().time())
    await settle()


def _events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "flows" in each.name]


@pytest.fixture(autouse=True)
def _hear_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="ascend_agent.flows")


@asynccontextmanager
async def _simulated(*steps: object) -> AsyncIterator[_Scene]:
    states: Latest[DriverState] = Latest("driver")
    driver = SimulatedDriver(
        config={"chip": "910B3", "npus": 2, "seed": 7, "steps": list(steps)},
        state=states.claim("test"),
    )
    async with running(driver.run):
        yield _Scene(driver)


async def test_one_pods_update_has_only_that_pod_looked_at() -> None:
    """A fault waits for whatever is done of hundreds of pods."""
    pods, asked = watched(*(_owner(f"p{number}", npu=number % 2) for number in range(50)))
    scene = _Scene(_Driver())
    async with scene.sweeping(*pods):
        asked.clear()
        newer = dataclasses.replace(pods[7], labels={"a": "b"})
        scene.tell(*pods[:7], newer, *pods[8:])
        await settle()

    assert set(asked) == {newer.key}


async def test_the_slice_of_a_live_pod_stays_and_leaks_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A pod whose slice is idle, a leak beside it, then the pod's own leftover (HAMi G1, G2)."""
    own = {**_LEAK, "vnpu": 100, "container": 7}
    async with (
        _simulated(
            own,
            {**_LEAK, "at_s": 59},
            {**own, "at_s": 59, "opened": True},
            {**own, "at_s": 190},
        ) as scene,
        scene.sweeping(_owner()),
    ):
        await _until(179)
        assert ([v.vnpu for v in scene.said.found[PhyId(0)]], scene.said.removed) == (
            [100, 101],
            0,
        )
        await _until(181)
        assert ([v.vnpu for v in scene.said.found[PhyId(0)]], scene.said.removed) == ([100], 1)

        await _until(200)
        scene.tell()
        await _until(319)
        assert scene.said.removed == 1
        await _until(361)
        assert (dict(scene.said.found), scene.said.removed) == ({}, 2)

    assert _events(caplog) == ["vnpu leaked", "vnpu removed"] * 2


async def test_a_pod_with_a_template_that_ended_is_looked_after_soon() -> None:
    """After the grace, and not only at the next round."""
    driver = _Driver(vnpus={0: [_vnpu(100, opened=True)]})
    scene = _Scene(driver, every_s=3600)
    async with scene.sweeping(_owner()):
        await _until(10)
        driver.vnpus[0] = [_vnpu(100)]
        scene.tell(_owner(phase=PodPhase.SUCCEEDED))
        await _until(129)
        assert driver.reads == 2
        await _until(131)
        assert driver.reads == 4
        await _until(251)

    assert driver.destroyed == [(0, 100)]


async def test_nothing_is_removed_in_report_mode(caplog: pytest.LogCaptureFixture) -> None:
    driver = _Driver(vnpus={1: [_vnpu(100)]})
    scene = _Scene(driver, mode=SweepMode.REPORT)

    async with scene.sweeping():
        await _until(500)

        assert (scene.said.mode, scene.surplus, scene.said.detail) == (
            SweepMode.REPORT,
            {1: [100]},
            "",
        )
    assert driver.destroyed == []
    assert _events(caplog) == ["vnpu leaked"]
    facts = vars(caplog.records[-1])
    assert (facts["npu"], facts["vnpu"], facts["template"]) == (1, 100, _SMALL)
    assert facts["container"] == "000000000000"


async def test_while_nobody_told_of_pods_nothing_is_said_to_be_nobodys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)

    async with running(scene.flow.run):
        await _until(500)

        assert (scene.said.mode, scene.surplus) == (SweepMode.REPORT, {})
        assert scene.said.detail == "which pods are on this node is not known yet"
        assert [v.vnpu for v in scene.said.found[PhyId(0)]] == [100]
        assert _events(caplog) == ["vnpu sweep only reports"]

        scene.allocations.put(_KNOWN)
        scene.tell()
        await _until(659)
        assert driver.destroyed == []  # it has been nobody's from the first look that knew
        await _until(661)
        assert driver.destroyed == [(0, 100)]


async def test_nothing_goes_while_it_is_not_known_which_npus_are_offered() -> None:
    """CF-8: a file that was never in order may hide one, whose vNPUs are another's."""
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver, hami=dataclasses.replace(state(), chip=None))

    async with scene.sweeping():
        await _until(1000)

        assert driver.destroyed == []
        assert scene.said.mode is SweepMode.REPORT
        assert "which NPUs are to be offered is not known" in scene.said.detail


@pytest.mark.parametrize("away", ["kubelet", "API server", "annotation"])
async def test_while_owners_are_not_known_leaks_are_reported_only(
    away: str, caplog: pytest.LogCaptureFixture
) -> None:
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)
    broken = pod("p9", ";", allocated="U,w,x,0:;")

    async with scene.sweeping():
        if away == "kubelet":
            scene.allocations.put(Allocations(known=False, holders={}))
        elif away == "API server":
            scene.tell(live=False)
        else:
            scene.tell(broken)
        await settle()
        assert (scene.said.mode, away in scene.said.detail) == (SweepMode.REPORT, True)
        await _until(300)
        assert (scene.surplus, driver.destroyed) == ({0: [100]}, [])

        scene.tell()
        scene.allocations.put(_KNOWN)
        await settle()
        assert (scene.said.mode, scene.said.detail) == (SweepMode.REMOVE, "")
        await _until(361)
        assert (scene.surplus, driver.destroyed) == ({}, [(0, 100)])
    assert _events(caplog)[-3:] == ["vnpu leaked", "vnpu sweep removes", "vnpu removed"]


@pytest.mark.parametrize(("count", "more"), [(3, ""), (5, " and 2 more")])
async def test_only_some_of_many_pods_are_named(count: int, more: str) -> None:
    scene = _Scene(_Driver())

    async with scene.sweeping(*(pod(f"p{n}", ";", allocated="U,w,x,0:;") for n in range(count))):
        detail = scene.said.detail

    assert f"default/p0, default/p1, default/p2{more} can't be understood" in detail


async def test_it_is_decided_and_done_while_no_allocate_is_served() -> None:
    """And decided anew once it is its turn."""
    driver = _Driver(vnpus={0: [_vnpu(100)], 1: [_vnpu(200)]})
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(119)
        await scene.turn.acquire()
        await _until(150)
        assert driver.destroyed == []

        scene.tell(_owner(phase=PodPhase.PENDING))  # the Allocate was for this pod
        scene.turn.release()
        await settle()

        assert (driver.destroyed, driver.locked) == ([(1, 200)], [True])


@pytest.mark.parametrize("away", ["API server", "kubelet", "driver"])
async def test_who_goes_away_while_an_allocate_is_served_is_heard_of_before_anything_goes(
    away: str,
) -> None:
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(119)
        async with scene.turn:
            await _until(130)
            match away:
                case "API server":
                    scene.tell(live=False)
                case "kubelet":
                    scene.allocations.put(Allocations(known=False, holders={}))
                case _:
                    driver.unreadable[0] = DriverError("info", -8005)
        await _until(140)

        assert driver.destroyed == []
        assert dict(scene.said.failed) == ({0: "info answered -8005"} if away == "driver" else {})


async def test_a_slow_removal_holds_up_an_allocate_for_a_moment_only() -> None:
    """AL-9: it has ten seconds in all, and 32 vNPUs may take seconds each."""
    leaks = [_vnpu(number) for number in range(100, 132)]
    driver = _Driver(vnpus={0: leaks}, destroy_takes_s=9)
    scene = _Scene(driver)
    waits = []
    clock = asyncio.get_running_loop().time

    async with scene.sweeping():
        while clock() < 500:
            await asyncio.sleep(0.7)
            came = clock()
            async with scene.turn:
                waits.append(clock() - came)

    assert [number for _, number in driver.destroyed] == list(range(100, 132))
    assert all(driver.locked)
    assert max(waits) <= 1


async def test_a_slow_look_holds_up_an_allocate_for_a_moment_only() -> None:
    """And what it comes to later is too old to act upon."""
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)
    clock = asyncio.get_running_loop().time

    async with scene.sweeping():
        await _until(119)
        driver.read_takes_s = 2.9
        await _until(123.5)
        assert scene.turn.locked()
        async with scene.turn:
            assert clock() < 125
        await _until(180)
        assert driver.destroyed == []

        driver.read_takes_s = 0
        await _until(250)
        assert driver.destroyed == [(0, 100)]


async def test_hidden_and_sick_npus_are_left_alone() -> None:
    driver = _Driver(vnpus={phy: [_vnpu(100)] for phy in range(4)})
    entry = HamiNodeEntry(hidden_dies=frozenset({die(0)}), hidden_cards=frozenset({CardId(1)}))
    known = state()
    hami = dataclasses.replace(known, config=dataclasses.replace(known.config, entry=entry))
    scene = _Scene(driver, view=node_view(4, sick=[2]), hami=hami)

    async with scene.sweeping():
        await _until(130)

    assert (driver.destroyed, set(scene.said.found)) == ([(3, 100)], set())


async def test_where_npus_have_no_cards_the_logic_id_is_the_number_by_which_they_are_hidden() -> (
    None
):
    """CF-8: as ``npu-smi`` counts them there."""
    driver = _Driver(vnpus={phy: [_vnpu(100)] for phy in range(2)})
    entry = HamiNodeEntry(hidden_cards=frozenset({CardId(0)}))
    known = state()
    hami = dataclasses.replace(known, config=dataclasses.replace(known.config, entry=entry))
    scene = _Scene(driver, view=_without_cards(node_view(2)), hami=hami)

    async with scene.sweeping():
        await _until(130)

    assert driver.destroyed == [(1, 100)]


async def test_an_npu_that_was_out_of_service_begins_anew() -> None:
    """What was idle before may have been used, and made anew, meanwhile."""
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(50)
        scene.node.put(node_view(2, sick=[0]))
        await _until(130)
        assert dict(scene.said.found) == {}
        scene.node.put(node_view(2))
        await _until(290)
        assert driver.destroyed == []
        await _until(310)
        assert driver.destroyed == [(0, 100)]


async def test_of_an_npu_out_of_service_nothing_is_said() -> None:
    driver = _Driver(
        vnpus={phy: [_vnpu(100)] for phy in range(2)},
        refuses={100: DriverError("destroy", -8005)},
    )
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(130)
        assert (set(scene.surplus), set(scene.said.failed)) == ({0, 1}, {0, 1})
        scene.node.put(node_view(2, sick=[0]))
        await _until(190)
        assert (set(scene.surplus), set(scene.said.failed)) == ({1}, {1})


async def test_a_read_that_failed_makes_what_was_idle_begin_anew() -> None:
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(50)
        driver.unreadable[0] = DriverError("info", -8005)
        await _until(70)
        driver.unreadable.clear()
        await _until(230)
        assert driver.destroyed == []
        await _until(250)

    assert driver.destroyed == [(0, 100)]


@pytest.mark.parametrize("last", ["npus", "configuration"])
async def test_nothing_is_asked_before_npus_and_configuration_are_known(last: str) -> None:
    """Of NPUs that are hidden nothing may be asked."""
    driver, bus = _Driver(), Bus([])
    plan = SweepPlan(mode=SweepMode.REMOVE, every_s=60, grace_s=120)
    flow = _flow(driver, bus, plan, turn=driver.turn)
    node, hami = bus.node.claim("test"), bus.hami.claim("test")
    knowing: list[Callable[[], bool]] = [
        lambda: hami.put(state()),
        lambda: node.put(node_view(2)),
    ]

    async with running(flow.run):
        for know in knowing if last == "npus" else reversed(knowing):
            assert (driver.reads, bus.vnpus.value) == (0, None)
            know()
            await settle()
        assert driver.reads == 2
        await _until(61)
        assert driver.reads == 4


async def test_an_npu_that_can_not_be_read_keeps_no_other_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = _Driver(
        vnpus={0: [_vnpu(100)], 1: [_vnpu(200)]}, unreadable={0: DriverError("info", -8005)}
    )
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(130)
        assert (driver.destroyed, dict(scene.said.failed)) == (
            [(1, 200)],
            {0: "info answered -8005"},
        )
        driver.unreadable.clear()
        await _until(190)
        assert dict(scene.said.failed) == {}
        await _until(310)

    assert driver.destroyed == [(1, 200), (0, 100)]
    assert [text for text in _events(caplog) if "readable" in text] == [
        "vnpus not readable",
        "vnpus readable again",
    ]


async def test_without_a_worker_nothing_is_logged_here(caplog: pytest.LogCaptureFixture) -> None:
    scene = _Scene(_Driver(unreadable={0: DriverUnavailableError("no worker")}))

    async with scene.sweeping():
        assert dict(scene.said.failed) == {0: "no worker"}

    assert _events(caplog) == []


async def test_what_can_not_be_removed_is_said_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = _Driver(
        vnpus={0: [_vnpu(100), _vnpu(101)]}, refuses={100: DriverError("destroy", -8005)}
    )
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(250)
        assert dict(scene.said.failed) == {0: "vNPU 100: destroy answered -8005"}
        assert scene.surplus == {0: [100, 101]}
        driver.refuses.clear()
        await _until(301)

    assert driver.destroyed == [(0, 100), (0, 101)]
    assert _events(caplog) == [
        "vnpu leaked",
        "vnpu leaked",
        "vnpu not removed",
        "vnpu removed",
        "vnpu removed",
    ]


async def test_one_that_is_opened_at_the_last_moment_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driver = _Driver(vnpus={0: [_vnpu(100)]}, refuses={100: DriverBusyError("destroy", -8020)})
    scene = _Scene(driver)

    async with scene.sweeping():
        await _until(130)
        driver.vnpus[0] = [_vnpu(100, opened=True)]
        await _until(190)
        assert (scene.surplus, dict(scene.said.failed)) == ({}, {})

    assert _events(caplog) == ["vnpu leaked", "vnpu no longer leaked"]


async def test_where_the_driver_does_not_tell_whose_it_is_none_goes() -> None:
    driver = _Driver(vnpus={0: [_vnpu(100, container=7), _vnpu(101, container=8)]})
    scene = _Scene(driver)

    async with scene.sweeping(_owner()):
        await _until(250)
        assert (scene.said.mode, scene.surplus) == (SweepMode.REMOVE, {0: [100]})
        assert "1 stay" in scene.said.detail

    assert driver.destroyed == []


@pytest.mark.parametrize("steps", [[{"at_s": 0, "card": 0, "call": "vnpus_read", "hang_s": 400}]])
async def test_a_card_that_hangs_keeps_no_other_back(steps: Sequence[object]) -> None:
    async with _simulated({**_LEAK, "npu": 1}, *steps) as scene, scene.sweeping():
        await _until(200)

        assert scene.said.removed == 1
        assert set(scene.said.failed) == {0}


async def test_while_nobody_has_said_which_npus_are_hidden_none_is_looked_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CF-8: a file that was never in order may hide the one whose vNPU seems to be nobody's."""
    driver = _Driver(vnpus={0: [_vnpu(100)]})
    scene = _Scene(driver, hami=dataclasses.replace(state(), chip=None))

    async with scene.sweeping():
        await _until(300)

    assert driver.reads == 0
    assert "vnpu leaked" not in _events(caplog)
