"""One resource at a time, under the name that is configured."""

import asyncio
import dataclasses
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami import DIALECT
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.flows.serve_chosen import ServeChosen
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.model.hami import SLOT, HamiChip, HamiConfig, HamiState
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    Offer,
    PluginDirectory,
    ServingPhase,
    ServingState,
    SocketIdentity,
)
from ascend_agent.runtime.latest import Latest
from ascend_agent.slicing.by_die import MODE
from tests.fakes.hami import CHIP_310P, CHIP_910B3, NODE
from tests.fakes.npus import node_view
from tests.fakes.running import running, settle
from tests.fakes.specs import spec_of

B3 = ResourceName("huawei.com/Ascend910B3")


class _Endpoint:
    """An endpoint that says what becomes of it."""

    def __init__(self, word: str, told: list[str]) -> None:
        self.streams: Latest[int] = Latest("streams")
        self.streams.claim("test").put(1)
        self._word = word
        self._told = told
        self._open = False
        self.offers: list[Offer] = []
        self.broken = False

    async def open(self) -> SocketIdentity:
        if self.broken:
            raise RuntimeError("broken")
        self._open = True
        self._told.append(f"open {self._word}")
        return SocketIdentity(1, 1, 1)

    def in_place(self) -> bool:
        return self._open

    def displaced(self) -> bool:
        return False

    async def register(self) -> None:
        self._told.append(f"register {self._word}")

    def publish(self, offer: Offer) -> None:
        self.offers.append(offer)

    async def close(self) -> None:
        await asyncio.sleep(0)
        if self._open:
            self._told.append(f"close {self._word}")
        self._open = False


@dataclass
class _Scene:
    """A node on which everything is well, and what is configured of it."""

    bus: Bus = field(default_factory=lambda: Bus([SLOT]))
    told: list[str] = field(default_factory=list)
    endpoints: list[_Endpoint] = field(default_factory=list)
    broken: bool = False

    def __post_init__(self) -> None:
        self.bus.node.claim("test").put(node_view(2))
        self.bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
        self.bus.directory.claim("test").put(
            PluginDirectory(present=True, kubelet=SocketIdentity(1, 1, 1))
        )
        self._hami = self.bus.hami.claim("test")
        self._state = self.bus.serving[SLOT].claim("test")
        self.flow = ServeChosen(make=self._make, bus=self.bus, state=self._state)

    @property
    def state(self) -> ServingState:
        found = self.bus.serving[SLOT].value
        assert found is not None
        return found

    def configure(self, chip: HamiChip | None, *, shares: int = 1, trouble: str = "") -> None:
        config = HamiConfig(chips=(chip,) if chip else ())
        self._hami.put(HamiState(config=config, chip=chip, shares=shares, trouble=trouble))

    def _make(self, chip: HamiChip) -> ServeResource:
        endpoint = _Endpoint(chip.word, self.told)
        endpoint.broken = self.broken
        self.endpoints.append(endpoint)
        return ServeResource(
            offers=HamiOffers(
                word=chip.word,
                resource=chip.resource,
                dialect=DIALECT,
                mode=MODE,
                node_name=NODE,
                bus=self.bus,
                specs=spec_of,
            ),
            endpoint=endpoint,
            bus=self.bus,
            state=self._state,
        )


async def test_nothing_is_served_before_it_is_known_what_is_configured() -> None:
    scene = _Scene()
    async with running(scene.flow.run):
        assert scene.state.phase is ServingPhase.WAITING
        assert "has not been read yet" in scene.state.detail


async def test_the_configured_chips_resource_is_served_under_its_own_name() -> None:
    """The channel stands for whichever resource it is, and its states name it."""
    scene = _Scene()
    scene.configure(CHIP_910B3)
    async with running(scene.flow.run):
        assert scene.told == ["open Ascend910B3", "register Ascend910B3"]
        assert (scene.state.resource, scene.state.phase) == (B3, ServingPhase.STREAMING)
    assert scene.told[-1] == "close Ascend910B3"


async def test_another_name_ends_the_socket_before_the_next_is_opened() -> None:
    """HAMi C5: under the old name nothing must be left to be allocated."""
    scene = _Scene()
    scene.configure(CHIP_910B3)
    async with running(scene.flow.run):
        scene.told.clear()
        scene.configure(dataclasses.replace(CHIP_910B3, word="Ascend910B"))
        await settle()

        assert scene.told == ["close Ascend910B3", "open Ascend910B", "register Ascend910B"]


async def test_another_resource_under_the_same_word_is_registered_anew() -> None:
    scene = _Scene()
    scene.configure(CHIP_910B3)
    async with running(scene.flow.run):
        scene.configure(dataclasses.replace(CHIP_910B3, resource=ResourceName("a.b/c")))
        await settle()

        assert scene.state.resource == "a.b/c"
        assert scene.told.count("open Ascend910B3") == 2


async def test_other_counts_are_a_new_list_on_the_same_socket() -> None:
    """HAMi C5."""
    scene = _Scene()
    scene.configure(CHIP_910B3, shares=4)
    async with running(scene.flow.run):
        scene.told.clear()
        scene.configure(dataclasses.replace(CHIP_910B3, ai_core=9), shares=8)
        await settle()

        assert scene.told == []
        (endpoint,) = scene.endpoints
        assert [group.shares for group in endpoint.offers[-1].groups] == [8, 8]


async def test_while_no_chip_is_configured_it_is_said_why() -> None:
    """HAMi C4."""
    scene = _Scene()
    scene.configure(CHIP_910B3)
    async with running(scene.flow.run):
        scene.configure(None, trouble="chip 910B9 is not configured")
        await settle()
        assert scene.told[-1] == "close Ascend910B3"
        assert (scene.state.phase, scene.state.detail) == (
            ServingPhase.WAITING,
            "chip 910B9 is not configured",
        )
        scene.configure(None, trouble="chip 910B7 is not configured")
        await settle()
        assert scene.state.detail == "chip 910B7 is not configured"

        scene.configure(CHIP_910B3)
        await settle()

        assert scene.state.phase is ServingPhase.STREAMING


async def test_a_chip_of_which_there_is_none_is_not_registered() -> None:
    scene = _Scene()
    scene.configure(CHIP_310P)
    async with running(scene.flow.run):
        assert scene.told == []
        assert scene.state.detail == "no npu of this resource"


async def test_what_serves_and_fails_fails_the_flow() -> None:
    """The supervisor restarts it, and tells why."""
    scene = _Scene(broken=True)
    scene.configure(CHIP_910B3)

    with pytest.raises(RuntimeError, match="broken"):
        await scene.flow.run()
