"""What pods have of an NPU is kept by NPU, and told where it changed."""

from ascend_agent.flows.by_npu import ByNpu
from ascend_agent.model.ids import PhyId
from ascend_agent.model.pods import PodKey


def _key(name: str) -> PodKey:
    return PodKey(namespace="default", name=name)


def test_the_parts_of_an_npu_are_ordered_by_pod() -> None:
    parts: ByNpu[str] = ByNpu()
    parts.put(_key("b"), {PhyId(0): "b0", PhyId(1): "b1"})
    parts.put(PodKey(namespace="a", name="z"), {PhyId(0): "z0"})
    parts.put(_key("a"), {PhyId(0): "a0"})

    assert parts.of(PhyId(0)) == ["z0", "a0", "b0"]
    assert parts.of(PhyId(1)) == ["b1"]
    assert parts.of(PhyId(2)) == []


def test_only_what_is_other_than_before_is_told() -> None:
    parts: ByNpu[str] = ByNpu()

    assert parts.put(_key("a"), {PhyId(0): "x", PhyId(1): "y"}) == {0, 1}
    assert parts.put(_key("a"), {PhyId(0): "x", PhyId(1): "z"}) == {1}
    assert parts.put(_key("a"), {PhyId(1): "z", PhyId(2): "w"}) == {0, 2}
    assert parts.put(_key("a"), {PhyId(1): "z", PhyId(2): "w"}) == set()
    assert parts.put(_key("a"), {}) == {1, 2}
    assert parts.put(_key("a"), {}) == set()
    assert [parts.of(PhyId(phy)) for phy in range(3)] == [[], [], []]
