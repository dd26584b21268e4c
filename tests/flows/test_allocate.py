"""Allocate gives what exists, refuses with the reason, and ends within its deadline."""

import asyncio
import logging
from collections.abc import Sequence

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.dialects import plain
from ascend_agent.errors import AllocationError, DriverError, HostError
from ascend_agent.flows.allocate import Allocate
from ascend_agent.flows.answer import Answer
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.held_npus import HeldNpus
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.injection import devnodes, runtime
from ascend_agent.interfaces import HostFiles, Injection, SchedulerDialect
from ascend_agent.model.allocation import AllocationRequest, Allocations, Holder, PreferenceRequest
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import (
    Millis,
    ObjectVersion,
    PhyId,
    PluginDeviceId,
    PodUid,
    ResourceName,
)
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.pods import Pod, PodKey, PodPhase, Pods
from ascend_agent.model.slices import WholeSlice
from ascend_agent.model.world import SharePolicy, World
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.slicing import shared, whole
from tests.fakes.holders import FakeOwners, FakeUsage
from tests.fakes.host import FakeHost
from tests.fakes.npus import node_view
from tests.fakes.running import settle
from tests.fakes.specs import spec_of

RESOURCE = ResourceName("huawei.com/Ascend910")
_ALL_NODES = ("/dev/davinci_manager", *(f"/dev/davinci{phy}" for phy in range(8)))


class _HungHost(FakeHost):
    """A host whose file system does not answer before it is let go."""

    def __init__(self) -> None:
        super().__init__(*_ALL_NODES)
        self.answers = asyncio.Event()

    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        await self.answers.wait()
        return await super().existing(paths)


def _allocate(
    bus: Bus,
    *,
    view: NodeView | None = None,
    shares: int = 1,
    injection: Injection = runtime.INJECTION,
    host: HostFiles | None = None,
    held: HeldNpus | None = None,
    dialect: SchedulerDialect = plain.DIALECT,
) -> Allocate:
    if view is not None:
        bus.node.claim("test").put(view)
    offers = ResourceOffers(
        word="Ascend910",
        resource=RESOURCE,
        dialect=dialect,
        mode=whole.MODE if shares == 1 else shared.MODE,
        shares=shares,
        share_policy=SharePolicy.SPREAD,
        spec_of=spec_of,
    )
    clock = Clock()
    return Allocate(
        offers=offers,
        decide=Decide(offers=offers, bus=bus, clock=clock, reader=None),
        answer=Answer(
            offers=offers, injection=injection, host=host or FakeHost(), held=held, bus=bus
        ),
        bus=bus,
        served=bus.served.claim("allocate"),
        clock=clock,
        timeout_s=10,
        turn=asyncio.Lock(),
    )


def _asks(*ids: str) -> AllocationRequest:
    return AllocationRequest(resource=RESOURCE, devices=tuple(PluginDeviceId(text) for text in ids))


async def test_a_container_gets_its_npus_ascending() -> None:
    """AL-13: a list as '4,3' opened the wrong device."""
    allocate = _allocate(Bus([]), view=node_view())

    (grant,) = await allocate.allocate([_asks("Ascend910-4", "Ascend910-3")])

    assert grant.envs["ASCEND_VISIBLE_DEVICES"] == "3,4"
    assert grant.npus == (3, 4)


async def test_several_containers_are_answered_in_order() -> None:
    allocate = _allocate(Bus([]), view=node_view())

    first, second = await allocate.allocate([_asks("Ascend910-1"), _asks("Ascend910-0")])

    assert (first.npus, second.npus) == ((1,), (0,))


async def test_it_is_told_what_each_container_got_and_nothing_where_it_got_none() -> None:
    bus = Bus([])
    allocate = _allocate(bus, view=node_view())
    served = bus.served.subscribe(Wakeup())

    await allocate.allocate([_asks("Ascend910-1"), _asks("Ascend910-0")])
    with pytest.raises(AllocationError):
        await allocate.allocate([_asks("Ascend910-2"), _asks("Ascend910-9")])

    assert [each.slices for each in served.drain()] == [(WholeSlice(), WholeSlice()), ()]


async def test_two_shares_of_one_npu_in_one_container_are_one_device() -> None:
    allocate = _allocate(Bus([]), view=node_view(), shares=4)

    (grant,) = await allocate.allocate([_asks("Ascend910-1-0", "Ascend910-1-3")])

    assert grant.npus == (1,)


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        (["Ascend910-9"], "Ascend910-9"),
        (["Ascend910-03"], "Ascend910-03"),
        (["Ascend910-2"], "Ascend910-2"),
        (["Ascend910-1", "Ascend910-1"], "Ascend910-1"),
    ],
    ids=["unknown", "not canonical", "unhealthy", "twice"],
)
async def test_a_bad_id_is_refused_by_name_and_nothing_is_given(ids: list[str], named: str) -> None:
    """KL-10: the pod's event must say which device and why."""
    bus = Bus([])
    served = bus.served.subscribe()
    allocate = _allocate(bus, view=node_view(sick=(2,)))

    with pytest.raises(AllocationError, match=named):
        await allocate.allocate([_asks("Ascend910-0"), _asks(*ids)])

    (note,) = served.drain()
    assert note.npus == ()
    assert named in note.refusal


async def test_pre_start_checks_the_same_ids() -> None:
    allocate = _allocate(Bus([]), view=node_view(sick=(2,)))

    await allocate.check([PluginDeviceId("Ascend910-1")])
    with pytest.raises(AllocationError, match="Ascend910-2"):
        await allocate.check([PluginDeviceId("Ascend910-2")])


async def test_each_call_is_one_line_that_says_what_became_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    allocate = _allocate(Bus([]), view=node_view(sick=(2,)))

    await allocate.allocate([_asks("Ascend910-1"), _asks("Ascend910-0")])
    with pytest.raises(AllocationError) as refused:
        await allocate.allocate([_asks("Ascend910-2")])

    granted, denied = (vars(record) for record in caplog.records)
    assert (granted["msg"], granted["npus"]) == ("allocated", [1, 0])
    assert (denied["msg"], denied["why"]) == ("allocate refused", str(refused.value))
    assert granted["resource"] == denied["resource"] == RESOURCE


async def test_before_the_driver_answered_nothing_can_be_given() -> None:
    with pytest.raises(AllocationError, match="no device list yet"):
        await _allocate(Bus([])).allocate([_asks("Ascend910-0")])


async def test_the_host_is_asked_at_each_allocate() -> None:
    """IM-6: control nodes come and go; a missing one fails that Allocate with its name."""
    host = FakeHost(*_ALL_NODES)
    allocate = _allocate(Bus([]), view=node_view(), injection=devnodes.INJECTION, host=host)
    (grant,) = await allocate.allocate([_asks("Ascend910-3")])
    assert [node.host_path for node in grant.nodes] == [
        "/dev/davinci_manager",
        "/dev/davinci3",
    ]

    host.paths.remove("/dev/davinci3")
    with pytest.raises(AllocationError, match="/dev/davinci3"):
        await allocate.allocate([_asks("Ascend910-3")])


async def test_a_host_that_hangs_costs_the_deadline_and_no_more(
    looptime: LoopTimeProxy,
) -> None:
    """KL-8, AL-10: an error the pod can show, and the next caller is served."""
    host = _HungHost()
    bus = Bus([])
    served = bus.served.subscribe()
    allocate = _allocate(bus, view=node_view(), injection=devnodes.INJECTION, host=host)

    with pytest.raises(AllocationError, match="no answer within 10 s"):
        await allocate.allocate([_asks("Ascend910-3")])
    assert looptime == 10

    host.answers.set()
    await allocate.allocate([_asks("Ascend910-3")])
    assert [bool(note.refusal) for note in served.drain()] == [True, False]


async def test_parallel_calls_queue_within_their_deadline(looptime: LoopTimeProxy) -> None:
    """AL-9, AL-10: waiting counts against the deadline, and how long it was is told."""
    host = _HungHost()
    bus = Bus([])
    served = bus.served.subscribe()
    allocate = _allocate(bus, view=node_view(), injection=devnodes.INJECTION, host=host)

    results = await asyncio.gather(
        allocate.allocate([_asks("Ascend910-1")]),
        allocate.allocate([_asks("Ascend910-2")]),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [AllocationError, AllocationError]
    assert looptime == 10
    assert sorted(note.waited_s for note in served.drain()) == [0, 10]


async def test_a_call_that_had_to_wait_says_how_long() -> None:
    host = _HungHost()
    bus = Bus([])
    served = bus.served.subscribe()
    allocate = _allocate(bus, view=node_view(), injection=devnodes.INJECTION, host=host)
    asyncio.get_running_loop().call_later(2, host.answers.set)

    await asyncio.gather(
        allocate.allocate([_asks("Ascend910-1")]), allocate.allocate([_asks("Ascend910-2")])
    )

    assert [note.waited_s for note in served.drain()] == [0, 2]


async def test_a_kubelet_that_hangs_up_frees_the_turn() -> None:
    host = _HungHost()
    bus = Bus([])
    served = bus.served.subscribe()
    allocate = _allocate(bus, view=node_view(), injection=devnodes.INJECTION, host=host)

    async with asyncio.TaskGroup() as group:
        call = group.create_task(allocate.allocate([_asks("Ascend910-1")]))
        await settle()
        call.cancel()
    host.answers.set()

    (grant,) = await allocate.allocate([_asks("Ascend910-2")])
    assert grant.npus == (PhyId(2),)
    assert [note.refusal for note in served.drain()] == ["cancelled", ""]


async def test_a_preference_is_the_dialects() -> None:
    allocate = _allocate(Bus([]), view=node_view())
    ids = tuple(PluginDeviceId(f"Ascend910-{phy}") for phy in range(8))
    request = PreferenceRequest(resource=RESOURCE, available=ids, must_include=(ids[5],), size=2)

    (chosen,) = await allocate.prefer([request])

    assert len(chosen) == 2
    assert ids[5] in chosen


class _DeadHost(FakeHost):
    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        raise HostError(f"{paths[0]} could not be looked at within 2 s")


async def test_a_host_that_can_not_be_asked_is_a_refusal_with_its_reason() -> None:
    allocate = _allocate(Bus([]), view=node_view(), injection=devnodes.INJECTION, host=_DeadHost())
    with pytest.raises(AllocationError, match="could not be looked at"):
        await allocate.allocate([_asks("Ascend910-3")])


class _Unreadable(FakeHost):
    async def base_mounts(self) -> tuple[str, ...] | None:
        raise HostError("base.list could not be read")


async def test_the_host_is_asked_only_for_what_the_way_in_needs() -> None:
    """Each question costs a thread's turn, and the runtime reads the mount list itself."""
    needs_none = _allocate(Bus([]), view=node_view(), host=_Unreadable())
    needs_it = _allocate(
        Bus([]), view=node_view(), injection=devnodes.INJECTION, host=_Unreadable()
    )

    (grant,) = await needs_none.allocate([_asks("Ascend910-3")])

    assert grant.npus == (3,)
    with pytest.raises(AllocationError, match=r"base\.list"):
        await needs_it.allocate([_asks("Ascend910-3")])


POD = "0d6e2c1e-7b1f-4a57-9f5b-2c3e8a1b4d5f"


def _held(usage: FakeUsage) -> HeldNpus:
    """Return who tells of processes, where process 4711 is of a pod."""
    driver: Latest[DriverState] = Latest("driver")
    driver.claim("test").put(DriverState(phase=DriverPhase.READY))
    return HeldNpus(usage=usage, owners=FakeOwners({4711: POD}), driver=driver)


async def test_an_npu_that_another_pods_process_holds_is_refused_by_name() -> None:
    """A kubelet that lost its checkpoint offers what a running pod still uses."""
    bus = Bus([])
    served = bus.served.subscribe()
    usage = FakeUsage({3: [4711]})
    allocate = _allocate(bus, view=node_view(), held=_held(usage))

    with pytest.raises(AllocationError) as refused:
        await allocate.allocate([_asks("Ascend910-2", "Ascend910-3")])

    text = str(refused.value)
    assert text.startswith("Ascend910-3 is not free, though the kubelet takes it to be: ")
    assert f"process 4711 of the pod with uid {POD} holds NPU 3; delete that pod" in text
    assert [note.refusal for note in served.drain()] == [text]
    (grant,) = await allocate.allocate([_asks("Ascend910-2")])
    assert grant.npus == (2,)


def _pod(uid: str) -> Pod:
    return Pod(
        key=PodKey(namespace="research", name="trainer-0"),
        uid=PodUid(uid),
        version=ObjectVersion("7"),
        node=None,
        phase=PodPhase.RUNNING,
        terminating=False,
        labels={},
        annotations={},
        containers=(),
        created_at_ms=Millis(0),
    )


async def test_the_pod_in_the_way_is_named_as_well_as_it_is_known() -> None:
    bus = Bus([])
    allocate = _allocate(bus, view=node_view(), held=_held(FakeUsage({3: [4711]})))

    async def said() -> str:
        with pytest.raises(AllocationError) as refused:
            await allocate.allocate([_asks("Ascend910-3")])
        return str(refused.value)

    holder = Holder(namespace="research", pod="trainer-0", container="main")
    bus.allocations.claim("test").put(
        Allocations(known=True, holders={PhyId(2): (), PhyId(3): (holder,)})
    )
    named = f"the pod with uid {POD} (by the kubelet's last account research/trainer-0) holds"
    assert named in await said()

    pods = bus.pods.claim("test")
    pods.put(Pods(pods=(_pod("5a1f0b77-93c1-4e0e-8d7c-6b1d2f3a4c5e"),), live=True))
    assert named in await said()
    pods.put(Pods(pods=(_pod(POD),), live=True))
    assert f"of pod research/trainer-0 (uid {POD}) holds NPU 3" in await said()


async def test_what_is_not_known_of_an_npu_is_counted_and_it_is_given() -> None:
    bus = Bus([])
    served = bus.served.subscribe()
    usage = FakeUsage({3: DriverError("processes", -8005)})
    allocate = _allocate(bus, view=node_view(), held=_held(usage))

    (grant,) = await allocate.allocate([_asks("Ascend910-2", "Ascend910-3")])

    assert grant.npus == (2, 3)
    assert [note.unchecked for note in served.drain()] == [(3,)]


async def test_the_driver_is_asked_while_the_host_is(looptime: LoopTimeProxy) -> None:
    """Two questions to different sides: the slower one decides how long a pod waits."""
    host, usage = _HungHost(), FakeUsage()
    usage.answers_in_s = {3: 0.2}
    asyncio.get_running_loop().call_later(0.25, host.answers.set)
    allocate = _allocate(
        Bus([]), view=node_view(), injection=devnodes.INJECTION, host=host, held=_held(usage)
    )

    await allocate.allocate([_asks("Ascend910-3")])

    assert looptime == pytest.approx(0.25)


async def test_an_allocate_that_fails_otherwise_leaves_no_question_behind(
    looptime: LoopTimeProxy,
) -> None:
    usage = FakeUsage({3: [4711]})
    allocate = _allocate(
        Bus([]), view=node_view(), injection=devnodes.INJECTION, host=_DeadHost(), held=_held(usage)
    )

    with pytest.raises(AllocationError, match="could not be looked at"):
        await allocate.allocate([_asks("Ascend910-3")])

    assert looptime == 0


async def test_a_kubelet_that_hangs_up_leaves_no_question_behind() -> None:
    usage = FakeUsage({3: [4711]})
    allocate = _allocate(Bus([]), view=node_view(), held=_held(usage))

    async with asyncio.TaskGroup() as group:
        call = group.create_task(allocate.allocate([_asks("Ascend910-3")]))
        await asyncio.sleep(0.4)
        asked = dict(usage.asked)
        call.cancel()
    await asyncio.sleep(2)

    assert usage.asked == asked == {3: 3}


async def test_a_held_npu_is_not_recommended_again_while_there_are_others() -> None:
    """The kubelet would offer it to one pod after the other, and each would fail for good."""
    allocate = _allocate(Bus([]), view=node_view(4), held=_held(FakeUsage({0: [4711]})))
    ids = tuple(PluginDeviceId(f"Ascend910-{phy}") for phy in range(4))

    async def preferred(
        *available: PluginDeviceId, must: tuple[PluginDeviceId, ...] = (), size: int = 1
    ) -> set[str]:
        request = PreferenceRequest(
            resource=RESOURCE, available=available, must_include=must, size=size
        )
        (chosen,) = await allocate.prefer([request])
        return set(chosen)

    assert await preferred(*ids, size=4) == set(ids)
    assert await preferred(ids[0], ids[1]) == {ids[0]}
    with pytest.raises(AllocationError, match="Ascend910-0 is not free"):
        await allocate.allocate([_asks("Ascend910-0")])

    assert await preferred(ids[0], ids[1]) == {ids[1]}
    assert await preferred(*ids, size=3) == set(ids[1:])
    assert await preferred(*ids, size=4) == set(ids)  # no way around it
    assert ids[0] in await preferred(*ids, must=(ids[0],), size=2)


class _TakesAll(plain.PlainDialect):
    def prefer(self, request: PreferenceRequest, world: World) -> tuple[PluginDeviceId, ...]:
        return request.available


async def test_what_the_kubelet_must_include_is_never_kept_from_the_dialect() -> None:
    """Its list is part of what is available: a dialect may rely on that."""
    held = _held(FakeUsage({0: [4711], 1: [4711]}))
    allocate = _allocate(Bus([]), view=node_view(4), held=held, dialect=_TakesAll())
    ids = tuple(PluginDeviceId(f"Ascend910-{phy}") for phy in range(4))
    for device in ids[:2]:
        with pytest.raises(AllocationError, match="is not free"):
            await allocate.allocate([_asks(device)])

    request = PreferenceRequest(resource=RESOURCE, available=ids, must_include=ids[:1], size=2)
    assert await allocate.prefer([request]) == ((ids[0], ids[2], ids[3]),)
