"""What soft slices left is removed once nobody can need it any more, and never before."""

import asyncio
import dataclasses
from collections.abc import Mapping

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import ClusterUnreachableError
from ascend_agent.flows.tidy_soft import TidySoft
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.hami import HamiConfig, HamiState
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.pods import Pod, PodKey, PodPhase, Pods
from tests.fakes.cluster import node_object, pod, watched
from tests.fakes.hami import device, node_view
from tests.fakes.running import running, settle
from tests.fakes.soft_host import FakeDirectories, FakeRegistries

HARD = HamiState(config=HamiConfig(chips=()), chip=None)
SOFT = dataclasses.replace(HARD, wants_soft=True, soft=True)
DIRECTORY = "uid-a_main"
REGISTRY_BYTES = 2848  # of the library that HAMi ships now, said here a second time on purpose
OTHER_SIZE = 2336


class Live:
    """What the API server answers; ``error`` fails it, ``hold`` keeps it waiting."""

    def __init__(self) -> None:
        self.pods: tuple[Pod, ...] = ()
        self.error: Exception | None = None
        self.hold: asyncio.Event | None = None
        self.asked = 0

    async def read_pods(self) -> tuple[Pod, ...]:
        self.asked += 1
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        return self.pods

    async def read_node(self) -> NodeObject:
        return node_object()

    async def read_pod(self, key: PodKey) -> Pod | None:
        return next((each for each in self.pods if each.key == key), None)


class Scene:
    """A node in soft mode with pod a, which has a directory, unless a test changes that.

    *told* False: neither pods nor mode nor users are known yet.
    """

    def __init__(
        self,
        *pods: Pod,
        live: bool = True,
        told: bool = True,
        directories: FakeDirectories | None = None,
    ) -> None:
        self.bus = Bus([])
        self.put_pods = self.bus.pods.claim("test").put
        self.put_hami = self.bus.hami.claim("test").put
        self.put_node = self.bus.node.claim("test").put
        self.directories = directories or FakeDirectories()
        self.registries = FakeRegistries()
        self.server = Live()
        self.turn = asyncio.Lock()
        self.flow = TidySoft(
            directories=self.directories,
            registries=self.registries,
            reader=self.server,
            bus=self.bus,
            turn=self.turn,
        )
        if told:
            self.show(*(pods or (pod("a"),)), live=live)
            self.put_hami(SOFT)
            self.put_node(node_view(3))

    def show(self, *pods: Pod, live: bool = True) -> None:
        """Have these pods in the cache and on the server."""
        self.server.pods = pods
        self.put_pods(Pods(pods=pods, live=live))

    def use(self, *npus: int, word: str = "Ascend910B3") -> None:
        """Have pod a granted these NPUs."""
        granted = "".join(device(npu, 16384) for npu in npus)
        notes = {f"hami.io/{word}-devices-allocated": f"{granted};"}
        self.show(dataclasses.replace(pod("a"), annotations=notes))


async def test_a_directory_goes_with_its_pod() -> None:
    """As soon as the pod is gone, not at the next look."""
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        assert scene.directories.removed == []

        scene.show()
        await settle()
        assert scene.directories.removed == [DIRECTORY]


async def test_one_pods_update_has_only_that_pod_looked_at() -> None:
    """A fault waits for whatever is done of hundreds of pods."""
    pods, asked = watched(*(pod(f"p{number}") for number in range(50)))
    scene = Scene(*pods)
    async with running(scene.flow.run):
        asked.clear()
        newer = dataclasses.replace(pods[7], labels={"a": "b"})
        scene.show(*pods[:7], newer, *pods[8:])
        await settle()

    assert set(asked) == {newer.key}


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
async def test_a_pod_that_has_finished_needs_none_though_it_is_still_there(phase: PodPhase) -> None:
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        scene.show(pod("a", phase))
        await settle()

        assert scene.directories.removed == [DIRECTORY]
        assert scene.server.asked == 0


async def test_a_young_directory_waits_for_the_next_look() -> None:
    """HAMi F5: its pod may not be in the cache yet."""
    scene = Scene(pod("b"))
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(119)
        assert scene.directories.removed == []

        await asyncio.sleep(62)
        assert scene.directories.removed == [DIRECTORY]


async def test_a_cache_alone_is_no_evidence() -> None:
    """The server has the pod: a watch may lag, or be cut off."""
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    scene.put_pods(Pods(pods=(), live=True))
    async with running(scene.flow.run):
        await asyncio.sleep(300)

        assert scene.server.asked > 0
        assert scene.directories.removed == []


async def test_a_server_that_can_not_be_asked_says_nothing() -> None:
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    scene.show()
    scene.server.error = ClusterUnreachableError("list", "pods", "no route")
    async with running(scene.flow.run):
        await asyncio.sleep(300)
        assert scene.directories.removed == []

        scene.server.error = None
        await asyncio.sleep(60)
        assert scene.directories.removed == [DIRECTORY]


async def test_a_server_that_does_not_answer_is_not_waited_for_long() -> None:
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    scene.show()
    scene.server.hold = asyncio.Event()
    async with running(scene.flow.run):
        await asyncio.sleep(200)
        scene.show(pod("b", PodPhase.FAILED))
        await scene.directories.make("uid-b_main")
        await asyncio.sleep(200)

        assert scene.directories.removed == ["uid-b_main"]


@pytest.mark.parametrize("live", [True, False])
async def test_a_watch_that_is_broken_shows_nothing(live: bool) -> None:  # noqa: FBT001 -- both ways
    scene = Scene(live=live)
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        scene.show(live=live)
        await asyncio.sleep(130)

        assert bool(scene.directories.removed) is live


async def test_before_anything_is_known_nothing_goes() -> None:
    scene = Scene(told=False)
    await scene.directories.make(DIRECTORY)
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with running(scene.flow.run):
        await asyncio.sleep(1000)
        scene.put_node(node_view(3))
        scene.put_hami(SOFT)
        await asyncio.sleep(1000)
        assert (scene.directories.removed, dict(scene.registries.files)) == ([], {0: OTHER_SIZE})

        scene.show()
        await asyncio.sleep(60)
        assert (scene.directories.removed, dict(scene.registries.files)) == ([DIRECTORY], {})


async def test_nothing_goes_while_an_allocate_runs() -> None:
    scene = Scene()
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        async with scene.turn:
            scene.show()
            await asyncio.sleep(10)
            assert scene.directories.removed == []
        await settle()
        assert scene.directories.removed == [DIRECTORY]


async def test_what_an_allocate_made_anew_meanwhile_stays() -> None:
    scene = Scene(pod("a", PodPhase.FAILED))
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        async with scene.turn:
            await asyncio.sleep(190)
            await scene.directories.make(DIRECTORY)
        await settle()

        assert scene.directories.removed == []


async def test_who_is_gone_is_asked_for_once_though_a_directory_resists(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stuck = _Stuck()
    scene = Scene(pod("b"), directories=stuck)
    await stuck.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(600)

        assert stuck.tried > 3
        assert scene.server.asked == 1
        assert caplog.messages == ["soft files not tidied"]


async def test_a_directory_that_resists_keeps_no_other_from_going() -> None:
    stuck = _Stuck(only=DIRECTORY)
    scene = Scene(pod("b"), directories=stuck)
    await stuck.make(DIRECTORY)
    await stuck.make("uid-c_main")
    async with running(scene.flow.run):
        await asyncio.sleep(200)

        assert stuck.removed == ["uid-c_main"]


async def test_of_thousands_each_is_looked_at_alone() -> None:
    """An older plugin may have left them, and an Allocate waits while we look."""
    disk = _Slow(look_s=0, removal_s=0)
    scene = Scene(pod("b"), directories=disk)
    for number in range(3000):
        await disk.make(f"uid-c{number}_main")
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        listed = disk.listed
        assert disk.removed == []
        await asyncio.sleep(60)

    assert len(disk.removed) == 3000
    assert disk.listed - listed == 1


@pytest.mark.parametrize("slow", ["look", "removal", "registries"])
async def test_a_slow_disk_holds_up_an_allocate_for_a_moment_only(
    slow: str, caplog: pytest.LogCaptureFixture
) -> None:
    """AL-9: it has ten seconds in all, and a container may have left a million files."""
    disk = _Slow(look_s=4 if slow == "look" else 0, removal_s=4 if slow == "removal" else 0)
    scene = Scene(pod("b"), directories=disk)
    scene.registries.takes_s = 4 if slow == "registries" else 0
    await disk.make(DIRECTORY)
    clock = asyncio.get_running_loop().time
    waits = []
    async with running(scene.flow.run):
        while clock() < 700:
            await asyncio.sleep(0.3)
            came = clock()
            async with scene.turn:
                waits.append(clock() - came)

    assert 0 < max(waits) <= 1
    assert disk.removed == ([] if slow == "look" else [DIRECTORY])
    assert caplog.messages == ([] if slow == "removal" else ["soft files not tidied"])


class _Slow(FakeDirectories):
    """Directories on a disk that takes its time."""

    def __init__(self, *, look_s: float, removal_s: float) -> None:
        super().__init__()
        self.look_s, self.removal_s = look_s, removal_s
        self.listed = 0

    async def remove(self, name: str) -> None:
        await asyncio.sleep(self.removal_s)
        await super().remove(name)

    async def ages(self) -> Mapping[str, Millis]:
        self.listed += 1
        await asyncio.sleep(self.look_s)
        return await super().ages()

    async def age(self, name: str) -> Millis | None:
        await asyncio.sleep(self.look_s)
        return await super().age(name)


class _Stuck(FakeDirectories):
    """Directories that can be listed and not removed, or *only* one of them."""

    def __init__(self, *, only: str | None = None) -> None:
        super().__init__()
        self.only = only
        self.tried = 0

    async def remove(self, name: str) -> None:
        if self.only not in {None, name}:
            await super().remove(name)
            return
        self.tried += 1
        self.trouble = f"{name} is busy"
        try:
            self._fail()
        finally:
            self.trouble = ""


async def test_a_host_in_trouble_is_told_of_once_and_when_it_is_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    scene = Scene()
    scene.directories.trouble = "hung mount"
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        assert caplog.messages == ["soft files not tidied"]

        scene.directories.trouble = ""
        await asyncio.sleep(60)
        assert caplog.messages == ["soft files not tidied", "soft files tidied again"]


# --- registry files -------------------------------------------------------------------------


async def test_a_registry_of_another_size_goes_while_nobody_has_its_npu() -> None:
    """The library maps it without looking, and containers would die of it."""
    scene = Scene()
    scene.use(2)
    scene.registries.files |= {
        PhyId(0): OTHER_SIZE,
        PhyId(1): REGISTRY_BYTES,
        PhyId(2): OTHER_SIZE,
    }
    async with running(scene.flow.run):
        assert scene.registries.files == {1: REGISTRY_BYTES, 2: OTHER_SIZE}


async def test_a_registry_that_resists_keeps_no_other_from_going(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.registries.files |= {PhyId(npu): 0 for npu in range(3)}
    scene.registries.stuck.add(PhyId(0))
    async with running(scene.flow.run):
        assert scene.registries.files == {0: 0}
        assert caplog.messages == ["soft files not tidied"]


async def test_registries_are_looked_at_every_ten_minutes() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        scene.registries.files[PhyId(0)] = OTHER_SIZE
        await asyncio.sleep(599)
        assert scene.registries.files

        await asyncio.sleep(2)
        assert not scene.registries.files


async def test_in_hard_mode_registries_are_left_alone() -> None:
    scene = Scene()
    scene.put_hami(HARD)
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with running(scene.flow.run):
        await asyncio.sleep(1000)
        assert scene.registries.files

        scene.put_hami(SOFT)
        await settle()
        assert not scene.registries.files


async def test_while_the_watch_is_broken_no_registry_goes() -> None:
    """A pod may have been bound meanwhile."""
    scene = Scene(live=False)
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with running(scene.flow.run):
        await asyncio.sleep(1000)
        assert scene.registries.files

        scene.show(pod("a"))
        await settle()
        assert not scene.registries.files


async def test_of_an_npu_that_joins_late_the_registry_waits_until_it_is_known_who_has_it() -> None:
    """After an upgrade pods still run with the older library, on a card that answers last."""
    scene = Scene()
    scene.use(1)
    scene.put_node(node_view(1))
    scene.registries.files |= {PhyId(npu): OTHER_SIZE for npu in range(3)}
    async with running(scene.flow.run):
        assert scene.registries.files == {1: OTHER_SIZE, 2: OTHER_SIZE}

        scene.put_node(node_view(3))
        await settle()
        assert scene.registries.files == {1: OTHER_SIZE}


async def test_the_registry_of_a_hidden_npu_is_none_of_ours() -> None:
    """CF-8: a container may have it since before, or another plugin may give it out."""
    scene = Scene()
    scene.registries.files[PhyId(3)] = OTHER_SIZE
    async with running(scene.flow.run):
        await asyncio.sleep(1000)
        assert scene.registries.files


async def test_registries_of_npus_that_there_are_not_are_nobodys_business() -> None:
    """A container made a hundred thousand of them: nine thousand went in a second, each logged."""
    scene = Scene()
    others = {PhyId(npu): 0 for npu in range(3, 20_000)}
    scene.registries.files |= {PhyId(0): OTHER_SIZE, **others}
    async with running(scene.flow.run):
        assert scene.registries.files == others


async def test_a_pod_from_before_the_word_was_changed_has_its_npu_still() -> None:
    scene = Scene()
    scene.use(0, word="Ascend910B")
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with running(scene.flow.run):
        assert scene.registries.files


async def test_no_registry_goes_while_an_allocate_runs() -> None:
    scene = Scene()
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with scene.turn, running(scene.flow.run):
        assert scene.registries.files

        scene.use(0)
        scene.turn.release()
        await settle()
        assert scene.registries.files, "a container has that NPU by now"
        await scene.turn.acquire()


async def test_a_watch_that_breaks_while_an_allocate_runs_leaves_the_registry() -> None:
    """That Allocate may be of a pod which no watch has shown: it was looked up live."""
    scene = Scene()
    scene.registries.files[PhyId(0)] = OTHER_SIZE
    async with scene.turn, running(scene.flow.run):
        scene.show(pod("a"), live=False)
        scene.turn.release()
        await settle()
        assert scene.registries.files

        scene.show(pod("a"))
        await settle()
        assert not scene.registries.files
        await scene.turn.acquire()


async def test_registries_in_trouble_do_not_keep_directories_from_going(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.registries.trouble = "hung mount"
    await scene.directories.make(DIRECTORY)
    async with running(scene.flow.run):
        await asyncio.sleep(130)
        scene.show()
        await settle()

        assert scene.directories.removed == [DIRECTORY]
        assert caplog.messages == ["soft files not tidied"]
