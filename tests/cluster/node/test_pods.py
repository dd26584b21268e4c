"""What a pod with NPUs has that a pod without has not, seen from inside, for each way in."""

import pytest

from tests.agent.scene import AgentProcess
from tests.cluster.node.layout import DEVICE_NUMBERS, DRIVER_FILES
from tests.cluster.node.pods import Device, Sight
from tests.cluster.node.scene import Scene

pytestmark = pytest.mark.cluster

OPENS = "No such device or address"
"""What a node without a driver says to who may open it; others are told: not permitted."""

CONTROL = ("davinci_manager", "devmm_svm", "hisi_hdc")
DRIVER_PLACES = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)
NOTHING = Sight(environment={}, devices={}, mounts={}, files=frozenset())


async def difference(scene: Scene, agent: AgentProcess) -> tuple[list[int], Sight]:
    """Return which two NPUs a pod was granted, and what it has that a pod without NPUs has not.

    The latter has nothing that the former has not.
    """
    bare = await scene.witness("bare", 0)
    with_npus = await scene.witness("with-npus", 2)
    granted = (await agent.logged("allocated"))["npus"]
    assert len(granted) == 2
    assert bare.beyond(with_npus) == NOTHING
    return granted, with_npus.beyond(bare)


def nodes_of(npus: list[int]) -> dict[str, Device]:
    """Return the device nodes of a container with these NPUs: each may be opened."""
    names = [*CONTROL, *(f"davinci{npu}" for npu in npus)]
    return {f"/dev/{name}": Device(numbers=DEVICE_NUMBERS[name], refusal=OPENS) for name in names}


def told(sight: Sight) -> dict[str, bool]:
    """Return the mounts, and of each whether it is read-only."""
    return {place: "ro" in options for place, options in sight.mounts.items()}


async def test_the_vendors_runtime_is_told_by_the_environment_alone(scene: Scene) -> None:
    """IM-5: here no runtime of the vendor's reads it, so the pod has nothing but that."""
    async with scene.serving("--inject", "runtime") as agent:
        npus, extra = await difference(scene, agent)

    visible = ",".join(map(str, sorted(npus)))
    assert extra.environment == {"ASCEND_VISIBLE_DEVICES": visible, "ASCEND_RUNTIME_OPTIONS": ""}
    assert (extra.devices, extra.mounts, extra.files) == ({}, {}, frozenset())


async def test_the_kubelet_hands_in_device_nodes_and_driver_files(scene: Scene) -> None:
    """IM-2: its own NPUs and what all share, no other NPU; the driver can't be written."""
    async with scene.serving("--inject", "devices") as agent:
        npus, extra = await difference(scene, agent)

    assert extra.environment == {}
    assert extra.devices == nodes_of(npus)
    assert told(extra) == dict.fromkeys(DRIVER_PLACES, True)
    assert extra.files == {f"/{name}" for name in DRIVER_FILES}


async def test_containerd_hands_in_what_the_cdi_specification_says(scene: Scene) -> None:
    """KL-11: the answer holds names alone, and the pod has what the other way gives it."""
    async with scene.serving("--inject", "cdi") as agent:
        await agent.logged("cdi specification written")
        npus, extra = await difference(scene, agent)

    assert extra.environment == {}
    assert extra.devices == nodes_of(npus)
    assert told(extra) == dict.fromkeys(DRIVER_PLACES, True)
    assert extra.files == {f"/{name}" for name in DRIVER_FILES}


async def test_logical_ids_are_told_whatever_the_way_in(scene: Scene) -> None:
    """AL-13: for images that count their NPUs wrongly by themselves."""
    async with scene.serving("--inject", "devices", "--logical-ids") as agent:
        _, extra = await difference(scene, agent)

    assert extra.environment == {"ASCEND_RT_VISIBLE_DEVICES": "0,1"}
