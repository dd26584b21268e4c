"""Read and written with Google's messages on the other side, so that no mistake is shared."""

import subprocess
import sys

import pytest

from ascend_agent._generated.deviceplugin import v1beta1 as generated
from ascend_agent.errors import BadMessageError
from ascend_agent.kubelet import codec
from ascend_agent.kubelet.wire import format_field
from ascend_agent.model.allocation import (
    AllocationRequest,
    ContainerGrant,
    DeviceNode,
    Holder,
    HostMount,
    PreferenceRequest,
)
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from tests.kubelet.fakes import RESOURCE, group
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google
from tests.peer._generated.podresources.v1 import api_pb2 as pods_v1
from tests.peer._generated.podresources.v1alpha1 import api_pb2 as pods_v1alpha1


def ids(*texts: str) -> tuple[PluginDeviceId, ...]:
    return tuple(PluginDeviceId(text) for text in texts)


def allocate_request(*containers: list[str]) -> bytes:
    request = google.AllocateRequest()
    for devices in containers:
        request.container_requests.add(devices_ids=devices)
    body: bytes = request.SerializeToString()
    return body


# --- what the kubelet asks -------------------------------------------------------------------


def test_an_allocate_has_one_request_a_container_in_order() -> None:
    body = allocate_request(["Ascend910-3", "Ascend910-1"], [], ["Ascend910-0"])

    assert codec.parse_allocate(body, resource=RESOURCE) == tuple(
        AllocationRequest(resource=RESOURCE, devices=devices)
        for devices in (ids("Ascend910-3", "Ascend910-1"), (), ids("Ascend910-0"))
    )


def test_a_preference_names_what_is_free_what_must_be_and_how_many() -> None:
    request = google.PreferredAllocationRequest()
    request.container_requests.add(
        available_deviceIDs=["a", "b"], must_include_deviceIDs=["b"], allocation_size=2
    )

    (parsed,) = codec.parse_preferences(request.SerializeToString(), resource=RESOURCE)

    assert parsed == PreferenceRequest(
        resource=RESOURCE, available=ids("a", "b"), must_include=ids("b"), size=2
    )


def test_a_prestart_names_its_devices() -> None:
    body = google.PreStartContainerRequest(devices_ids=["a", "b"]).SerializeToString()

    assert codec.parse_prestart(body) == ids("a", "b")


def test_a_question_about_all_shares_of_a_big_node_is_read() -> None:
    """6,400 devices: 64 NPUs of 100 shares."""
    request = google.PreferredAllocationRequest()
    names = [f"Ascend910-{npu}-{share}" for npu in range(64) for share in range(100)]
    request.container_requests.add(available_deviceIDs=names, allocation_size=800)

    (parsed,) = codec.parse_preferences(request.SerializeToString(), resource=RESOURCE)

    assert parsed.available == ids(*names)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "0 container requests in one call, not 1 to 1000: change the pod"),
        (allocate_request(*[["a"]] * 1001), "1001 container requests"),
        (allocate_request(["a"] * 801), "one container, 800 are the most: lower its limits"),
        (allocate_request(["x" * 64]), "64 characters, not 1 to 63: none of this agent's is like"),
        (allocate_request(["x" * 10_000]), f"device id '{'x' * 77}...' has 10000 characters"),
        (allocate_request(["a", ""]), "'' has 0 characters"),
        (bytes.fromhex("0a030a0561"), "malformed protobuf: field 1 claims 5 bytes, 1 are left"),
        (bytes.fromhex("0a020801"), "malformed protobuf: field 1 is no text"),
        (bytes.fromhex("0a040a02c328"), "malformed protobuf: field 1 is no UTF-8"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_an_allocate_beyond_our_bounds_is_refused(body: bytes, text: str) -> None:
    """Texts go into the pod's event: they name the limit and are cut at 80 characters."""
    with pytest.raises(BadMessageError) as refused:
        codec.parse_allocate(body, resource=RESOURCE)

    assert text in str(refused.value)


def test_the_largest_allowed_allocate_is_read() -> None:
    (parsed,) = codec.parse_allocate(allocate_request(["x" * 63] * 800), resource=RESOURCE)

    assert len(parsed.devices) == 800


@pytest.mark.parametrize("size", [-1, 801, 2**31 - 1, -(2**31)])
def test_a_preference_for_an_absurd_number_is_refused(size: int) -> None:
    request = google.PreferredAllocationRequest()
    request.container_requests.add(available_deviceIDs=["a"], allocation_size=size)

    with pytest.raises(BadMessageError, match="is not 0 to 800"):
        codec.parse_preferences(request.SerializeToString(), resource=RESOURCE)


# --- what we answer --------------------------------------------------------------------------


def test_a_registration_carries_version_endpoint_resource_and_options() -> None:
    body = codec.format_registration(endpoint="Ascend910.sock", resource=RESOURCE)

    assert google.RegisterRequest.FromString(body) == google.RegisterRequest(
        version="v1beta1",
        endpoint="Ascend910.sock",
        resource_name="huawei.com/Ascend910",
        options=google.DevicePluginOptions(get_preferred_allocation_available=True),
    )


def test_the_options_offer_preferences_and_no_call_before_a_start() -> None:
    options = google.DevicePluginOptions.FromString(codec.format_options())

    assert options.get_preferred_allocation_available
    assert not options.pre_start_required


def test_a_grant_is_written_completely_and_without_annotations() -> None:
    grant = ContainerGrant(
        envs={"ASCEND_VISIBLE_DEVICES": "0,3"},
        nodes=(DeviceNode(host_path="/dev/a", container_path="/dev/b", permissions="rw"),),
        mounts=(HostMount(host_path="/h", container_path="/c", read_only=True),),
        cdi_devices=("ascend-agent/npu=3",),
    )

    answer = google.AllocateResponse.FromString(codec.format_grants([grant, ContainerGrant()]))

    full = google.ContainerAllocateResponse(
        envs={"ASCEND_VISIBLE_DEVICES": "0,3"},
        mounts=[google.Mount(container_path="/c", host_path="/h", read_only=True)],
        devices=[google.DeviceSpec(container_path="/dev/b", host_path="/dev/a", permissions="rw")],
        cdi_devices=[google.CDIDevice(name="ascend-agent/npu=3")],
    )
    assert list(answer.container_responses) == [full, google.ContainerAllocateResponse()]


def test_equal_grants_are_equal_bytes() -> None:
    """A map has no order of its own; a repeated Allocate shall not look like another answer."""
    one, other = {"B": "2", "A": "1"}, {"A": "1", "B": "2"}

    first, second = (codec.format_grants([ContainerGrant(envs=envs)]) for envs in (one, other))

    assert first == second
    assert first.index(b"A") < first.index(b"B")


def test_choices_keep_their_order() -> None:
    body = codec.format_choices([ids("b", "a"), ()])

    answer = google.PreferredAllocationResponse.FromString(body)

    assert [list(one.deviceIDs) for one in answer.container_responses] == [["b", "a"], []]


def devices(*groups: bytes) -> list[google.Device]:
    return list(google.ListAndWatchResponse.FromString(b"".join(groups)).devices)


def test_a_whole_npu_is_one_device() -> None:
    (device,) = devices(codec.format_group(group(7)))

    assert (device.ID, device.health) == ("Ascend910-7", "Healthy")
    assert not device.HasField("topology")


def test_a_shared_npu_is_one_device_a_share() -> None:
    listed = devices(codec.format_group(group(2, shares=100, healthy=False, numa=3)))

    assert [device.ID for device in listed] == [f"Ascend910-2-{share}" for share in range(100)]
    assert {device.health for device in listed} == {"Unhealthy"}
    assert {node.ID for device in listed for node in device.topology.nodes} == {3}


def test_of_an_npu_that_closes_the_kept_shares_alone_are_healthy() -> None:
    """Four shares, one held: one healthy, three not."""
    listed = devices(codec.format_group(group(0, shares=4, kept={2}, numa=1)))

    assert [device.health for device in listed] == [
        "Unhealthy",
        "Unhealthy",
        "Healthy",
        "Unhealthy",
    ]
    assert {node.ID for device in listed for node in device.topology.nodes} == {1}


def test_a_whole_npu_that_closes_is_healthy_while_it_is_held() -> None:
    held, free = devices(
        codec.format_group(group(0, kept={0})), codec.format_group(group(1, kept=()))
    )

    assert (held.health, free.health) == ("Healthy", "Unhealthy")


def test_numa_node_0_is_told() -> None:
    """Zero is the default of protobuf: older generators lost the node on the way."""
    (device,) = devices(codec.format_group(group(0, numa=0)))

    assert [node.ID for node in device.topology.nodes] == [0]


def test_a_group_is_encoded_as_the_generated_classes_would() -> None:
    listed = [
        generated.Device(
            id=f"Ascend910-1-{share}",
            health="Healthy",
            topology=generated.TopologyInfo(nodes=[generated.NumaNode(id=1)]),
        )
        for share in range(3)
    ]

    assert codec.format_group(group(1, shares=3, numa=1)) == bytes(
        generated.ListAndWatchResponse(devices=listed)
    )


# --- what the kubelet says about pods --------------------------------------------------------


def list_response(*, v1: bool) -> bytes:
    answer = pods_v1.ListPodResourcesResponse()
    pod = answer.pod_resources.add(name="train-0", namespace="team-a", cpu_ids=[1, 2])
    pod.containers.add(name="main", cpu_ids=[1, 2]).devices.add(
        resource_name=RESOURCE, device_ids=["Ascend910-0", "Ascend910-1"]
    )
    pod.containers.add(name="side").devices.add(resource_name="x/y", device_ids=["z"])
    answer.pod_resources.add(name="web-0", namespace="team-b").containers.add(name="web")
    body: bytes = answer.SerializeToString()
    if not v1:
        old = pods_v1alpha1.ListPodResourcesResponse.FromString(body)
        old.DiscardUnknownFields()
        body = old.SerializeToString()
    return body


@pytest.mark.parametrize("v1", [True, False], ids=["v1", "v1alpha1"])
def test_pods_are_split_and_read_in_both_versions(v1: bool) -> None:  # noqa: FBT001 -- the case
    first, second = codec.split_pods(list_response(v1=v1))

    holder = Holder(namespace="team-a", pod="train-0", container="main")
    assert codec.parse_pod(first) == (
        (RESOURCE, PluginDeviceId("Ascend910-0"), holder),
        (RESOURCE, PluginDeviceId("Ascend910-1"), holder),
        (
            ResourceName("x/y"),
            PluginDeviceId("z"),
            Holder(namespace="team-a", pod="train-0", container="side"),
        ),
    )
    assert codec.parse_pod(second) == ()


def test_unknown_fields_beside_the_pods_are_passed_over() -> None:
    body = format_field(9, b"new") + format_field(1, b"")

    assert list(codec.split_pods(body)) == [b""]


def test_a_pod_that_is_no_message_is_refused() -> None:
    with pytest.raises(BadMessageError, match="a pod is no message"):
        list(codec.split_pods(b"\x08\x01"))
    with pytest.raises(BadMessageError, match="field 1 claims 9 bytes"):
        codec.parse_pod(b"\x0a\x09a")


def test_more_pods_than_any_node_runs_are_refused() -> None:
    with pytest.raises(BadMessageError, match="more than 10000 pods"):
        list(codec.split_pods(format_field(1, b"") * 10_001))


def test_the_request_for_pods_is_empty() -> None:
    assert pods_v1.ListPodResourcesRequest.FromString(codec.LIST_REQUEST) is not None
    assert codec.LIST_REQUEST == b""


@pytest.mark.peer
def test_the_first_message_of_a_process_loads_nothing() -> None:
    """Betterproto2 imports a part of pydantic then, 0.2 s on the loop while registering."""
    script = (
        "import sys\n"
        "from ascend_agent.kubelet import codec\n"
        "before = set(sys.modules)\n"
        "codec.format_registration(endpoint='a.sock', resource='huawei.com/a')\n"
        "codec.parse_allocate(bytes.fromhex('0a030a0161'), resource='huawei.com/a')\n"
        "codec.format_grants([])\n"
        "print(sorted(set(sys.modules) - before))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=25
    )

    assert done.stdout == "[]\n"
