"""What stays in force when the file, the cards or a reading turn bad; virtual time throughout."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError
from ascend_agent.flows.poll_dpus import PollDpus
from ascend_agent.model.ids import PhyId
from ascend_agent.model.nics import Nic
from ascend_agent.model.surroundings import DpuHealth, DpuStates
from ascend_agent.runtime.clock import Clock
from tests.fakes.dpus import SLOTS, FakeNics, a5_inventory, a5_npu, nic, nics
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle
from tests.fakes.specs import spec_of

HEALTHY, SUB, UNHEALTHY = DpuHealth.HEALTHY, DpuHealth.SUB_HEALTHY, DpuHealth.UNHEALTHY


def text(bus_type: str = "ub", **more: object) -> bytes:
    entry = {"busType": bus_type, "selectors": {"vendor": ["0x10b5"]}, **more}
    return json.dumps({"configList": [entry]}).encode()


class _File:
    """The configuration as a test leaves it."""

    def __init__(self, content: bytes | HostError | None) -> None:
        self.content = content
        self.reads = 0

    async def read(self) -> bytes | None:
        self.reads += 1
        if isinstance(self.content, HostError):
            raise self.content
        return self.content


class _Node:
    """An A5 node: its file, its cards, and what the flow says of them."""

    def __init__(self, content: bytes | None = None, *, nics: FakeNics | None = None) -> None:
        self.bus = Bus([])
        self.file = _File(text() if content is None else content)
        self.nics = nics or FakeNics()
        self.clock = Clock()
        self.npus = self.bus.inventory.claim("test")
        self.flow = PollDpus(
            file=self.file,
            name="dpu-config.json",
            nics=self.nics,
            inventory=self.bus.inventory,
            dpus=self.bus.dpus.claim("poll-dpus"),
            spec_of=spec_of,
            clock=self.clock,
        )

    @property
    def states(self) -> DpuStates:
        assert self.bus.dpus.value is not None
        return self.bus.dpus.value

    def health(self, phy: int) -> DpuHealth | None:
        return self.states.health.get(PhyId(phy))


@pytest.fixture
async def node() -> _Node:
    made = _Node()
    made.npus.put(a5_inventory())
    return made


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


async def test_the_cards_of_each_npu_are_published(node: _Node) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()

        assert node.states.bus_type == "ub"
        assert node.states.by_npu[PhyId(7)] == ("enps1", "enps3")
        assert set(node.states.health.values()) == {HEALTHY}


async def test_a_change_is_published_without_waiting(node: _Node) -> None:
    """Topology 5.9.8: no time passes here but what the watcher takes."""
    async with running(node.flow.run):
        node.nics.show(*nics())
        await asyncio.sleep(100)
        node.nics.show(*nics(enps2="down"))
        await settle()

        assert (node.health(0), node.health(4)) == (SUB, HEALTHY)
        assert node.states.since_ms[PhyId(0)] == node.clock.now()
        node.nics.show(*nics(enps2="down", enps0="dormant"))
        await settle()
        assert (node.health(0), node.health(4)) == (UNHEALTHY, HEALTHY)
        node.nics.show(*nics())
        await settle()
        assert node.health(0) is HEALTHY


async def test_what_does_not_change_is_not_published_again(node: _Node) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics())
        await asyncio.sleep(100)
        node.nics.show(*nics(), nic("other", vendor_id="0x8086"))
        await asyncio.sleep(100)

        assert node.bus.dpus.version == 1


async def test_without_the_file_nothing_is_looked_at(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Topology 5.1: absent means off, and is no error."""
    node.file.content = None
    async with running(node.flow.run):
        node.nics.show(*nics())
        await asyncio.sleep(100)

        assert node.nics.watchers == 0
        assert node.bus.dpus.version == 0
    assert not warnings(caplog)


async def test_without_npus_that_work_with_dpu_nics_not_even_the_file_is_read() -> None:
    node = _Node()
    node.npus.put(inventory())
    async with running(node.flow.run):
        await asyncio.sleep(100)

        assert node.file.reads == 0
        node.npus.put(a5_inventory())
        node.nics.show(*nics())
        await settle()
        assert node.health(0) is HEALTHY


async def test_a_file_that_comes_and_goes_turns_it_on_and_off(node: _Node) -> None:
    """Topology 5.9.10; what was published is taken back."""
    node.file.content = None
    async with running(node.flow.run):
        node.nics.show(*nics(enps0="down"))
        node.file.content = text()
        await asyncio.sleep(6)
        assert node.health(0) is SUB
        assert node.nics.watchers == 1
        node.file.content = None
        await asyncio.sleep(6)
        assert node.nics.watchers == 0
        assert node.states.bus_type == ""
        assert not node.states.health
        before = node.bus.dpus.version
        node.nics.show(*nics())
        node.file.content = text()
        await asyncio.sleep(6)
        assert node.health(0) is HEALTHY
        assert node.bus.dpus.version == before + 1  # what was seen before it is not believed


async def test_a_changed_file_is_followed(node: _Node) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics(), *(nic(f"x{slot}", slot=slot) for slot in ("1", "9")))
        await settle()
        assert node.bus.dpus.version == 0  # four cards in two slots
        names = {"vendor": ["0x10b5"], "devices": ["enps1", "enps3", "x1", "x9"]}
        node.file.content = text(selectors=names)
        await asyncio.sleep(6)

        assert node.states.by_npu[PhyId(0)] == ("x1", "x9")


async def test_another_choice_of_cards_is_no_loss_of_those_before(node: _Node) -> None:
    """Under one file a card that is gone is kept; another file is another matter."""
    node.npus.put(a5_inventory(*map(a5_npu, range(4))))
    others = [nic(f"y{slot}", vendor_id="0x8086", slot=slot) for slot in ("1", "9")]
    async with running(node.flow.run):
        node.nics.show(*nics(), *others)
        await settle()
        assert node.states.by_npu[PhyId(0)] == ("enps0", "enps2")
        node.file.content = text(selectors={"vendor": ["0x8086"]})
        await asyncio.sleep(6)

        assert node.states.by_npu[PhyId(0)] == ("y1", "y9")


async def test_a_choice_that_fits_no_card_takes_back_what_was_told(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics(enps0="down"))
        await settle()
        assert node.health(0) is SUB
        node.file.content = text(selectors={"vendor": ["0x8086"]})
        await asyncio.sleep(6)

        assert not node.states.health
    assert warnings(caplog) == ["dpu nic down", "dpu nics not assigned"]


@pytest.mark.parametrize("content", [b"{", text("ub/pcie")])
async def test_a_file_that_means_nothing_leaves_what_was_in_force(
    node: _Node, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be half written; and it is told once, not at each look."""
    async with running(node.flow.run):
        node.nics.show(*nics(enps0="down"))
        await settle()
        node.file.content = content
        await asyncio.sleep(60)
        assert node.health(0) is SUB
        assert node.bus.dpus.version == 1
        node.file.content = text()
        await asyncio.sleep(6)

    assert warnings(caplog) == ["dpu nic down", "dpu configuration refused"]
    assert vars(caplog.records[-1])["why"].startswith("dpu-config.json: ")


async def test_a_file_that_never_meant_anything_is_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node = _Node(text("ub/pcie"))
    node.npus.put(a5_inventory())
    async with running(node.flow.run):
        node.nics.show(*nics())
        await asyncio.sleep(60)

        assert node.bus.dpus.version == 0
        assert node.nics.watchers == 0
    [told] = caplog.records
    assert "'ub/pcie' is what the sample file says" in vars(told)["why"]


async def test_a_file_that_can_not_be_read_now_says_nothing(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
        node.file.content = HostError("dpu-config.json: Input/output error")
        await asyncio.sleep(60)
        assert node.health(0) is HEALTHY
        assert node.nics.watchers == 1
        node.file.content = text()
        await asyncio.sleep(6)
        assert node.bus.dpus.version == 1

    assert warnings(caplog) == ["dpu configuration unreadable"]


async def test_keys_that_mean_nothing_are_named(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt one would else go unnoticed; the file is used all the same."""
    node.file.content = text(unknown_is_up=False)
    async with running(node.flow.run):
        node.nics.show(*nics())
        await asyncio.sleep(60)
        assert node.health(0) is HEALTHY

    [told] = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert told.getMessage() == "dpu configuration keys ignored"
    assert vars(told)["keys"] == "configList.0.unknown_is_up"


@pytest.mark.parametrize("counts", [True, False])
async def test_whether_unknown_is_up_is_a_word_of_the_file(
    node: _Node,
    counts: bool,  # noqa: FBT001 -- a column
) -> None:
    """Topology 5.9.5."""
    node.file.content = text(unknownIsUp=counts)
    cards = [nic(name, "unknown", carrier=True) for name in ("enps0", "enps1", "enps2", "enps3")]
    async with running(node.flow.run):
        node.nics.show(*cards)
        await settle()

        assert node.health(0) is (HEALTHY if counts else UNHEALTHY)


async def test_a_card_that_is_gone_is_down_until_it_is_back(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Looking anew would find half a mapping, and that is none: all NPUs would be healthy."""
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
        node.nics.show(*nics()[1:])
        await settle()
        assert (node.health(0), node.health(4)) == (SUB, HEALTHY)
        assert [dpu.name for dpu in node.states.dpus if not dpu.up] == ["enps0"]
        node.nics.show(*nics()[3:])
        await settle()
        assert (node.health(0), node.health(4)) == (UNHEALTHY, SUB)
        node.nics.show(*nics())
        await settle()
        assert set(node.states.health.values()) == {HEALTHY}

    assert set(warnings(caplog)) == {"dpu nic down"}


async def test_cards_that_appear_late_are_found(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Drivers of network cards may be loaded after the agent; half of them is still none."""
    async with running(node.flow.run):
        node.nics.show()
        await settle()
        node.nics.show(*nics()[:3])
        await settle()
        assert node.bus.dpus.version == 0
        node.nics.show(*nics())
        await settle()
        assert node.health(4) is HEALTHY

    assert warnings(caplog) == ["dpu nics not assigned"] * 2


async def test_a_renamed_card_is_taken_as_the_one_it_is(node: _Node) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
        node.nics.show(*nics()[:3], nic("enp9", slot="10"))
        await settle()

        assert node.states.by_npu[PhyId(4)] == ("enp9", "enps1")
        assert node.health(4) is HEALTHY


async def test_a_look_that_failed_says_nothing(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(node.flow.run):
        node.nics.show(*nics(enps0="down"))
        await settle()
        node.nics.show(trouble="network cards in /sys: did not answer within 2 s")
        await settle()
        assert node.health(0) is SUB
        node.nics.show(*nics())
        await settle()
        assert node.health(0) is HEALTHY

    assert warnings(caplog) == ["dpu nic down", "network cards unreadable"]


async def test_what_turns_is_told_with_the_npus_it_concerns(
    node: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
        node.nics.show(*nics(enps3="lowerlayerdown"))
        await settle()
        node.nics.show(*nics(enps3="down"))
        await settle()
        node.nics.show(*nics())
        await settle()

    told = [(r.getMessage(), vars(r)["dpu"], vars(r)["npus"]) for r in caplog.records[1:]]
    assert told == [("dpu nic down", "enps3", [4, 5, 6, 7]), ("dpu nic up", "enps3", [4, 5, 6, 7])]


async def test_npus_that_are_found_later_get_their_cards(node: _Node) -> None:
    node.npus.put(a5_inventory(a5_npu(0), a5_npu(1)))
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
        assert node.states.health.keys() == {0, 1}
        node.npus.put(a5_inventory())
        await settle()
        assert node.states.health.keys() == set(range(8))


# --- pcie ---------------------------------------------------------------------------------

BUS = "0000:C1:00.0"
NEAR = "devices/pci0000:c0/0000:c0:01.0"


@pytest.fixture
def pcie(node: _Node) -> _Node:
    node.file.content = text("pcie")
    node.npus.put(a5_inventory(a5_npu(3, bus=BUS)))
    return node


def by_pcie(operstate: str = "up") -> tuple[Nic, ...]:
    return (
        nic("enp0", operstate, path=f"{NEAR}/0000:c2:00.0/net/enp0"),
        nic("enp1", path="devices/pci0000:00/0000:01:00.0/net/enp1"),
    )


async def test_the_card_near_an_npu_is_its_own(pcie: _Node) -> None:
    pcie.nics.paths = {BUS: f"{NEAR}/0000:c1:00.0"}
    async with running(pcie.flow.run):
        pcie.nics.show(*by_pcie("down"))
        await settle()

        assert pcie.states.by_npu == {3: ("enp0",)}
        assert pcie.health(3) is UNHEALTHY
        assert [dpu.name for dpu in pcie.states.dpus] == ["enp0"]


async def test_a_card_that_is_gone_is_not_replaced_by_one_further_away(pcie: _Node) -> None:
    pcie.nics.paths = {BUS: "devices/pci0000:00/0000:02:00.0"}
    far = nic("enp2", path="devices/pci0000:00/0000:05:00.0/0000:06:00.0/net/enp2")
    async with running(pcie.flow.run):
        pcie.nics.show(*by_pcie(), far)
        await settle()
        assert pcie.health(3) is HEALTHY
        pcie.nics.show(far)
        await settle()

        assert pcie.states.by_npu == {3: ("enp1",)}
        assert pcie.health(3) is UNHEALTHY


async def test_an_npu_whose_place_shows_late_is_asked_for_again(
    pcie: _Node, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing announces it: neither a link nor the inventory changes."""
    async with running(pcie.flow.run):
        pcie.nics.show(*by_pcie())
        await settle()
        assert pcie.bus.dpus.version == 0
        pcie.nics.paths = {BUS: f"{NEAR}/0000:c1:00.0"}
        await asyncio.sleep(6)
        assert pcie.health(3) is HEALTHY

    assert warnings(caplog) == ["dpu nics not assigned"]


class _SlowNics(FakeNics):
    """Tells where PCI devices lie when the test lets it."""

    def __init__(self) -> None:
        super().__init__({BUS: f"{NEAR}/0000:c1:00.0"})
        self.answers = asyncio.Event()

    async def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:
        await self.answers.wait()
        return await super().pci_paths(buses)


async def test_an_answer_to_an_older_file_is_dropped() -> None:
    slow = _SlowNics()
    node = _Node(text("pcie"), nics=slow)
    node.npus.put(a5_inventory(a5_npu(3, bus=BUS)))
    async with running(node.flow.run):
        slow.show(*(nic(name, path=f"{NEAR}/{name}") for name in SLOTS))
        await settle()
        node.file.content = text("ub")
        await asyncio.sleep(6)
        slow.answers.set()
        await settle()

        assert node.states.bus_type == "ub"
        assert node.bus.dpus.version == 1


async def test_npus_without_a_card_are_named(pcie: _Node, caplog: pytest.LogCaptureFixture) -> None:
    pcie.npus.put(a5_inventory(a5_npu(3, bus=BUS), a5_npu(4, bus="0001:01:00.0")))
    pcie.nics.paths = {
        BUS: f"{NEAR}/0000:c1:00.0",
        "0001:01:00.0": "devices/pci0001:00/0001:01:00.0",
    }
    async with running(pcie.flow.run):
        pcie.nics.show(*by_pcie())
        await settle()
        assert pcie.states.health == {3: HEALTHY}

    [told] = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert (told.getMessage(), vars(told)["npus"]) == ("npus without dpu nic", (4,))


async def test_a_flow_that_is_started_anew_goes_on_where_it_was(node: _Node) -> None:
    """The supervisor restarts what failed, and the file has not changed since."""
    async with running(node.flow.run):
        node.nics.show(*nics())
        await settle()
    assert node.nics.watchers == 0
    async with running(node.flow.run):
        node.nics.show(*nics(enps0="down"))
        await settle()

        assert node.health(0) is SUB
        assert node.nics.watchers == 1
