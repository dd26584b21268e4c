"""Who holds which NPU, as PodResources says; unknown never becomes "nobody"."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascend_agent.bus import Bus
from ascend_agent.dialects import plain
from ascend_agent.errors import KubeletGoneError
from ascend_agent.flows.follow_allocations import FollowAllocations
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.model.allocation import Holder
from ascend_agent.model.ids import Millis, PhyId, PluginDeviceId, ResourceName
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.pods import PodKey, PodPhase, Pods
from ascend_agent.model.world import SharePolicy
from ascend_agent.runtime.clock import Clock
from ascend_agent.slicing import whole
from tests.fakes.cluster import pod, watched
from tests.fakes.npus import node_view
from tests.fakes.running import running, settle
from tests.fakes.specs import spec_of

RESOURCE = ResourceName("huawei.com/Ascend910")
HOLDER = Holder(namespace="default", pod="train-0", container="main")


class _PodResources:
    def __init__(self) -> None:
        self.held: dict[ResourceName, dict[PluginDeviceId, Holder]] = {}
        self.gone = False
        self.reads = 0
        self.closed = False

    async def read_holders(self) -> Mapping[ResourceName, Mapping[PluginDeviceId, Holder]]:
        self.reads += 1
        if self.gone:
            raise KubeletGoneError("nobody answers")
        return self.held

    async def read_listed(self, resource: ResourceName) -> Mapping[PodKey, frozenset[str]]:
        raise AssertionError(f"nobody asked for the pods with {resource}")

    def close(self) -> None:
        self.closed = True


def _flow(bus: Bus, pods: _PodResources) -> FollowAllocations:
    offers = ResourceOffers(
        word="Ascend910",
        resource=RESOURCE,
        dialect=plain.DIALECT,
        mode=whole.MODE,
        shares=1,
        share_policy=SharePolicy.SPREAD,
        spec_of=spec_of,
    )
    return FollowAllocations(
        pod_resources=pods,
        dialect=plain.DIALECT,
        offers=lambda: [offers],
        bus=bus,
        allocations=bus.allocations.claim("follow-allocations"),
        clock=Clock(),
    )


async def test_holders_appear_soon_after_an_allocate_and_go_with_their_pod() -> None:
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    served = bus.served.claim("test")

    async with running(_flow(bus, pods).run):
        served.publish(
            AllocateServed(
                resource=RESOURCE, npus=(PhyId(3),), took_s=0.0, refusal="", at_ms=Millis(0)
            )
        )
        await asyncio.sleep(0.4)  # the kubelet books a device only when the pod is admitted
        pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}
        await asyncio.sleep(0.2)
        assert bus.allocations.value is not None
        assert dict(bus.allocations.value.holders) == {3: (HOLDER,)}

        pods.held = {}
        await asyncio.sleep(10)
        assert dict(bus.allocations.value.holders) == {}
        assert bus.allocations.value.known


async def test_a_kubelet_that_is_gone_leaves_the_last_account_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OB-2: when it begins and when it ends."""
    caplog.set_level(logging.INFO)
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}

    async with running(_flow(bus, pods).run):
        pods.gone = True
        await asyncio.sleep(55)
        assert pods.reads > 4
        assert bus.allocations.value is not None
        assert dict(bus.allocations.value.holders) == {3: (HOLDER,)}
        pods.gone = False
        await asyncio.sleep(30)

    assert [record.getMessage() for record in caplog.records] == [
        "pod resources not readable",
        "pod resources readable again",
    ]


async def test_its_connection_ends_with_it() -> None:
    """Found by running the whole agent: the connection outlived the drain."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())

    async with running(_flow(bus, pods).run):
        pass

    assert pods.closed


def _holders(bus: Bus) -> dict[PhyId, tuple[Holder, ...]]:
    assert bus.allocations.value is not None
    return dict(bus.allocations.value.holders)


@pytest.mark.parametrize("phase", [PodPhase.SUCCEEDED, PodPhase.FAILED])
async def test_a_pod_that_has_finished_holds_nothing_though_the_kubelet_lists_it(
    phase: PodPhase,
) -> None:
    """Up to Kubernetes 1.33, until its object is gone; the kubelet is not asked for that."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    other = Holder(namespace="other", pod="train-0", container="main")
    pods.held = {
        RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER, PluginDeviceId("Ascend910-4"): other}
    }
    shown = bus.pods.claim("test")
    shown.put(Pods(pods=(pod("train-0"),), live=True))

    async with running(_flow(bus, pods).run):
        assert _holders(bus) == {3: (HOLDER,), 4: (other,)}
        shown.put(Pods(pods=(pod("train-0", phase),), live=True))
        await settle()
        assert _holders(bus) == {4: (other,)}
        assert pods.reads == 1

        # The same name again: a stateful set's next pod.
        shown.put(Pods(pods=(pod("train-0", PodPhase.PENDING),), live=True))
        await settle()
        assert _holders(bus) == {3: (HOLDER,), 4: (other,)}


async def test_one_pods_update_has_only_that_pod_looked_at() -> None:
    """A fault waits for whatever is done of hundreds of pods."""
    bus, kubelet = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods, asked = watched(*(pod(f"p{number}") for number in range(50)))
    shown = bus.pods.claim("test")
    shown.put(Pods(pods=pods, live=True))

    async with running(_flow(bus, kubelet).run):
        asked.clear()
        newer = replace(pods[7], labels={"a": "b"})
        shown.put(Pods(pods=(*pods[:7], newer, *pods[8:]), live=True))
        await settle()

    assert set(asked) == {newer.key}


async def test_a_pod_last_seen_as_finished_proves_nothing() -> None:
    """While the watch is broken another pod of that name may run."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}
    bus.pods.claim("test").put(Pods(pods=(pod("train-0", PodPhase.FAILED),), live=False))

    async with running(_flow(bus, pods).run):
        assert _holders(bus) == {3: (HOLDER,)}


async def test_pods_that_come_and_go_do_not_hold_up_the_next_look() -> None:
    """The kubelet is asked every ten seconds, however busy the node."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    shown = bus.pods.claim("test")

    async with running(_flow(bus, pods).run):
        for number in range(61):
            shown.put(Pods(pods=(pod(f"p{number}"),), live=True))
            await asyncio.sleep(0.5)

    assert pods.reads == 4


async def test_pods_alone_say_nothing_of_who_holds_what() -> None:
    """Until the kubelet was heard nothing is known, which is not the same as nobody."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.gone = True
    shown = bus.pods.claim("test")

    async with running(_flow(bus, pods).run):
        shown.put(Pods(pods=(pod("train-0"),), live=True))
        await settle()
        assert bus.allocations.value is None


async def test_more_allocates_than_can_be_queued_are_a_reason_to_look() -> None:
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    served = bus.served.claim("test")
    one = AllocateServed(resource=RESOURCE, npus=(), took_s=0.0, refusal="", at_ms=Millis(0))

    async with running(_flow(bus, pods).run):
        for _ in range(bus.served.depth + 1):
            served.publish(one)
        await asyncio.sleep(0.6)
        assert pods.reads == 2


async def test_a_holder_that_is_no_more_is_a_reason_to_look() -> None:
    """W12: what a deleted pod held is free within a second, not ten. Others are none."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}
    shown = bus.pods.claim("test")
    shown.put(Pods(pods=(pod("train-0"), pod("web")), live=True))

    async with running(_flow(bus, pods).run):
        shown.put(Pods(pods=(pod("train-0"),), live=True))
        await asyncio.sleep(1)
        assert pods.reads == 1
        pods.held = {}
        shown.put(Pods(pods=(), live=True))
        await asyncio.sleep(0.6)

        assert _holders(bus) == {}


async def test_pods_of_a_watch_that_is_broken_are_not_missed() -> None:
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}
    shown = bus.pods.claim("test")

    async with running(_flow(bus, pods).run):
        shown.put(Pods(pods=(), live=False))
        await asyncio.sleep(1)
        assert pods.reads == 1


async def test_an_npu_left_to_its_containers_is_looked_at_every_second() -> None:
    """W12: it closes as soon as its pod has ended, also where no API server says so."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    view = node_view()
    closing = replace(view.npus[3], kept=frozenset({0}))
    bus.node.claim("test").put(replace(view, npus=(closing,)))
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}

    async with running(_flow(bus, pods).run):
        await asyncio.sleep(5.5)
        assert pods.reads == 6


async def test_the_shares_of_an_npu_are_told_apart() -> None:
    """Held shares of an NPU that takes no more containers stay fit; the others do not."""
    bus, pods = Bus([RESOURCE]), _PodResources()
    bus.node.claim("test").put(node_view())
    pods.held = {RESOURCE: {PluginDeviceId("Ascend910-3"): HOLDER}}

    async with running(_flow(bus, pods).run):
        assert bus.allocations.value is not None
        assert dict(bus.allocations.value.shares) == {3: {0}}
        pods.gone = True
        await asyncio.sleep(60)
        assert dict(bus.allocations.value.shares) == {3: {0}}
