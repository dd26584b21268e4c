import pytest

from ascend_agent._generated.deviceplugin.v1beta1 import DevicePluginBase
from ascend_agent.errors import AllocationError, BadMessageError, KubeletError
from ascend_agent.kubelet.lists import DeviceLists
from ascend_agent.kubelet.service import DevicePluginService
from ascend_agent.model.kubelet import ListSent
from ascend_agent.runtime.topic import Topic
from tests.kubelet.fakes import RESOURCE, FakeAllocator, offer
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google


def service(allocator: FakeAllocator) -> tuple[DevicePluginService, DeviceLists]:
    board = DeviceLists(resource=RESOURCE, sent=Topic[ListSent]("sent").claim("endpoint"))
    return DevicePluginService(resource=RESOURCE, allocator=allocator, lists=board), board


def allocate_request(*containers: str) -> bytes:
    request = google.AllocateRequest()
    for device in containers:
        request.container_requests.add(devices_ids=[device])
    body: bytes = request.SerializeToString()
    return body


def test_every_method_of_the_api_is_served_under_its_own_path() -> None:
    """The paths are written by hand; the generated service knows them from the proto."""
    served = service(FakeAllocator())[0].calls().__mapping__()
    expected = DevicePluginBase().__mapping__()

    assert {path: handler.cardinality for path, handler in served.items()} == {
        path: handler.cardinality for path, handler in expected.items()
    }


async def test_an_allocate_is_answered_for_all_its_containers_together() -> None:
    """All or nothing: the allocator gets the whole call, so that it can undo the whole."""
    allocator = FakeAllocator()

    body = await service(allocator)[0].allocate(allocate_request("Ascend910-0", "Ascend910-1"))

    answers = google.AllocateResponse.FromString(body).container_responses
    assert [dict(one.envs) for one in answers] == [{"IDS": "Ascend910-0"}, {"IDS": "Ascend910-1"}]
    assert len(allocator.asked) == 1


async def test_a_missing_part_of_an_answer_is_an_error() -> None:
    """The kubelet matches parts by position: a gap would hand out the wrong devices."""
    with pytest.raises(KubeletError, match="1 answers for 2 containers"):
        await service(FakeAllocator(parts=1))[0].allocate(allocate_request("a", "b"))


async def test_a_malformed_call_does_not_reach_the_allocator() -> None:
    allocator = FakeAllocator()

    with pytest.raises(BadMessageError):
        await service(allocator)[0].allocate(b"\x0a\x05a")

    assert not allocator.asked


async def test_preferences_are_asked_for_and_answered() -> None:
    request = google.PreferredAllocationRequest()
    request.container_requests.add(
        available_deviceIDs=["a", "b", "c"], must_include_deviceIDs=["c"], allocation_size=2
    )

    body = await service(FakeAllocator())[0].get_preferred_allocation(request.SerializeToString())

    (answer,) = google.PreferredAllocationResponse.FromString(body).container_responses
    assert list(answer.deviceIDs) == ["c", "a"]


async def test_a_container_starts_after_its_devices_were_checked() -> None:
    """KL-10, though we do not ask for the call."""
    allocator = FakeAllocator()
    body = google.PreStartContainerRequest(devices_ids=["Ascend910-5"]).SerializeToString()

    answer = await service(allocator)[0].pre_start_container(body)

    assert google.PreStartContainerResponse.FromString(answer) is not None
    assert allocator.checked == [("Ascend910-5",)]


async def test_a_container_does_not_start_on_an_unhealthy_npu() -> None:
    """KL-10."""
    allocator = FakeAllocator(refusal="Ascend910-5 is unhealthy: card-drop")

    with pytest.raises(AllocationError, match="card-drop"):
        await service(allocator)[0].pre_start_container(b"\x0a\x01a")


async def test_the_options_need_nobody() -> None:
    """KL-6: a plugin that answers this late is not asked again for a long time."""
    body = await service(FakeAllocator(failure=RuntimeError("busy")))[0].get_options(b"")

    assert google.DevicePluginOptions.FromString(body).get_preferred_allocation_available


async def test_the_stream_shows_the_published_list() -> None:
    served, board = service(FakeAllocator())
    board.publish(offer(1))
    stream = served.list_and_watch(b"")

    (device,) = google.ListAndWatchResponse.FromString(await anext(stream)).devices

    assert device.ID == "Ascend910-0"
    await stream.aclose()
