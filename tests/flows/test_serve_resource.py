"""When a resource is opened, registered, and either again."""

import asyncio
import itertools
import logging
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.dialects import plain
from ascend_agent.errors import KubeletError, KubeletGoneError
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    Offer,
    PluginDirectory,
    ServingPhase,
    SocketIdentity,
)
from ascend_agent.model.world import SharePolicy
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.slicing import whole
from tests.fakes.npus import node_view
from tests.fakes.running import running, settle
from tests.fakes.specs import spec_of

RESOURCE = ResourceName("huawei.com/Ascend910")


class _Endpoint:
    """An endpoint whose kubelet and whose socket a test governs."""

    def __init__(self) -> None:
        self.streams: Latest[int] = Latest("streams")
        self.stream_writer: LatestWriter[int] = self.streams.claim("test")
        self.registered: list[float] = []
        self.offers: list[Offer] = []
        self.tried: list[float] = []
        self.opened = 0
        self.closed = 0
        self.placed = False
        self.rival = False
        self.answers = asyncio.Event()
        self.answers.set()
        self.refuses: KubeletError | None = None
        self.unopenable: KubeletError | None = None

    async def open(self) -> SocketIdentity:
        self.tried.append(asyncio.get_running_loop().time())
        if self.unopenable:
            raise self.unopenable
        self.opened += 1
        self.placed = True
        self.rival = False
        return SocketIdentity(1, self.opened, 1)

    def in_place(self) -> bool:
        return self.placed

    def displaced(self) -> bool:
        return self.rival

    async def register(self) -> None:
        self.registered.append(round(asyncio.get_running_loop().time(), 2))
        await self.answers.wait()
        if self.refuses:
            raise self.refuses

    def publish(self, offer: Offer) -> None:
        self.offers.append(offer)

    async def close(self) -> None:
        self.closed += 1
        self.placed = False


@dataclass
class _Scene:
    """A node on which everything is well, and the channels to change that."""

    bus: Bus = field(default_factory=lambda: Bus([RESOURCE]))
    endpoint: _Endpoint = field(default_factory=_Endpoint)
    _stirs: int = 0

    def __post_init__(self) -> None:
        self.node = self.bus.node.claim("test")
        self.directory = self.bus.directory.claim("test")
        self.instance = self.bus.instance.claim("test")
        self.reregister = self.bus.reregister.claim("test")
        self.flow = ServeResource(
            offers=ResourceOffers(
                word="Ascend910",
                resource=RESOURCE,
                dialect=plain.DIALECT,
                mode=whole.MODE,
                shares=1,
                share_policy=SharePolicy.SPREAD,
                spec_of=spec_of,
            ),
            endpoint=self.endpoint,
            bus=self.bus,
            state=self.bus.serving[RESOURCE].claim("serve-resource"),
        )

    def all_well(self) -> None:
        self.node.put(node_view())
        self.instance.put(InstanceState(phase=InstancePhase.HOLDING))
        self.look(kubelet=1)

    def look(self, *, kubelet: int | None) -> None:
        found = SocketIdentity(1, kubelet, 1) if kubelet else None
        self.directory.put(PluginDirectory(present=True, kubelet=found))

    async def take_place(self) -> None:
        """Let another process put its socket in the place of ours."""
        self.endpoint.placed, self.endpoint.rival = False, True
        await self.stir()

    async def stir(self) -> None:
        """Let the directory look different in what is nobody's business here."""
        self._stirs += 1
        found = PluginDirectory(
            present=True,
            kubelet=SocketIdentity(1, 1, 1),
            sockets={"other.sock": SocketIdentity(2, self._stirs, 1)},
        )
        self.directory.put(found)
        await settle()

    def phase(self) -> ServingPhase:
        state = self.bus.serving[RESOURCE].value
        assert state is not None
        return state.phase

    @property
    def detail(self) -> str:
        state = self.bus.serving[RESOURCE].value
        assert state is not None
        return state.detail


async def test_nothing_is_served_before_there_is_something_to_serve() -> None:
    """No NPU, another instance, no directory: each is waited for and named in the state."""
    scene = _Scene()
    async with running(scene.flow.run):
        assert (scene.phase(), scene.detail) == (ServingPhase.WAITING, "no device list yet")
        scene.node.put(node_view(0))
        await settle()
        assert scene.detail == "no npu of this resource"
        scene.node.put(node_view(generation=2))
        await settle()
        assert scene.detail == "node lock: not tried yet"
        scene.instance.put(InstanceState(phase=InstancePhase.WAITING, holder="pid 7"))
        await settle()
        assert "pid 7" in scene.detail
        scene.instance.put(InstanceState(phase=InstancePhase.HOLDING))
        scene.directory.put(PluginDirectory(present=False, trouble="is missing"))
        await settle()
        assert "is missing" in scene.detail
        assert scene.endpoint.opened == 0


async def test_it_opens_registers_and_streams() -> None:
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        assert (scene.endpoint.opened, scene.endpoint.registered) == (1, [0])
        assert scene.phase() is ServingPhase.REGISTERED
        scene.endpoint.stream_writer.put(1)
        await settle()
        assert scene.phase() is ServingPhase.STREAMING
        await asyncio.sleep(600)
        assert scene.endpoint.registered == [0]


async def test_each_view_reaches_the_endpoint_also_before_the_kubelet_is_there() -> None:
    scene = _Scene()
    scene.all_well()
    scene.look(kubelet=None)
    async with running(scene.flow.run):
        scene.node.put(node_view(sick=(3,), generation=2))
        await settle()
        assert [group.healthy for group in scene.endpoint.offers[-1].groups][3] is False
        assert scene.endpoint.offers[-1].generation == 2


async def test_a_replaced_kubelet_socket_is_registered_with_at_once() -> None:
    """KL-1: the kubelet came back; our socket is still in place, so one Register does it."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        await asyncio.sleep(5)
        scene.look(kubelet=2)
        await settle()
        assert (scene.endpoint.opened, scene.endpoint.registered) == (1, [0, 5])


async def test_our_socket_removed_is_made_anew_and_registered() -> None:
    """KL-2, KL-3: a starting kubelet wipes the directory; a closed server is never used again."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        await asyncio.sleep(5)
        scene.endpoint.placed = False
        scene.look(kubelet=2)
        await settle()
        assert (scene.endpoint.opened, scene.endpoint.closed) == (2, 2)
        assert scene.endpoint.registered == [0, 5]


async def test_a_kubelet_that_does_not_answer_is_tried_again_with_growing_pauses() -> None:
    """KL-5: refused connections are an absent kubelet; 0.02 s at first, 10 s at last, 20 % off."""
    scene = _Scene()
    scene.all_well()
    scene.endpoint.refuses = KubeletGoneError("connection refused")
    async with running(scene.flow.run):
        await asyncio.sleep(100)
        assert scene.phase() is ServingPhase.SERVING
        assert scene.detail == "connection refused"
        times = scene.endpoint.registered
        expected = [0.02, 0.05, 0.2, 0.5, 1, 2, 5, 10, 10]
        for pause, want in zip(
            (b - a for a, b in itertools.pairwise(times)), expected, strict=False
        ):
            assert want * 0.79 - 0.01 <= pause <= want * 1.21 + 0.01

        scene.endpoint.refuses = None
        scene.look(kubelet=2)
        await settle()
        assert scene.endpoint.registered[-1] == 100
        assert scene.phase() is ServingPhase.REGISTERED


async def test_trouble_is_logged_once_a_cause_and_tries_begin_anew_after_success(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """KL-5, OB-2."""
    caplog.set_level(logging.INFO)
    scene = _Scene()
    scene.all_well()
    scene.endpoint.refuses = KubeletGoneError("refused")
    async with running(scene.flow.run):
        await asyncio.sleep(20)
        scene.endpoint.refuses = KubeletGoneError("no such file")
        await asyncio.sleep(20)
        scene.endpoint.refuses = None
        await asyncio.sleep(20)
        scene.endpoint.refuses = KubeletGoneError("no such file")
        scene.look(kubelet=2)
        await settle()
        await asyncio.sleep(0.2)
        tries = [at for at in scene.endpoint.registered if at >= 60]
        assert len(tries) == 3
        scene.endpoint.refuses = None
        await asyncio.sleep(20)

    told = [(r.getMessage(), vars(r).get("why") or vars(r)["count"]) for r in caplog.records]
    assert told == [
        ("not registered with the kubelet", "refused"),
        ("not registered with the kubelet", "no such file"),
        ("registered with the kubelet", 1),
        ("not registered with the kubelet", "no such file"),
        ("registered with the kubelet", 2),
    ]
    state = scene.bus.serving[RESOURCE].value
    assert state is not None
    assert state.registrations == 2


async def test_a_kubelet_that_is_away_for_a_moment_is_worth_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every restart would bring a warning where our socket is gone before the kubelet's is back."""
    scene = _Scene()
    scene.all_well()
    scene.endpoint.refuses = KubeletGoneError("no such file")
    async with running(scene.flow.run):
        assert scene.detail == "no such file"
        await asyncio.sleep(0.03)
        scene.endpoint.refuses = None
        await asyncio.sleep(1)
        assert scene.phase() is ServingPhase.REGISTERED

    assert caplog.records == []


async def test_a_kubelet_that_takes_its_time_to_answer_is_waited_for_and_said() -> None:
    """Until then the state told why nothing was served before."""
    scene = _Scene()
    scene.all_well()
    scene.endpoint.answers.clear()
    async with running(scene.flow.run):
        assert (scene.phase(), scene.detail) == (ServingPhase.SERVING, "registering")
        scene.endpoint.answers.set()
        await settle()
        assert (scene.phase(), scene.detail) == (ServingPhase.REGISTERED, "")


async def test_streams_show_what_changes_while_the_kubelet_takes_its_time() -> None:
    """A fault must not wait up to 10 s for an answer to Register."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        scene.endpoint.answers.clear()
        scene.look(kubelet=2)
        await settle()
        scene.node.put(node_view(sick=(3,), generation=2))
        await settle()
        assert scene.endpoint.offers[-1].generation == 2


async def test_an_answer_of_a_kubelet_that_has_gone_is_not_waited_for() -> None:
    """KL-1: the one that came after it must not wait for a deadline of 10 s."""
    scene = _Scene()
    scene.all_well()
    scene.endpoint.answers.clear()
    async with running(scene.flow.run):
        await asyncio.sleep(1)
        scene.endpoint.answers.set()
        scene.look(kubelet=2)
        await settle()
        assert scene.endpoint.registered == [0, 1]
        assert scene.phase() is ServingPhase.REGISTERED


async def test_an_instance_that_lost_the_lock_ends_its_streams_and_waits() -> None:
    """KL-4: another one serves this node now."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        await settle()
        scene.instance.put(InstanceState(phase=InstancePhase.WAITING, holder="pid 7"))
        await asyncio.sleep(100)
        assert not scene.endpoint.placed
        assert (scene.phase(), scene.endpoint.registered) == (ServingPhase.WAITING, [0])
        scene.instance.put(InstanceState(phase=InstancePhase.HOLDING))
        await settle()
        assert scene.endpoint.registered == [0, 100]


async def test_a_directory_that_is_gone_for_a_while_hides_no_fault_from_open_streams() -> None:
    """The kubelet's connection outlives the name of our socket."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        await settle()
        closed = scene.endpoint.closed
        scene.endpoint.placed = False
        scene.directory.put(PluginDirectory(present=False, trouble="is missing"))
        await settle()
        scene.node.put(node_view(sick=(3,), generation=2))
        await settle()
        assert scene.endpoint.offers[-1].generation == 2
        assert scene.endpoint.closed == closed


async def test_a_storm_of_faults_is_no_storm_of_registrations() -> None:
    scene = _Scene()
    scene.all_well()
    scene.endpoint.refuses = KubeletGoneError("connection refused")
    async with running(scene.flow.run):
        await asyncio.sleep(30)
        tried = len(scene.endpoint.registered)
        for generation in range(2, 500):
            scene.node.put(node_view(generation=generation))
            await asyncio.sleep(0.001)
        assert len(scene.endpoint.registered) <= tried + 1
        assert scene.endpoint.offers[-1].generation == 499


async def test_a_kubelet_that_opens_no_stream_is_told_again() -> None:
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        await asyncio.sleep(65)
        assert scene.endpoint.registered == [0, 30, 60]


async def test_a_stream_that_ended_brings_a_registration_soon() -> None:
    """The kubelet calls every device unhealthy from that moment on."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        await asyncio.sleep(100)
        scene.endpoint.stream_writer.put(0)
        await asyncio.sleep(5)
        assert scene.endpoint.registered == [0, 101]


async def test_a_timer_that_fires_a_tick_early_is_no_reason_to_spin() -> None:
    """Found on virtual time, where a tick is for ever: that float plus 1 is just above its due."""
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.endpoint.stream_writer.put(1)
        await asyncio.sleep(3.626409)
        scene.endpoint.stream_writer.put(0)
        await asyncio.sleep(5)
        assert scene.endpoint.registered == [0, 4.63]


async def test_sighup_makes_the_socket_anew() -> None:
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        scene.reregister.put(1)
        await settle()
        assert (scene.endpoint.opened, len(scene.endpoint.registered)) == (2, 2)


async def test_a_socket_that_can_not_be_made_is_tried_again_and_said() -> None:
    """PM-1: the reason stays in the state until it is gone."""
    scene = _Scene()
    scene.all_well()
    scene.endpoint.unopenable = KubeletError("/plugins is not writable")
    async with running(scene.flow.run):
        await asyncio.sleep(1)
        assert scene.detail == "/plugins is not writable"
        pauses = [after - before for before, after in itertools.pairwise(scene.endpoint.tried)]
        assert pauses == sorted(pauses)
        assert len(pauses) <= 4
        scene.endpoint.unopenable = None
        await asyncio.sleep(10)
        assert scene.phase() is ServingPhase.REGISTERED


async def test_the_socket_is_closed_on_the_way_out() -> None:
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        assert scene.endpoint.placed
    assert not scene.endpoint.placed
    assert (scene.phase(), scene.detail) == (ServingPhase.WAITING, "stopped")


async def test_a_place_that_is_taken_again_and_again_is_taken_back_ever_more_slowly() -> None:
    """Two agents with lock files of their own would else replace each other's sockets for ever."""
    scene = _Scene()
    scene.all_well()
    waits = []
    async with running(scene.flow.run):
        for _ in range(10):
            await asyncio.sleep(15)
            taken = asyncio.get_running_loop().time()
            await scene.take_place()
            await scene.stir()  # two resources must not call each other back
            await asyncio.sleep(13)
            waits.append(scene.endpoint.tried[-1] - taken)

        await asyncio.sleep(60)
        taken = asyncio.get_running_loop().time()
        await scene.take_place()
        await asyncio.sleep(13)
        waits.append(scene.endpoint.tried[-1] - taken)

    assert waits == pytest.approx(
        [0.02, 0.05, 0.2, 0.5, 1, 2, 5, 10, 10, 10, 0.02], rel=0.2, abs=0.001
    )


async def test_a_place_in_dispute_that_is_left_is_taken_at_once() -> None:
    scene = _Scene()
    scene.all_well()
    async with running(scene.flow.run):
        for _ in range(7):
            await scene.take_place()
            assert "another process" in scene.detail
            await asyncio.sleep(10)
        await scene.take_place()
        opened = scene.endpoint.opened
        scene.endpoint.rival = False
        await scene.stir()
        assert scene.endpoint.opened == opened + 1
