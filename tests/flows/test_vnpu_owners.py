"""The owners put together pod by pod are those of all pods, at the price of those that changed."""

import dataclasses
import functools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.dialects.hami.grants import claims
from ascend_agent.flows.vnpu_owners import VnpuOwners
from ascend_agent.model.hami import HamiConfig
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import ObjectVersion
from ascend_agent.model.pods import Pod, PodPhase
from ascend_agent.model.vnpu import VnpuClaims
from tests.fakes.hami import CHIP_910B3, device, info, node_view, pod

CONFIG = HamiConfig(chips=(CHIP_910B3,))
VIEW = node_view(16)
MANY = 500


class Counted:
    """Counts of how many pods it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, pods: Sequence[Pod], config: HamiConfig, view: NodeView) -> VnpuClaims:
        self.asked.append(len(pods))
        return claims(pods, config, view)


@functools.cache
def _pod(number: int, npu: int | None, *, phase: PodPhase = PodPhase.RUNNING) -> Pod:
    """Return the owner of a vNPU; None: what was granted to it can't be understood."""
    return pod(
        f"p{number:03}",
        ";",
        allocated="U,w,x,0:;" if npu is None else f"{device(npu, 16384)};",
        runtime=info((npu or 0, {"temp": "vir05_1c_16g"})),
        phase=phase,
    )


def test_one_pods_update_has_that_pod_asked_of_alone() -> None:
    """Asking of all 500 held up each fault for 12 ms."""
    counted = Counted()
    owners = VnpuOwners(counted)
    pods = [_pod(number, number % 16) for number in range(MANY)]
    assert owners.see(tuple(pods), CONFIG, VIEW) == set(range(16))
    before = owners.known
    counted.asked.clear()

    pods[7] = dataclasses.replace(pods[7], version=ObjectVersion("2"))
    assert owners.see(tuple(pods), CONFIG, VIEW) == set()
    assert counted.asked == [1]

    pods[7] = dataclasses.replace(pods[7], phase=PodPhase.FAILED)
    assert owners.see(tuple(pods), CONFIG, VIEW) == {7}
    del pods[8]
    assert owners.see(tuple(pods), CONFIG, VIEW) == {8}
    assert counted.asked == [1, 1]
    assert all(
        before.by_npu[npu.npu.phy] is owners.known.by_npu[npu.npu.phy] for npu in VIEW.npus[9:]
    )


def test_health_has_nobody_asked_of_and_other_npus_everybody() -> None:
    counted = Counted()
    owners = VnpuOwners(counted)
    pods = tuple(_pod(number, number % 16) for number in range(20))
    owners.see(pods, CONFIG, VIEW)
    counted.asked.clear()

    assert owners.see(pods, CONFIG, node_view(16, sick=[3])) == set()
    assert counted.asked == []
    assert owners.see(pods, CONFIG, node_view(4)) == set(range(4, 16))
    assert list(owners.known.by_npu) == [0, 1, 2, 3]
    assert owners.see(pods, HamiConfig(chips=()), node_view(4)) == set()
    assert sum(counted.asked) == 40


SHOWN = st.dictionaries(
    st.integers(0, 5),
    st.tuples(
        st.one_of(st.none(), st.integers(0, 2)),
        st.sampled_from([PodPhase.RUNNING, PodPhase.PENDING, PodPhase.FAILED]),
    ),
)


@settings(max_examples=40)
@given(steps=st.lists(SHOWN, min_size=1, max_size=6))
def test_after_whatever_has_happened_the_owners_are_those_of_all_pods(
    steps: list[dict[int, tuple[int | None, PodPhase]]],
) -> None:
    owners = VnpuOwners(claims)
    for shown in steps:
        pods = tuple(
            _pod(number, shown[number][0], phase=shown[number][1]) for number in sorted(shown)
        )
        before = owners.known.by_npu
        changed = owners.see(pods, CONFIG, VIEW)

        assert owners.known == claims(pods, CONFIG, VIEW)
        after = owners.known.by_npu
        assert list(after) == sorted(after)
        assert changed == {
            phy for phy in before.keys() | after if before.get(phy) != after.get(phy)
        }
