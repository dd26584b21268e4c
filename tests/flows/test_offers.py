"""Serving and Allocate see the same devices."""

from ascend_agent.dialects import plain
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.model.ids import Millis, ResourceName
from ascend_agent.model.world import SharePolicy
from ascend_agent.slicing import shared
from tests.fakes.npus import node_view
from tests.fakes.specs import spec_of


def _offers(word: str) -> ResourceOffers:
    return ResourceOffers(
        word=word,
        resource=ResourceName(f"huawei.com/{word}"),
        dialect=plain.DIALECT,
        mode=shared.MODE,
        shares=4,
        share_policy=SharePolicy.SPREAD,
        spec_of=spec_of,
    )


def test_the_list_and_the_world_hold_the_same_groups() -> None:
    offers = _offers("Ascend910")
    view = node_view(2, sick=(1,), generation=7)

    offer = offers.offer(view)

    assert offer.groups == offers.world(view, Millis(0)).groups
    assert [(g.npu, g.shares, g.healthy) for g in offer.groups] == [(0, 4, True), (1, 4, False)]
    assert offer.generation == 7


def test_npus_of_another_word_are_left_out() -> None:
    assert _offers("npu").groups(node_view()) == ()
