"""What stands between this process and serving, in words."""

import pytest

from ascend_agent.model.kubelet import InstancePhase, InstanceState


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (InstanceState(phase=InstancePhase.HOLDING), ""),
        (
            InstanceState(phase=InstancePhase.WAITING, holder="pid 7 on node-a"),
            "another instance serves this node: pid 7 on node-a",
        ),
        (
            InstanceState(phase=InstancePhase.WAITING, trouble="can't take lock /run/x"),
            "can't take lock /run/x",
        ),
    ],
)
def test_the_lock_is_an_obstacle_until_it_is_held(state: InstanceState, words: str) -> None:
    assert state.obstacle == words
