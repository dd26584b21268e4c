"""Who holds what."""

from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.sim.kubelet import DeviceState, Pod, PodBook

DEVICES = {
    PluginDeviceId("a"): DeviceState(healthy=True, numa=None),
    PluginDeviceId("b"): DeviceState(healthy=False, numa=None),
    PluginDeviceId("c"): DeviceState(healthy=True, numa=None),
}
RESOURCE = ResourceName("huawei.com/Ascend910")


def pod(resource: ResourceName = RESOURCE) -> Pod:
    return Pod(namespace="n", name="p", container="c", resource=resource, count=1)


def test_healthy_devices_nobody_holds_are_free_in_list_order() -> None:
    book = PodBook()
    assert book.free(RESOURCE, DEVICES) == ("a", "c")

    book.hold(pod(), [PluginDeviceId("a")])

    assert book.free(RESOURCE, DEVICES) == ("c",)


def test_the_same_id_of_another_resource_is_another_device() -> None:
    book = PodBook()

    book.hold(pod(ResourceName("huawei.com/npu")), [PluginDeviceId("a")])

    assert book.free(RESOURCE, DEVICES) == ("a", "c")


def test_a_released_pod_holds_nothing_and_a_second_release_says_so() -> None:
    book = PodBook()
    book.hold(pod(), [PluginDeviceId("a")])

    assert book.release(pod()) is True
    assert book.release(pod()) is False
    assert book.held == {}


def test_a_pod_is_known_by_namespace_and_name() -> None:
    assert pod().key == "n/p"
