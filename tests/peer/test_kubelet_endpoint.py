"""What only an independent peer can show: gRPC's C core and the agent's endpoint agree."""

import asyncio
import time
from pathlib import Path

import pytest

from ascend_agent.errors import KubeletGoneError, RegistrationRefusedError
from ascend_agent.kubelet.endpoint import EndpointLimits, KubeletEndpoint
from ascend_agent.model.ids import NumaNode, PhyId
from ascend_agent.model.kubelet import Offer
from tests.kubelet.fakes import (
    FILE_NAME,
    FakeAllocator,
    endpoint,
    group,
    offer,
    open_descriptors,
)
from tests.peer.client import PeerError, PeerKubelet, peer_kubelet
from tests.too_slow import in_time

pytestmark = pytest.mark.peer

ALLOCATE = "/v1beta1.DevicePlugin/Allocate"
RESTARTS = 200


def resident_mib() -> float:
    """Return this process's resident memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def streams(ours: KubeletEndpoint, count: int) -> None:
    """Wait until that many streams are open."""
    async with asyncio.timeout(20):
        async for open_now in ours.streams.changes():
            if open_now == count:
                return


async def pour(ours: KubeletEndpoint, kubelet: PeerKubelet, reading: int) -> None:
    """Publish lists of 260 kB as fast as the stream *reading* takes them in."""
    for turn in range(20):
        ours.publish(offer(64, sick={turn}, shares=100, generation=turn + 2))
        await kubelet.event("list", stream=reading, total=6400)


async def test_the_kubelet_dials_back_and_gets_the_whole_list(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    await kubelet.do("serve", wipe=False)

    await ours.register()

    registered = await kubelet.event("registered")
    assert (registered["version"], registered["endpoint"]) == ("v1beta1", FILE_NAME)
    assert registered["resource"] == "huawei.com/Ascend910"
    assert (registered["pre_start"], registered["preferred"]) == (False, True)
    listed = await kubelet.event("list")
    assert (listed["total"], listed["healthy"]) == (16, 16)
    assert await kubelet.do("options", endpoint=FILE_NAME) == {
        "pre_start": False,
        "preferred": True,
    }


async def test_a_fault_and_its_recovery_reach_the_kubelet(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    await kubelet.do("dial", endpoint=FILE_NAME)
    await kubelet.event("list", healthy=16)

    ours.publish(offer(16, sick=[3], generation=2))
    assert (await kubelet.event("list", healthy=15))["unhealthy"] == ["Ascend910-3"]

    ours.publish(offer(16, generation=3))
    await kubelet.event("list", healthy=16)


async def test_numa_nodes_are_read_as_they_were_meant(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    """Node 0 must be there, and an unknown node must not."""
    groups = (group(0, numa=0), group(1, numa=1), group(2, healthy=False))
    ours.publish(Offer(groups=groups, generation=2, causes={}))

    (stream,) = (await kubelet.do("dial", endpoint=FILE_NAME))["streams"]
    await kubelet.event("list", stream=stream)

    assert (await kubelet.do("devices", stream=stream))["devices"] == [
        ["Ascend910-0", "Healthy", [0]],
        ["Ascend910-1", "Healthy", [1]],
        ["Ascend910-2", "Unhealthy", None],
    ]


async def test_a_list_of_6400_devices_arrives_complete(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    groups = tuple(group(npu, shares=100, numa=npu // 8) for npu in range(64))
    ours.publish(Offer(groups=groups, generation=2, causes={}))

    (stream,) = (await kubelet.do("dial", endpoint=FILE_NAME))["streams"]
    await kubelet.event("list", total=6400, healthy=6400)

    assert (await kubelet.do("devices", stream=stream))["devices"] == [
        [f"Ascend910-{npu}-{share}", "Healthy", [NumaNode(npu // 8)]]
        for npu in range(64)
        for share in range(100)
    ]


async def test_a_grant_arrives_complete(kubelet: PeerKubelet, ours: KubeletEndpoint) -> None:
    answer = await kubelet.do(
        "allocate", endpoint=FILE_NAME, containers=[["Ascend910-1", "Ascend910-0"], ["b"]]
    )

    empty: dict[str, object] = {"mounts": [], "devices": [], "annotations": {}, "cdi": []}
    assert answer["containers"] == [
        {"envs": {"IDS": "Ascend910-1,Ascend910-0"}, **empty},
        {"envs": {"IDS": "b"}, **empty},
    ]


async def test_preferences_and_checks_are_answered(
    kubelet: PeerKubelet, ours: KubeletEndpoint, allocator: FakeAllocator
) -> None:
    question = {"available": ["a", "b", "c"], "must": ["c"], "size": 2}
    answer = await kubelet.do("prefer", endpoint=FILE_NAME, containers=[question])
    assert answer["containers"] == [["c", "a"]]

    assert await kubelet.do("pre_start", endpoint=FILE_NAME, devices=["Ascend910-5"]) == {}
    assert allocator.checked == [("Ascend910-5",)]


async def test_a_refusal_arrives_with_its_text(
    kubelet: PeerKubelet, ours: KubeletEndpoint, allocator: FakeAllocator
) -> None:
    allocator.refusal = "Ascend910-3 is unhealthy: card-drop; 100 % of its memory is gone, ä"

    with pytest.raises(PeerError) as refused:
        await kubelet.do("allocate", endpoint=FILE_NAME, containers=[["Ascend910-3"]])

    assert (refused.value.code, refused.value.text) == ("FAILED_PRECONDITION", allocator.refusal)


@pytest.mark.parametrize(
    ("method", "body", "code"),
    [
        ("/v1beta1.DevicePlugin/Renew", "", "UNIMPLEMENTED"),
        ("/v1.DRAPlugin/NodePrepareResources", "", "UNIMPLEMENTED"),
        (ALLOCATE, "0a050a0561", "INVALID_ARGUMENT"),
        (ALLOCATE, "ffff", "INVALID_ARGUMENT"),
        (ALLOCATE, "", "INVALID_ARGUMENT"),
    ],
)
async def test_a_wrong_call_gets_its_status(
    kubelet: PeerKubelet, ours: KubeletEndpoint, method: str, body: str, code: str
) -> None:
    """PY-5."""
    with pytest.raises(PeerError) as refused:
        await kubelet.do("raw", endpoint=FILE_NAME, method=method, body=body)

    assert refused.value.code == code


@pytest.mark.parametrize(
    "authority",
    [
        "localhost",
        "/var/lib/kubelet/device-plugins/Ascend910.sock",
        "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2FAscend910.sock",
        "unix:///var/lib/kubelet",
        "a b",
        None,
    ],
)
async def test_any_authority_is_served(
    kubelet: PeerKubelet, ours: KubeletEndpoint, authority: str | None
) -> None:
    """PY-1; None is what the C core itself makes of the path."""
    await kubelet.do("dial", endpoint=FILE_NAME, authority=authority)

    await kubelet.event("list", total=16)


async def test_twenty_requests_of_20_mb_leave_no_trace(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    """Refused by their announced length: at most a window of each is ever held."""
    await kubelet.do("dial", endpoint=FILE_NAME)
    await kubelet.event("list")
    before_mib = resident_mib()

    for _ in range(20):
        with pytest.raises(PeerError) as refused:
            await kubelet.do("raw", endpoint=FILE_NAME, method=ALLOCATE, zeros=20_000_000)
        assert refused.value.code == "RESOURCE_EXHAUSTED"

    assert resident_mib() - before_mib < 4
    assert await kubelet.do("options", endpoint=FILE_NAME)
    ours.publish(offer(16, sick=[0], generation=2))
    await kubelet.event("list", healthy=15)


async def test_two_kubelets_worth_of_streams_see_every_change(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    numbers = (await kubelet.do("dial", endpoint=FILE_NAME, streams=3))["streams"]
    numbers += (await kubelet.do("dial", endpoint=FILE_NAME, streams=3, authority="x"))["streams"]
    for number in numbers:
        await kubelet.event("list", stream=number, healthy=16)
    assert ours.streams.value == 6

    ours.publish(offer(16, sick=[7], generation=2))

    for number in numbers:
        await kubelet.event("list", stream=number, healthy=15)
    await kubelet.do("hang_up", stream=numbers[0])
    await streams(ours, 5)


async def test_a_slow_reader_gets_the_newest_list_and_delays_nobody(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    """Lists of 260 kB to a reader that takes five a second, and to one that takes them all."""
    ours.publish(offer(64, shares=100))
    (slow,) = (await kubelet.do("dial", endpoint=FILE_NAME, every_s=0.2))["streams"]
    dialled = await kubelet.do("dial", endpoint=FILE_NAME, authority="fast")
    (fast,) = dialled["streams"]
    await kubelet.event("list", stream=slow)
    await kubelet.event("list", stream=fast)
    before_mib = resident_mib()

    for turn in range(25):
        ours.publish(offer(64, sick={turn % 60}, shares=100, generation=turn + 2))
        await kubelet.event("list", stream=fast)
    ours.publish(offer(64, sick={60, 61, 62}, shares=100, generation=200))

    await kubelet.event("list", stream=fast, healthy=6100)
    await kubelet.event("list", stream=slow, healthy=6100)
    assert resident_mib() - before_mib < 8


async def test_a_killed_kubelets_streams_end_at_once(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    """KL-7, PY-4: also those that wait for the peer to read."""
    (reading,) = (await kubelet.do("dial", endpoint=FILE_NAME))["streams"]
    await kubelet.do("dial", endpoint=FILE_NAME, authority="stuck", most=1)
    await streams(ours, 2)
    await pour(ours, kubelet, reading)

    with in_time(3):  # no keep-alive has to find out
        await kubelet.kill()
        await streams(ours, 0)


async def test_the_end_is_told_and_takes_no_time(
    kubelet: PeerKubelet, ours: KubeletEndpoint, plugin_dir: Path
) -> None:
    await kubelet.do("dial", endpoint=FILE_NAME)
    await kubelet.event("list")

    with in_time(2):  # less than the patience with an Allocate in flight
        await ours.close()

    assert (await kubelet.event("stream_end"))["code"] == "OK"
    assert not ours.in_place()


async def test_the_end_comes_though_the_kubelet_is_stopped(
    kubelet: PeerKubelet, ours: KubeletEndpoint, plugin_dir: Path
) -> None:
    """PY-2: its socket is full, and it neither reads nor closes."""
    await kubelet.do("dial", endpoint=FILE_NAME)
    await kubelet.event("list")
    kubelet.freeze()
    async with peer_kubelet(plugin_dir) as other:
        (reading,) = (await other.do("dial", endpoint=FILE_NAME))["streams"]
        await pour(ours, other, reading)

    with in_time(2):
        await ours.close()

    kubelet.thaw()


async def test_an_allocate_in_flight_survives_the_end(
    kubelet: PeerKubelet, plugin_dir: Path
) -> None:
    held = asyncio.Event()
    allocator = FakeAllocator(held=held)
    limits = EndpointLimits(allocate_grace_s=30)  # how soon the other process asks is its affair
    one = endpoint(plugin_dir, allocator=allocator, limits=limits)
    await one.open()
    async with asyncio.TaskGroup() as group_:
        call = group_.create_task(
            kubelet.do("allocate", endpoint=FILE_NAME, containers=[["a"]]), name="allocate"
        )
        await allocator.entered.wait()
        closing = group_.create_task(one.close(), name="close")
        with pytest.raises(PeerError, match="UNAVAILABLE"):
            await _serves_no_more(kubelet)
        assert not closing.done()
        held.set()

    assert call.result()["containers"][0]["envs"] == {"IDS": "a"}


async def test_an_allocate_that_hangs_is_told_unavailable(
    kubelet: PeerKubelet, plugin_dir: Path
) -> None:
    allocator = FakeAllocator(held=asyncio.Event())
    limits = EndpointLimits(allocate_grace_s=0.1)
    one = endpoint(plugin_dir, allocator=allocator, limits=limits)
    await one.open()
    async with asyncio.TaskGroup() as group_:
        call = group_.create_task(_refusal(kubelet), name="allocate")
        await allocator.entered.wait()
        await one.close()

    code, text = call.result()
    assert (code, text.partition(";")[0]) == ("UNAVAILABLE", "ascend-agent is stopping")
    assert allocator.undone == 1


async def _serves_no_more(kubelet: PeerKubelet) -> None:
    """Call until the end, which has begun in another task, refuses new calls."""
    while True:
        await kubelet.do("options", endpoint=FILE_NAME)


async def _refusal(kubelet: PeerKubelet) -> tuple[str, str]:
    with pytest.raises(PeerError) as refused:
        await kubelet.do("allocate", endpoint=FILE_NAME, containers=[["a"]])
    return refused.value.code, refused.value.text


async def test_a_kubelet_that_refuses_is_quoted(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    text = 'requested API version "v1beta1" is not supported by kubelet'
    await kubelet.do("serve", wipe=False, refuse=text)

    with pytest.raises(RegistrationRefusedError, match=text):
        await ours.register()


async def test_a_kubelet_that_stops_while_we_register_is_gone(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    await kubelet.do("serve", wipe=False, hang=True)
    async with asyncio.TaskGroup() as group_:
        registering = group_.create_task(_gone(ours), name="register")
        await kubelet.event("registering")
        await kubelet.do("stop")

    assert registering.result()


async def _gone(ours: KubeletEndpoint) -> bool:
    with pytest.raises(KubeletGoneError):
        await ours.register()
    return True


@pytest.mark.slow
@pytest.mark.timeout(120)  # 200 times two processes take their time on a busy machine
async def test_200_kubelet_restarts_in_a_row_leave_nothing_behind(
    kubelet: PeerKubelet, ours: KubeletEndpoint
) -> None:
    """KL-1 to KL-3: each start removes our socket; every other stop drops nothing by itself."""

    async def restart(turn: int) -> None:
        await kubelet.do("serve", wipe=True)
        assert not ours.in_place()
        await ours.open()
        await ours.register()
        sick = {turn % 16}
        ours.publish(offer(16, sick=sick, generation=turn))
        await kubelet.event("list", unhealthy=[f"Ascend910-{turn % 16}"])
        await kubelet.do("stop", drop=turn % 2 == 0)
        kubelet.forget()

    for turn in range(20):
        await restart(turn)
    before = (open_descriptors(), len(asyncio.all_tasks()))
    before_mib = resident_mib()
    for turn in range(20, 20 + RESTARTS):
        await restart(turn)
    await kubelet.do("hang_up")
    await ours.open()
    await streams(ours, 0)

    assert open_descriptors() <= before[0]
    assert len(asyncio.all_tasks()) <= before[1]
    assert resident_mib() - before_mib < 2


async def test_the_cause_of_a_change_is_told_before_the_kubelet_could_know(
    kubelet: PeerKubelet, plugin_dir: Path
) -> None:
    """Both clocks are CLOCK_MONOTONIC of one machine, so latency is a difference."""
    one = endpoint(plugin_dir)
    one.publish(offer(16))
    await one.open()
    await kubelet.do("dial", endpoint=FILE_NAME)
    await kubelet.event("list")
    caused_ns = time.monotonic_ns()

    one.publish(offer(16, sick=[PhyId(2)], generation=2, causes={2: caused_ns}))
    listed = await kubelet.event("list")

    assert caused_ns < listed["ns"] < time.monotonic_ns()
    await one.close()
