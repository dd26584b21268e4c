"""Soft slices of HAMi in real containers, whose library is a stub that writes what it was told."""

import os
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.agent.scene import AgentProcess
from tests.cluster.api import Json
from tests.cluster.node.hami import HamiScene, chosen, dies, listed
from tests.cluster.node.hami_pods import USED, USES, container
from tests.cluster.node.limited.accounts import Accounts, accounts_in
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster

GIB = 1 << 30
MIB = 1 << 20
OF_THE_HOST = {
    "/usr/local/bin/npu-smi": "ro",
    "/etc/ascend_install.info": "ro",
    "/usr/local/Ascend/driver/lib64/driver": "ro",
    "/usr/local/Ascend/driver/version.info": "ro",
    "/hami-vnpu-core": "ro",
    "/etc/ld.so.preload": "ro",
    "/hami-shared-region": "rw",
    "/hami-vnpu-shmem": "rw",
}


async def written(directory: Path) -> Accounts:
    """Wait until a container's process has loaded the library, and return what that wrote."""

    async def found() -> Accounts | None:
        return accounts_in(directory)

    return await eventually(found, what=f"what the library writes in {directory}")


async def test_a_soft_slice_has_its_limits_and_its_library(hami: HamiScene) -> None:
    """HAMi E1, IM-7: the container runs as another user than root, who can write in its own."""
    async with hami.serving(soft=True) as agent:
        slice_ = container(npus=1, memory=28672, core=40, script=USES, user=1000)
        await hami.create("soft", slice_, soft=True)
        inside = await hami.inside("soft")
        pod = await hami.settled("soft")
        npu = (await chosen(agent, pod))[0][0]
        own = hami.directory(pod)
        accounts = await written(own)
        preload = inside.read("/etc/ld.so.preload")
        turns = hami.region / f"{npu}_global_registry"

    assert inside.npu_variables() == {
        "ASCEND_VISIBLE_DEVICES": str(npu),
        "NPU_MEM_QUOTA": "28672",
        "NPU_PRIORITY": "40",
        "NPU_GLOBAL_SHM_PATH": f"/hami-shared-region/{npu}_global_registry",
        "NPU_LOCAL_SHM_PATH": "/hami-vnpu-shmem/vnpu_local_shmem",
    }
    assert inside.driver_mounts() == OF_THE_HOST
    assert preload == "/hami-vnpu-core/libvnpu.so\n"
    assert accounts == Accounts(limit=28672 * MIB, priority=40, used=(GIB,))
    assert (own / "vnpu_local_shmem").stat().st_uid == 1000
    assert turns.stat().st_uid == 1000


async def test_the_library_alone_is_mounted_where_that_is_wanted(hami: HamiScene) -> None:
    """HAMi E2: no container sees the directories of the others."""
    async with hami.serving("--hami-hook-mount", "file", soft=True):
        await hami.create("soft", container(npus=1, memory=1024, script=USES), soft=True)
        inside = await hami.inside("soft")
        accounts = await written(hami.directory(await hami.settled("soft")))
        seen = inside.list("/hami-vnpu-core")

    assert seen == {"libvnpu.so"}
    assert inside.driver_mounts()["/hami-vnpu-core/libvnpu.so"] == "ro"
    assert accounts == Accounts(limit=1024 * MIB, priority=0, used=(GIB,))


async def test_a_pod_without_a_mode_is_sliced_as_its_node_slices(hami: HamiScene) -> None:
    """HAMi D1: HAMi 2.10 sends such pods to nodes of either mode, with what both need."""
    async with hami.serving(soft=True):
        await hami.create("any", container(npus=1, memory=16384, script=USES))
        inside = await hami.inside("any")
        accounts = await written(hami.directory(await hami.settled("any")))

    assert inside.environment["NPU_MEM_QUOTA"] == "16384"
    assert "ASCEND_VNPU_SPECS" not in inside.environment
    assert inside.driver_mounts() == OF_THE_HOST
    assert accounts == Accounts(limit=16384 * MIB, priority=0, used=(GIB,))


async def test_a_quota_holds_for_each_npu_of_a_container(hami: HamiScene) -> None:
    """OB-1, HAMi E3, F2: tensor parallel; metrics tell each NPU's use in the container's order."""
    async with hami.serving(soft=True) as agent:
        two = container(npus=2, memory=32768, core=50, script=USES)
        await hami.create("tp2", two, soft=True)
        inside = await hami.inside("tp2")
        pod = await hami.settled("tp2")
        npus = (await chosen(agent, pod))[0]
        accounts = await written(hami.directory(pod))
        told = await metrics(agent, "hami_vgpu_memory_used_bytes", 2)
        limits = await metrics(agent, "hami_vgpu_memory_limit_bytes", 2)
        names = {npu["npu"]: npu["die"] for npu in (await agent.status())["npus"]}

    variables = inside.npu_variables()
    assert variables["ASCEND_VISIBLE_DEVICES"] == listed(npus)
    assert variables["NPU_MEM_QUOTA"] == "32768"
    assert accounts == Accounts(limit=32768 * MIB, priority=50, used=(GIB, 2 * GIB))
    in_order = [("main", str(at), names[npu]) for at, npu in enumerate(npus)]
    assert told == dict(zip(in_order, (GIB, 2 * GIB), strict=True))
    assert limits == dict.fromkeys(in_order, 32768 * MIB)


async def test_init_containers_sidecars_and_containers_have_what_is_theirs(
    hami: HamiScene,
) -> None:
    """AL-7, HAMi A9, F1: each its own slot and directory; who asks for no NPU has neither."""
    quotas = {"prepare": (1024, 20), "beside": (512, 5), "first": (2048, 10), "second": (4096, 30)}

    def asking(name: str, *, script: str = USES, sidecar: bool = False) -> Json:
        memory, core = quotas[name]
        return container(name, npus=1, memory=memory, core=core, script=script, sidecar=sidecar)

    async with hami.serving(soft=True):
        await hami.create(
            "many",
            asking("first"),
            container("idle"),
            asking("second"),
            inits=(asking("prepare", script=USED), asking("beside", sidecar=True)),
            soft=True,
        )
        running = ("beside", "first", "idle", "second")
        inside = {name: await hami.inside("many", name) for name in running}
        pod = await hami.settled("many")
        accounts = {name: await written(hami.directory(pod, name)) for name in quotas}
        directories = {each.name for each in (hami.root / "containers").iterdir()}

    told = {name: (each.limit // MIB, each.priority) for name, each in accounts.items()}
    assert told == quotas
    idle = inside.pop("idle")
    assert (idle.npu_variables(), idle.driver_mounts()) == ({}, {})
    assert {name: each.environment["NPU_MEM_QUOTA"] for name, each in inside.items()} == {
        "beside": "512",
        "first": "2048",
        "second": "4096",
    }
    assert directories == {hami.directory(pod, name).name for name in quotas}
    assert [len(slot) for slot in dies(pod)] == [1, 1, 1, 0, 1]


async def test_a_pod_is_refused_whose_preload_file_is_missing(hami: HamiScene) -> None:
    """IM-7, HAMi E1: containerd would make a directory of it, and nothing would be limited.

    The agent finds out by the refusal, and puts the file back.
    """
    preload, on_host = hami.root / "ld.so.preload", "/usr/local/hami-vnpu-core/ld.so.preload"
    async with hami.serving(soft=True) as agent:
        await agent.logged("soft asset installed", path=on_host)
        preload.unlink()
        await hami.create("refused", container(npus=1, memory=1024, script=USES), soft=True)
        failed = await hami.failed("refused")
        why = await hami.told("refused", "AscendAllocateFailed")
        assert not preload.is_dir()
        await agent.logged("soft asset installed", path=on_host)
        await hami.create("next", container(npus=1, memory=1024, script=USES), soft=True)
        inside = await hami.inside("next")
        await written(hami.directory(await hami.settled("next")))

    assert on_host in why
    assert failed["status"]["reason"] == "UnexpectedAdmissionError"
    assert not hami.directory(failed).exists()
    assert inside.driver_mounts() == OF_THE_HOST


async def test_the_directory_of_a_pod_goes_with_it(hami: HamiScene) -> None:
    """HAMi F5; the directory seems older than it is, for those of new pods stay two minutes."""
    async with hami.serving(soft=True) as agent:
        for name in ("goes", "stays"):
            await hami.create(name, container(npus=1, memory=1024, script=USES), soft=True)
            await hami.inside(name)
        goes, stays = [hami.directory(await hami.settled(name)) for name in ("goes", "stays")]
        for each in (goes, stays):
            await written(each)
            os.utime(each, (0, 0))
        assert len(await metrics(agent, "hami_vgpu_memory_limit_bytes", 2)) == 2
        await hami.scene.delete("goes")
        removed = await agent.logged("container directory removed")

    assert removed["directory"] == goes.name
    assert not goes.exists()
    assert accounts_in(stays) is not None


async def metrics(agent: AgentProcess, name: str, count: int) -> dict[tuple[str, str, str], float]:
    """Wait until the page tells *count* values of a metric.

    Return them by container, place in it, and die.
    """

    async def found() -> dict[tuple[str, str, str], float] | None:
        _, page = await agent.get("/metrics")
        values = {
            (each.labels["container"], each.labels["vdevice_index"], each.labels["device_uuid"]): (
                each.value
            )
            for family in text_string_to_metric_families(page)
            for each in family.samples
            if each.name == name
        }
        return values if len(values) == count else None

    return await eventually(found, what=f"{count} values of {name}")
