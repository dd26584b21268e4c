"""The agent is killed while it makes a soft slice's directory: the next one makes it anew.

The directory has very much in it from before, as after a container that was started again, so that
there is something to be killed in the middle of.
"""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from ascend_agent.runtime.beside import beside
from tests.cluster.api import Api, Json, node_path, pod_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.hami_node import LOCK, PHASE, HamiNode, annotations, container, hami_node, pod
from tests.cluster.proxy import FaultProxy, Stop
from tests.cluster.waiting import eventually
from tests.fakes.libraries import library
from tests.peer.client import PeerError

pytestmark = pytest.mark.cluster

_FILES = 20_000
_MIB = 8192
_OF_THE_HOST = (
    "usr/local/bin/npu-smi",
    "etc/ascend_install.info",
    "usr/local/Ascend/driver/version.info",
)
_DRIVER = "usr/local/Ascend/driver/lib64/driver"


def options(folder: Path, node: HamiNode) -> tuple[str, ...]:
    """Return the options of an agent that gives out soft slices, and make what they name."""
    host, home = folder / "host", node.there.home
    for each in _OF_THE_HOST:
        (host / each).parent.mkdir(parents=True, exist_ok=True)
        (host / each).touch()
    (host / _DRIVER).mkdir(parents=True)
    seen = host / home.relative_to("/")
    seen.parent.mkdir(parents=True)
    seen.symlink_to(home)
    assets = folder / "assets"
    assets.mkdir()
    (assets / "libvnpu.so").write_bytes(library(machine=os.uname().machine))
    (assets / "ld.so.preload").write_text("/hami-vnpu-core/libvnpu.so\n")
    config = folder / "node-config.yaml"
    config.write_text(json.dumps({"nodes": [{"name": node.name, "hami-vnpu-core": True}]}))
    return (
        *("--host-root", str(host), "--hami-assets", str(assets)),
        *("--node-config", str(config)),
    )


def soft_pod(name: str) -> Json:
    new = pod(name, container("main", 1, _MIB))
    new["metadata"]["annotations"] = {"huawei.com/vnpu-mode": "hami-core"}
    return new


async def test_a_directory_that_was_being_made_is_made_anew(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path, tmp_path: Path
) -> None:
    """A kubelet that restarted meanwhile asks again for the pod, which nobody has failed.

    However late the kill comes, the directory was made for nobody: the patch that the answer waits
    for never arrives.
    """
    async with (
        hami_node(
            control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi, npus=2
        ) as node,
        FaultProxy(control_plane).running() as proxy,
    ):
        place = pod_path(node.namespace, "victim")
        proxy.halt(lambda text: text.startswith(f"PATCH {place}"), stop=Stop.REQUEST)
        soft = options(tmp_path, node)
        bound: asyncio.Queue[Json] = asyncio.Queue(2)
        async with beside(node.follow(bound), name="bound pods"):
            async with node.run_agent(*soft, url=proxy.url) as agent:
                await agent.logged("host prepared for soft slices")
                kubelet = await node.bring_up()
                await node.create(soft_pod("victim"))
                victim = await bound.get()
                directory = filled(node, victim)
                ids = kubelet._free[:1]
                asking = node.there.kubelet.do(
                    "allocate", endpoint=kubelet.endpoint, containers=[ids]
                )
                async with beside(asking, name="allocate") as answer:
                    await changed(directory)
                    agent.send(signal.SIGKILL)
                    await agent.ended()
                    with pytest.raises(PeerError):
                        await answer
                found = await api.get(place)
                assert annotations(found)[PHASE] == "allocating"
                await node.there.kubelet.do("hang_up")
                node.there.kubelet.forget()

            async with node.run_agent(*soft) as agent:
                await node.listed()
                await agent.logged("api server answers")
                assert await kubelet.admit(victim), kubelet.grants["victim"]
                assert list(directory.iterdir()) == []
                assert directory.stat().st_mode & 0o777 == 0o777
                await node.free()
                found = await api.get(place)
                assert annotations(found)[PHASE] == "success"
                assert LOCK not in annotations(await api.get(node_path(node.name)))


def filled(node: HamiNode, victim: Json) -> Path:
    """Return the directory that the pod's container will get, with much in it."""
    uid = victim["metadata"]["uid"]
    directory = node.there.home / "hami" / "containers" / f"{uid}_main"
    directory.mkdir(parents=True)
    for number in range(_FILES):
        (directory / str(number)).touch()
    return directory


async def changed(directory: Path) -> None:
    """Wait until something is removed from it."""
    before = age(directory)

    async def other() -> bool | None:
        return True if age(directory) != before else None

    await eventually(other, what="the first removal")


def age(directory: Path) -> int | None:
    """Return when it was last changed, None where it is gone."""
    try:
        return directory.stat().st_mtime_ns
    except FileNotFoundError:
        return None
