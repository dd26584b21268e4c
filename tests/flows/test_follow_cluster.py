"""What the API server shows is on the bus, and a watch that ends is a failure."""

from collections.abc import AsyncIterator

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import TaskEndedError
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.interfaces import ClusterWatch
from ascend_agent.model.cluster import ApiPhase, NodeEdit
from ascend_agent.model.pods import Pods
from tests.fakes.cluster import FakeCluster, pod
from tests.fakes.running import running, settle


def _flow(bus: Bus, watch: ClusterWatch) -> FollowCluster:
    return FollowCluster(
        watch=watch,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )


async def test_each_channel_shows_what_the_server_shows() -> None:
    bus, cluster = Bus([]), FakeCluster({"zone": "a"})
    strangers = bus.foreign.subscribe()
    async with running(_flow(bus, cluster).run):
        assert bus.own_node.value == cluster.node
        assert bus.pods.value is None, "no pods is not the same as pods that are not known"
        assert bus.api.value is not None
        assert bus.api.value.phase is ApiPhase.READY

        cluster.show_pods(pod("a"))
        cluster.state(ApiPhase.UNREACHABLE, "nobody answers")
        await cluster.apply(NodeEdit(labels={"zone": "b"}, annotations={}))
        cluster.change_labels({"zone": "c"})
        await settle()

        assert bus.pods.value == Pods(pods=(pod("a"),), live=True)
        assert bus.api.value.detail == "nobody answers"
        assert bus.own_node.value.labels == {"zone": "c"}
        assert [(edit.wrote, edit.found) for edit in strangers.drain()] == [("b", "c")]


class _Ending(FakeCluster):
    """One of its streams ends."""

    def __init__(self, which: str) -> None:
        super().__init__()
        setattr(self, which, self._nothing)

    async def _nothing(self) -> AsyncIterator[None]:
        if False:
            yield


@pytest.mark.parametrize("which", ["nodes", "pods", "states", "foreign_edits"])
async def test_a_stream_that_ends_ends_the_flow_loudly(which: str) -> None:
    """Else one channel would show for ever what was true then."""
    with pytest.raises(ExceptionGroup) as caught:
        await _flow(Bus([]), _Ending(which)).run()

    assert isinstance(caught.value.exceptions[0], TaskEndedError)
