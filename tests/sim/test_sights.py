"""What is seen of a node, its kubelet and its pods; ``test_examiner`` looks at moments of it."""

from pathlib import Path

from ascend_agent.bus import Bus
from ascend_agent.model.ids import PhyId, ResourceName
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.device_names import by_number
from ascend_agent.sim.differences import PodSight
from ascend_agent.sim.kubelet import EmbeddedKubelet
from ascend_agent.sim.sights import Sights
from tests.fakes.npus import view
from tests.sim.views import node


def kubelet() -> EmbeddedKubelet:
    return EmbeddedKubelet(plugin_dir=Path("/none"), pod_resources_socket=Path("/none/s"))


def test_without_a_view_nothing_is_seen() -> None:
    bus = Bus([ResourceName("huawei.com/Ascend910")])

    assert Sights(bus=bus, kubelet=kubelet(), npus_of=by_number(1)).see() is None


async def test_others_may_know_more_of_pods_than_the_kubelet() -> None:
    bus = Bus([ResourceName("huawei.com/Ascend910")])
    pods = {"p": PodSight(npus=(PhyId(0),), phase="Pending")}
    sights = Sights(bus=bus, kubelet=kubelet(), npus_of=by_number(1), pods=lambda: pods)
    wakeup = Wakeup()
    with sights.waking(wakeup):
        bus.node.claim("test").put(node(view(0)))
        await wakeup.wait()

    sight = sights.see()
    assert sight is not None
    assert (sight.pods, len(sight.view.npus), sight.kubelet) == (pods, 1, {})
