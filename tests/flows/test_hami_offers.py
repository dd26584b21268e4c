"""What is offered under HAMi follows the configuration, and decisions see what the watches saw."""

import dataclasses

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami import DIALECT
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, PodUid, ResourceName
from ascend_agent.model.pods import Pods
from ascend_agent.model.world import ClusterFacts
from ascend_agent.slicing.by_die import MODE
from tests.fakes.cluster import pod
from tests.fakes.hami import CHIP_310P, CHIP_910B3, NODE, node, node_view, npu_view, state
from tests.fakes.specs import spec_of


def offers(bus: Bus) -> HamiOffers:
    return HamiOffers(
        word=CHIP_910B3.word,
        resource=CHIP_910B3.resource,
        dialect=DIALECT,
        mode=MODE,
        node_name=NODE,
        bus=bus,
        specs=spec_of,
    )


def configured(found: HamiState | None) -> tuple[Bus, HamiOffers]:
    bus = Bus([])
    if found is not None:
        bus.hami.claim("test").put(found)
    return bus, offers(bus)


def test_npus_of_the_configured_chip_are_offered_as_often_as_is_configured() -> None:
    _, found = configured(state(shares=3))
    mixed = NodeView(generation=4, npus=(npu_view(0), npu_view(1, chip="310P3"), npu_view(2)))

    offer = found.offer(mixed)

    assert [(group.npu, group.shares) for group in offer.groups] == [(0, 3), (2, 3)]
    assert offer.generation == 4
    assert [view.npu.phy for view in found.views(mixed)] == [0, 2]


def test_causes_go_with_the_offer() -> None:
    """They tell how long the news of a fault took to the kubelet."""
    _, found = configured(state())
    caused = dataclasses.replace(npu_view(1), cause_ns=7)
    seen = NodeView(generation=1, npus=(npu_view(0), caused))

    assert found.offer(seen).causes == {1: 7}


def test_while_another_word_is_configured_nothing_is_offered() -> None:
    """HAMi C5: the list of the old name empties before its socket goes."""
    renamed = dataclasses.replace(CHIP_910B3, resource=ResourceName("a.b/c"))
    for other in (None, state(CHIP_310P), state(renamed), dataclasses.replace(state(), chip=None)):
        _, found = configured(other)

        assert found.views(node_view(2)) == ()
        assert found.offer(node_view(2)).groups == ()
        assert found.world(node_view(2), Millis(1)).hami is None


def test_the_configuration_is_what_an_offer_depends_on() -> None:
    bus, found = configured(state())

    assert list(found.changes) == [bus.hami]


def test_a_decision_sees_what_the_watches_saw() -> None:
    bus, found = configured(state())
    assert found.world(node_view(2), Millis(5)).facts == ClusterFacts(
        node_name=NODE, node=None, pods=(), known=False
    )
    bus.own_node.claim("test").put(node())
    bus.pods.claim("test").put(Pods(pods=(pod("a"),), live=True))

    world = found.world(node_view(2), Millis(5), served=PodUid("uid-1"))

    assert world.facts == ClusterFacts(
        node_name=NODE, node=node(), pods=(pod("a"),), known=True, served=PodUid("uid-1")
    )
    assert (world.hami, world.resource, world.now) == (state(), CHIP_910B3.resource, 5)
    assert len(world.groups) == 2


def test_the_generation_of_an_npu_is_known() -> None:
    _, found = configured(state())
    npu = npu_view(0).npu

    assert found.spec_of(npu) == spec_of(npu)
