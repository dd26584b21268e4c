"""Nodes among which a pod's is chosen; ``test_scheduler`` has what follows."""

import pytest

from ascend_agent.sim.hami.choose import Chooser
from ascend_agent.sim.hami.client import Cache
from ascend_agent.sim.hami.fit import Unfit
from ascend_agent.sim.hami.registry import NodeRegistry
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.ways import Ways
from tests.sim.hami.pods import B3, container, pod
from tests.sim.hami.stage import WORD, clock, reported


def chosen(*items: dict[str, object], version: str = "volcano", soft: bool = False) -> str:
    """Return the node of a pod, or why there is none; without a handshake lists count at once."""
    ways = Ways(version=VERSIONS[version], soft=soft)
    nodes, pods = Cache(), Cache()
    nodes.listed(list(items))
    registry = NodeRegistry(
        None,  # type: ignore[arg-type]
        chips=[B3],
        version=VERSIONS["volcano"],
        now=clock,
        tell=lambda _: None,
    )
    for item in items:
        registry.hear(item)
    one = Chooser(chips=[B3], ways=ways, nodes=nodes, pods=pods, registry=registry)
    found = one.choose(pod(container(count=1, memory=16384), soft=soft))
    return found.reason if isinstance(found, Unfit) else found.node


def node(name: str, *, offered: int = 8, soft: str = "false") -> dict[str, object]:
    return {
        "metadata": {"name": name, "annotations": {**reported(), "hami-vnpu-core": soft}},
        "status": {"allocatable": {f"huawei.com/{WORD}": str(offered)}},
    }


def test_without_nodes_there_is_none() -> None:
    assert chosen() == "there is no node"


def test_volcano_wants_the_kubelet_to_offer_some() -> None:
    assert chosen(node("a", offered=0), node("b")) == "b"
    assert chosen(node("a", offered=0)) == "a: node unregistered"
    assert chosen(node("a", offered=0), version="2.10") == "a"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("true", "a"),
        ("false", "a: 2/2 ModeNotFit"),
    ],
)
def test_what_a_node_says_of_its_mode_wins_over_the_switch(said: str, found: str) -> None:
    assert chosen(node("a", soft=said), version="2.10", soft=True) == found
