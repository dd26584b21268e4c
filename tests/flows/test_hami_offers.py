"""What the kubelet is offered follows the configuration, and both sides ask the same place."""

import dataclasses

from ascend_agent.bus import Bus
from ascend_agent.chips import ascend910b
from ascend_agent.dialects import load_dialect
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import Pods
from ascend_agent.slicing.by_die import MODE
from tests.fakes.hami import CHIP_310P, CHIP_910B3, NODE, die, node, node_view, npu_view, pod, state


def _offers(bus: Bus) -> HamiOffers:
    return HamiOffers(
        word=CHIP_910B3.word,
        resource=CHIP_910B3.resource,
        dialect=load_dialect("hami"),
        mode=MODE,
        node_name=NODE,
        bus=bus,
        specs=lambda _: ascend910b.SPEC,
    )


def _ids(offers: HamiOffers, view: NodeView) -> list[str]:
    return [device for group in offers.groups(view) for device in group.devices]


def test_each_npu_is_offered_so_often_under_the_serial_of_its_die() -> None:
    bus = Bus([])
    put = bus.hami.claim("test").put
    put(state(shares=2))
    offers, view = _offers(bus), node_view(2, sick=[1])

    assert _ids(offers, view) == [f"{die(0)}-0", f"{die(0)}-1", f"{die(1)}-0", f"{die(1)}-1"]
    assert [group.healthy for group in offers.groups(view)] == [True, False]
    assert {group.numa for group in offers.groups(view)} == {None}

    put(state(shares=1))
    assert _ids(offers, view) == [f"{die(0)}-0", f"{die(1)}-0"]
    assert offers.changes == (bus.hami,)


def test_an_npu_of_another_chip_is_not_offered() -> None:
    bus = Bus([])
    bus.hami.claim("test").put(state(shares=1))
    mixed = NodeView(generation=1, npus=(npu_view(0), npu_view(1, chip="910B2")))

    assert _ids(_offers(bus), mixed) == [f"{die(0)}-0"]


def test_nothing_is_offered_while_another_word_is_configured() -> None:
    """Whoever serves this one is made anew then."""
    bus = Bus([])
    put = bus.hami.claim("test").put
    offers = _offers(bus)

    assert offers.views(node_view()) == ()
    put(state(CHIP_310P))
    assert offers.views(node_view(chip="310P3")) == ()
    renamed = dataclasses.replace(CHIP_910B3, word="Ascend910B")
    put(state(renamed))
    assert offers.views(node_view()) == ()
    put(state())
    assert len(offers.views(node_view())) == 8


def test_a_decision_rests_on_what_the_watches_show() -> None:
    bus = Bus([])
    bus.hami.claim("test").put(state())
    offers, view = _offers(bus), node_view()

    early = offers.world(view, Millis(7))
    bus.own_node.claim("test").put(node())
    bus.pods.claim("test").put(Pods(pods=(pod("p1", ";"),), live=True))
    late = offers.world(view, Millis(8))

    assert early.facts is not None
    assert late.facts is not None
    assert (early.facts.known, early.facts.node) == (False, None)
    assert (late.facts.known, late.facts.node) == (True, node())
    assert late.facts.pods == (pod("p1", ";"),)
    assert late.hami == state()
    assert late.groups == offers.groups(view)
