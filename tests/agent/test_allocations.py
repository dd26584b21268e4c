"""What pods get, and what the pod's event says where they get nothing."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scene import FAULT, Node, node, npu, sick
from tests.peer.client import PeerError

pytestmark = pytest.mark.peer

ENDPOINT = "Ascend910.sock"
FOUR = "preset 910B3 4"
MANAGER = "/dev/davinci_manager"


def ids(*phys: int) -> list[str]:
    """Return the kubelet's ids of whole NPUs."""
    return [f"Ascend910-{phy}" for phy in phys]


async def allocate(there: Node, *containers: list[str], endpoint: str = ENDPOINT) -> list[Any]:
    """Return what each container is granted."""
    answer = await there.kubelet.do("allocate", endpoint=endpoint, containers=list(containers))
    granted: list[Any] = answer["containers"]
    return granted


async def refusal(there: Node, *devices: str) -> tuple[str, str]:
    """Return status and text with which a container of *devices* is refused."""
    with pytest.raises(PeerError) as refused:
        await allocate(there, list(devices))
    return refused.value.code, refused.value.text


def host_tree(there: Node, *paths: str) -> tuple[str, str]:
    """Make files below a host root of the node's own, and return the option that names it."""
    root = there.home / "root"
    for path in paths:
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return "--host-root", str(root)


async def test_the_vendors_runtime_is_told_the_ids_in_order(fake_dcmi: Path) -> None:
    """AL-13; several containers in one call keep their order."""
    async with node(fake_dcmi, FOUR) as there, there.serving():
        first, second = await allocate(there, ids(3, 1), ids(0))

        assert first["envs"]["ASCEND_VISIBLE_DEVICES"] == "1,3"
        assert second["envs"]["ASCEND_VISIBLE_DEVICES"] == "0"
        assert first["devices"] == first["mounts"] == first["cdi"] == []


async def test_on_the_second_generation_the_runtime_is_told_logic_ids(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset mixed-ids-950") as there, there.serving() as agent:
        status = await agent.status()
        (granted,) = await allocate(there, ["npu-7", "npu-0"], endpoint="npu.sock")

        logic = sorted(npu(status, phy)["logic"] for phy in (7, 0))
        assert granted["envs"]["ASCEND_VISIBLE_DEVICES"] == ",".join(map(str, logic))
        assert logic != [0, 7]


async def test_a_refusal_names_device_reason_and_remedy(fake_dcmi: Path) -> None:
    """KL-10: nothing is given in part; the stream and the next call are none the worse."""
    async with node(fake_dcmi, FOUR) as there, there.serving():
        there.host.inject(2, FAULT)
        await there.kubelet.event("list", healthy=3)
        cases = [
            (await refusal(there, "Ascend910-0", "Ascend910-9"), "'Ascend910-9' is not on this"),
            (await refusal(there, "Ascend910-2-0"), "'Ascend910-2-0' is not on this node"),
            (await refusal(there, *ids(2)), "'Ascend910-2' is out of service (fault 8C204E00"),
            (await refusal(there, *ids(1, 1)), "'Ascend910-1' is asked for twice"),
            (await refusal(there), "at least 1 is needed"),
        ]
        excessive = await refusal(there, *(f"Ascend910-{n}" for n in range(801)))
        long = await refusal(there, "Ascend910-" + "0" * 5000)
        (granted,) = await allocate(there, ids(0, 1, 3))

        for (code, text), expected in cases:
            assert code == "FAILED_PRECONDITION"
            assert expected in text
            assert "pod" in text
        assert excessive[0] == "INVALID_ARGUMENT"
        assert "801 device ids for one container, 800 are the most" in excessive[1]
        assert long[0] == "INVALID_ARGUMENT"
        assert len(long[1]) < 300
        assert granted["envs"]["ASCEND_VISIBLE_DEVICES"] == "0,1,3"
        assert there.kubelet.seen("stream_end") == []


async def test_a_container_that_starts_on_a_sick_npu_is_refused(fake_dcmi: Path) -> None:
    """KL-10, for whoever calls PreStartContainer though we do not ask for it."""
    async with node(fake_dcmi, FOUR) as there, there.serving():
        there.host.inject(2, FAULT)
        await there.kubelet.event("list", healthy=3)
        await there.kubelet.do("pre_start", endpoint=ENDPOINT, devices=ids(1))

        with pytest.raises(PeerError, match="out of service"):
            await there.kubelet.do("pre_start", endpoint=ENDPOINT, devices=ids(1, 2))


async def test_device_nodes_and_driver_files_are_handed_in(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there:
        host = host_tree(
            there,
            MANAGER,
            "/dev/hisi_hdc",
            "/dev/davinci1",
            "/dev/davinci3",
            "/usr/local/Ascend/driver/version.info",
        )
        async with there.serving("--inject", "devices", *host):
            (granted,) = await allocate(there, ids(3, 1))

        nodes = [MANAGER, "/dev/hisi_hdc", "/dev/davinci1", "/dev/davinci3"]
        assert granted["devices"] == [[path, path, "rw"] for path in nodes]
        info = "/usr/local/Ascend/driver/version.info"
        assert granted["mounts"] == [[info, info, True]]
        assert granted["envs"] == {}


@pytest.mark.parametrize("missing", [MANAGER, "/dev/davinci1"])
async def test_a_missing_device_node_fails_that_allocate_and_names_it(
    fake_dcmi: Path, missing: str
) -> None:
    """A container without it would start and not find its NPU. The next one asks the host anew."""
    async with node(fake_dcmi, FOUR) as there:
        host = host_tree(there, *({MANAGER, "/dev/davinci1", "/dev/davinci0"} - {missing}))
        async with there.serving("--inject", "devices", *host):
            code, text = await refusal(there, *ids(1))
            host_tree(there, missing)
            (granted,) = await allocate(there, ids(1))

        assert code == "FAILED_PRECONDITION"
        assert f"device node {missing} is missing on this node" in text
        assert "check that the NPU driver is loaded" in text
        assert [path for path, _, _ in granted["devices"]] == [MANAGER, "/dev/davinci1"]


async def test_the_cdi_specification_follows_the_npus_and_outlives_the_agent(
    fake_dcmi: Path,
) -> None:
    async with node(fake_dcmi, FOUR, "drop 3") as there:
        path = there.home / "cdi" / "ascend-agent.json"
        host = host_tree(there, MANAGER, "/dev/davinci0", "/dev/davinci3")
        async with there.agent("--inject", "cdi", *host) as agent:
            await agent.logged("cdi specification written", npus=3)
            first = json.loads(path.read_text())
            there.host.give_back(3)
            await agent.logged("cdi specification written", npus=4)
            second = json.loads(path.read_text())
            await there.kubelet.event("list", total=4)
            (granted,) = await allocate(there, ids(3, 0))

        assert (first["cdiVersion"], first["kind"]) == ("0.5.0", "ascend-agent/npu")
        assert [device["name"] for device in first["devices"]] == ["0", "1", "2"]
        assert [device["name"] for device in second["devices"]] == ["0", "1", "2", "3"]
        assert granted["cdi"] == ["ascend-agent/npu=0", "ascend-agent/npu=3"]
        assert json.loads(path.read_text()) == second
        assert [file.name for file in path.parent.iterdir()] == ["ascend-agent.json"]


async def test_the_kubelet_is_advised_to_keep_a_container_in_one_group(fake_dcmi: Path) -> None:
    """Two HCCS groups of eight: the one with the fewest free NPUs that still holds the rest."""
    async with node(fake_dcmi, "preset 910A 8") as there, there.serving() as agent:
        status = await agent.status()
        groups = [npu(status, phy)["link_group"] for phy in range(8)]
        free = ids(0, 1, 2, 3, 5, 6)
        answer = await there.kubelet.do(
            "prefer",
            endpoint=ENDPOINT,
            containers=[
                {"available": free, "size": 2},
                {"available": free, "size": 4},
                {"available": free, "must": ids(3), "size": 2},
            ],
        )

        assert groups == [0, 0, 0, 0, 1, 1, 1, 1]
        small, large, forced = ([*map(str, sorted(one))] for one in answer["containers"])
        assert small == ids(5, 6)
        assert large == ids(0, 1, 2, 3)
        assert forced == ids(0, 3)


async def test_shares_are_offered_where_the_driver_lets_several_open_an_npu(
    fake_dcmi: Path,
) -> None:
    """One that can't be shared must not be given to two pods; and two shares of one are one NPU."""
    broken = "rc dcmi_set_device_share_enable 1 -8005"
    async with node(fake_dcmi, FOUR, broken) as there, there.agent("--shares", "3") as agent:
        listed = await there.kubelet.event("list", healthy=9)
        why = await agent.logged("device share not enabled", npu=1)
        status = await agent.status()
        (granted,) = await allocate(there, ["Ascend910-2-0", "Ascend910-2-2", "Ascend910-0-1"])
        there.host.clear()
        os.kill(there.worker, signal.SIGKILL)  # the next one is asked for all flags again
        mended = await there.kubelet.event("list", healthy=12)

        assert listed["unhealthy"] == [f"Ascend910-1-{share}" for share in range(3)]
        assert "-8005" in why["why"]
        assert sick(status) == {1: ["share-not-enabled"]}
        assert granted["envs"]["ASCEND_VISIBLE_DEVICES"] == "0,2"
        assert mended["total"] == 12


async def test_who_holds_which_npu_is_shown(fake_dcmi: Path) -> None:
    """As the kubelet's own account says, read soon after an Allocate."""
    held = {"huawei.com/Ascend910": ids(3, 1)}
    pods = [
        {
            "name": "train-0",
            "namespace": "team",
            "containers": [{"name": "main", "devices": held}, {"name": "sidecar"}],
        }
    ]
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        await there.kubelet.do("pods", socket=str(there.pod_resources), pods=pods)
        await allocate(there, ids(3, 1))
        status = await agent.until(lambda now: npu(now, 1)["holders"])

        holders = {phy: npu(status, phy)["holders"] for phy in range(4)}
        assert holders == {0: [], 1: ["team/train-0/main"], 2: [], 3: ["team/train-0/main"]}


async def test_an_image_is_told_to_count_from_zero_where_it_needs_that(fake_dcmi: Path) -> None:
    """AL-13: beside whatever else the way in says."""
    async with node(fake_dcmi, FOUR) as there, there.serving("--logical-ids"):
        (granted,) = await allocate(there, ids(3, 1))

        assert granted["envs"]["ASCEND_VISIBLE_DEVICES"] == "1,3"
        assert granted["envs"]["ASCEND_RT_VISIBLE_DEVICES"] == "0,1"
