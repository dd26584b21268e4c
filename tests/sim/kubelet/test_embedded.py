"""The embedded kubelet behaves towards a plugin as the real one does.

Sources: kubelet device plugin API v1beta1, pod resources API v1.
"""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from grpclib import GRPCError

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent._generated.podresources import v1 as resources
from ascend_agent.sim.kubelet import (
    AdmissionError,
    Allocated,
    EmbeddedKubelet,
    Listed,
    Pod,
    PodRemoved,
    Registered,
    RegistrationRefused,
    Started,
    StreamEnded,
)
from tests.sim.kubelet.plugins import RESOURCE, FakePlugin, pod_resources, register, serving
from tests.sim.kubelet.stage import Stage, staged

TWO = {"Ascend910-0": True, "Ascend910-1": True}


def pod(name: str = "p", count: int = 1) -> Pod:
    return Pod(namespace="default", name=name, container="main", resource=RESOURCE, count=count)


async def joined(stage: Stage, plugin: FakePlugin) -> Listed:
    """Register *plugin*, served on its socket, and return its first list."""
    await register(stage.socket)
    return await stage.next(Listed)


async def test_a_registered_plugin_is_dialled_back_and_its_stream_kept_open() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await register(stage.socket)

        registered = await stage.next(Registered)
        listed = await stage.next(Listed)

        assert (registered.resource, registered.endpoint) == (RESOURCE, "npu.sock")
        assert (listed.total, listed.healthy, listed.changed) == (2, 2, ())
        assert plugin.streams.value == 1
        assert stage.kubelet.resources == (RESOURCE,)
        assert stage.kubelet.devices(RESOURCE)["Ascend910-0"].numa == 1  # type: ignore[index]


async def test_each_list_replaces_the_whole_one_before_it() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        plugin.offer({"Ascend910-0": False})
        listed = await stage.next(Listed)

        assert (listed.total, listed.healthy) == (1, 0)
        assert listed.changed == (("Ascend910-0", False),)
        assert list(stage.kubelet.devices(RESOURCE)) == ["Ascend910-0"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"version": "v1alpha1"}, "plugin speaks 'v1alpha1', this kubelet v1beta1"),
        ({"resource": "Ascend910"}, "'Ascend910' is no extended resource"),
        ({"endpoint": "../npu.sock"}, "endpoint '../npu.sock' is no file name"),
        ({"endpoint": ""}, "endpoint '' is no file name"),
    ],
)
async def test_a_wrong_registration_is_refused_with_its_reason(
    wrong: dict[str, str], text: str
) -> None:
    async with staged() as stage:
        with pytest.raises(GRPCError) as caught:
            await register(stage.socket, **wrong)  # type: ignore[arg-type]

        assert caught.value.message == text
        assert (await stage.next(RegistrationRefused)).reason == text


async def test_an_endpoint_nobody_serves_is_told() -> None:
    async with staged() as stage:
        await register(stage.socket)

        assert "npu.sock does not answer" in (await stage.next(RegistrationRefused)).reason


async def test_options_that_were_told_are_not_asked_for() -> None:
    """GetDevicePluginOptions is called only where Register carried none."""
    plugin = FakePlugin(TWO, prefers=("Ascend910-1",))
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await register(stage.socket, options=api.DevicePluginOptions())

        assert (await stage.next(Registered)).prefers is False


async def test_the_end_of_the_stream_makes_all_devices_unhealthy_at_once() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage:
        async with serving(plugin, stage.plugins / "npu.sock"):
            await joined(stage, plugin)

        assert (await stage.next(StreamEnded)).resource == RESOURCE
        assert [state.healthy for state in stage.kubelet.devices(RESOURCE).values()] == [
            False,
            False,
        ]
        assert stage.kubelet.free(RESOURCE) == ()


async def test_a_second_registration_replaces_the_first() -> None:
    old, new = FakePlugin(TWO), FakePlugin({"Ascend910-7": True})
    async with (
        staged() as stage,
        serving(old, stage.plugins / "old.sock"),
        serving(new, stage.plugins / "new.sock"),
    ):
        await register(stage.socket, endpoint="old.sock")
        await stage.next(Listed)
        await register(stage.socket, endpoint="new.sock")
        await stage.next(Listed)

        assert list(stage.kubelet.devices(RESOURCE)) == ["Ascend910-7"]
        await old.alone()


async def test_a_pod_gets_healthy_devices_nobody_holds() -> None:
    plugin = FakePlugin({"Ascend910-0": True, "Ascend910-1": False, "Ascend910-2": True})
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        first = await stage.kubelet.admit(pod("a"))
        second = await stage.kubelet.admit(pod("b"))

        assert (first.devices, second.devices) == (("Ascend910-0",), ("Ascend910-2",))
        assert plugin.allocated == [["Ascend910-0"], ["Ascend910-2"]]
        assert first.envs == 1
        assert (await stage.next(Allocated)).pod == pod("a")


async def test_the_plugins_preference_is_followed_and_filled_up() -> None:
    """A plugin may name fewer ids than are needed, and some that are not free."""
    plugin = FakePlugin(
        {f"Ascend910-{n}": n != 3 for n in range(4)}, prefers=("Ascend910-3", "Ascend910-2")
    )
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        admitted = await stage.kubelet.admit(pod(count=2))

        assert admitted.devices == ("Ascend910-2", "Ascend910-0")


async def test_a_pod_without_room_is_not_admitted() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        with pytest.raises(AdmissionError, match=r"asks for 3 .*, 2 free"):
            await stage.kubelet.admit(pod(count=3))


async def test_a_refused_pod_holds_nothing() -> None:
    plugin = FakePlugin(TWO)
    plugin.refuses = "davinci0 is missing"
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        with pytest.raises(AdmissionError, match=r"^default/\S+: (?!\().*davinci0 is missing"):
            await stage.kubelet.admit(pod())

        assert stage.kubelet.pods == {}
        assert len(stage.kubelet.free(RESOURCE)) == 2


async def test_containers_of_a_pod_come_one_after_another_and_one_refusal_is_for_all() -> None:
    plugin = FakePlugin(TWO)
    async with (
        staged() as stage,
        serving(plugin, stage.plugins / "npu.sock"),
        pod_resources(stage.pod_resources) as stub,
    ):
        await joined(stage, plugin)
        both = [replace(pod(), container=name) for name in ("a", "b")]

        with pytest.raises(AdmissionError, match="0 free"):
            await stage.kubelet.admit_containers([*both, replace(pod(), container="c")])
        assert stage.kubelet.pods == {}

        first, second = await stage.kubelet.admit_containers(both)
        assert (first.devices, second.devices) == (("Ascend910-0",), ("Ascend910-1",))
        assert (first.variables, first.paths) == ({"NPUS": "x"}, {"/inside": "/outside"})
        answer = await stub.list(resources.ListPodResourcesRequest(), timeout=5)
        (entry,) = answer.pod_resources
        assert [one.name for one in entry.containers] == ["a", "b"]


async def test_a_removed_pod_frees_its_devices() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)
        await stage.kubelet.admit(pod(count=2))

        stage.kubelet.remove(pod(count=2))
        stage.kubelet.remove(pod(count=2))

        assert len(stage.kubelet.free(RESOURCE)) == 2
        assert (await stage.next(PodRemoved)).pod == pod(count=2)


async def test_a_pod_of_several_containers_is_told_once() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)
        both = (pod("a"), pod("b"))
        await stage.kubelet.admit_containers(both)

        stage.kubelet.remove(*both)
        await stage.kubelet.admit(pod("c"))
        stage.kubelet.remove(pod("c"))

        removed = [(await stage.next(PodRemoved)).pod for _ in range(2)]
        assert removed == [pod("a"), pod("c")]


async def test_pods_are_admitted_strictly_one_after_another() -> None:
    """The kubelet never has two Allocates in flight; so two pods never get one device."""
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        both = await asyncio.gather(stage.kubelet.admit(pod("a")), stage.kubelet.admit(pod("b")))

        assert {device for one in both for device in one.devices} == set(TWO)


async def test_a_restart_removes_sockets_and_keeps_other_files(tmp_path: Path) -> None:
    """The real one keeps its checkpoint; older ones removed everything else."""
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        (stage.plugins / "kubelet_internal_checkpoint").write_text("{}")

        await stage.kubelet.restart()

        left = {path.name for path in stage.plugins.iterdir()}
        assert left == {"kubelet.sock", "kubelet_internal_checkpoint"}
        assert stat.S_ISSOCK(stage.socket.stat().st_mode)
        assert [(await stage.next(Started)).starts for _ in range(2)] == [1, 2]


async def test_a_restart_cuts_the_stream_and_forgets_registrations() -> None:
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)

        await stage.kubelet.restart()

        assert stage.kubelet.free(RESOURCE) == ()
        await plugin.alone()
        with pytest.raises(AdmissionError):
            await stage.kubelet.admit(pod())


async def test_pods_keep_their_devices_over_a_restart() -> None:
    """The checkpoint remembers; running containers are not allocated again."""
    plugin = FakePlugin(TWO)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)
        await stage.kubelet.admit(pod())
        await stage.kubelet.restart()
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await joined(stage, plugin)
        await stage.kubelet.admit(pod("a"))
        await stage.kubelet.restart()
        async with serving(plugin, stage.plugins / "npu.sock"):
            await joined(stage, plugin)

            assert stage.kubelet.free(RESOURCE) == ("Ascend910-1",)
            assert len(plugin.allocated) == 2


async def test_pod_resources_tells_who_holds_what() -> None:
    plugin = FakePlugin(TWO)
    async with (
        staged() as stage,
        serving(plugin, stage.plugins / "npu.sock"),
        pod_resources(stage.pod_resources) as stub,
    ):
        await joined(stage, plugin)
        await stage.kubelet.admit(pod())

        answer = await stub.list(resources.ListPodResourcesRequest(), timeout=5)

        (entry,) = answer.pod_resources
        (container,) = entry.containers
        (devices,) = container.devices
        assert (entry.namespace, entry.name, container.name) == ("default", "p", "main")
        assert (devices.resource_name, devices.device_ids) == (RESOURCE, ["Ascend910-0"])
        assert devices.topology == resources.TopologyInfo(nodes=[resources.NumaNode(id=1)])


async def test_pod_resources_tells_of_a_pod_while_it_is_being_admitted() -> None:
    """So does the kubelet, which knows a pod before it asks for it; not of those behind it."""
    told: list[list[tuple[str, list[str]]]] = []

    class Looking(FakePlugin):
        async def allocate(self, message: api.AllocateRequest) -> api.AllocateResponse:
            answer = await stub.list(resources.ListPodResourcesRequest(), timeout=5)
            told.append(
                [
                    (entry.name, [one.name for one in entry.containers if one.devices])
                    for entry in answer.pod_resources
                ]
            )
            return await super().allocate(message)

    plugin = Looking(TWO)
    async with (
        staged() as stage,
        serving(plugin, stage.plugins / "npu.sock"),
        pod_resources(stage.pod_resources) as stub,
    ):
        await joined(stage, plugin)
        both = [replace(pod("a"), container=name) for name in ("x", "y")]
        await asyncio.gather(
            stage.kubelet.admit_containers(both),
            stage.kubelet.admit_containers([replace(pod("b"), count=3)]),
            return_exceptions=True,
        )
        answer = await stub.list(resources.ListPodResourcesRequest(), timeout=5)

    assert told == [[("a", [])], [("a", ["x"])]]
    assert [entry.name for entry in answer.pod_resources] == ["a"]


async def test_pod_resources_tells_one_pod_and_what_could_be_given() -> None:
    plugin = FakePlugin({"Ascend910-0": True, "Ascend910-1": False})
    async with (
        staged() as stage,
        serving(plugin, stage.plugins / "npu.sock"),
        pod_resources(stage.pod_resources) as stub,
    ):
        await joined(stage, plugin)
        await stage.kubelet.admit(pod())

        found = await stub.get(
            resources.GetPodResourcesRequest(pod_name="p", pod_namespace="default"), timeout=5
        )
        allocatable = await stub.get_allocatable_resources(
            resources.AllocatableResourcesRequest(), timeout=5
        )

        assert found.pod_resources is not None
        assert found.pod_resources.name == "p"
        assert [one.device_ids for one in allocatable.devices] == [["Ascend910-0"]]
        with pytest.raises(GRPCError, match="no pod default/q"):
            await stub.get(
                resources.GetPodResourcesRequest(pod_name="q", pod_namespace="default"), timeout=5
            )


async def test_sockets_of_an_earlier_life_are_in_nobodys_way(tmp_path: Path) -> None:
    """kubelet.sock of a kubelet that was killed is still there when the next one starts."""
    async with staged() as stage:
        second = EmbeddedKubelet(plugin_dir=stage.plugins, pod_resources_socket=stage.pod_resources)
        async with second:
            assert stage.socket.exists()
