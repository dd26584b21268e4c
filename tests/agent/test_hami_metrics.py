"""The whole agent tells HAMi's metrics of a pod in soft mode: real processes, real time."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ascend_agent.bus import Bus
from ascend_agent.settings import DialectName, Settings
from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import pod as pod_item
from ascend_agent.wiring.hami import meter_of
from tests.agent.scene import node
from tests.agent.test_api_server import FOUR, has_node, options
from tests.host.shm_samples import vector

pytestmark = pytest.mark.peer

WORD = "Ascend910B3"
LIMIT = 30064771072
USED = (6442450944, 2147483648)


def of_pod(page: str, name: str) -> dict[tuple[str, str], float]:
    """Return a metric's values by the place inside the container and the die id."""
    return {
        (sample.labels["vdevice_index"], sample.labels["device_uuid"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == name and sample.labels["pod"] == "p7"
    }


async def test_a_soft_container_is_told_with_its_npus_in_its_own_order(fake_dcmi: Path) -> None:
    """OB-1, HAMi F1, F2: through files, driver, API server and page."""
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        root = there.home / "core"
        paths = ("--hami-root", str(root), "--hami-shared-region", str(there.home / "region"))
        hami = ("--dialect", "hami", *paths, *options(there, server))
        async with there.serving(*hami) as agent:
            status = await agent.until(lambda status: status["hami"] and status["api"]["pods"])
            assert status["hami"]["word"] == WORD
            dies = {npu["npu"]: npu["die"] for npu in status["npus"]}
            slot = ":".join(f"{dies[phy]},{WORD},28672,40" for phy in (1, 0))
            key, item = pod_item("p7")
            item["metadata"]["annotations"] = {f"hami.io/{WORD}-devices-allocated": f"{slot}:;"}
            item["spec"]["containers"] = [
                {
                    "name": "vllm",
                    "image": "i",
                    "resources": {"limits": {f"huawei.com/{WORD}": "2"}},
                }
            ]
            uid = server.store.create(key, item)["metadata"]["uid"]
            directory = root / "containers" / f"{uid}_vllm"
            directory.mkdir(parents=True)
            (directory / "vnpu_local_shmem").write_bytes(vector())
            await agent.until(lambda status: status["api"]["pods"]["count"] == 1)

            _, page = await agent.get("/metrics")

    told = [("0", dies[0]), ("1", dies[1])]
    assert of_pod(page, "hami_vgpu_memory_used_bytes") == dict(zip(told, USED, strict=True))
    assert of_pod(page, "hami_vgpu_memory_limit_bytes") == dict.fromkeys(told, LIMIT)
    assert page.count("\nhami_host_gpu_utilization_ratio{") == len(dies)
    assert f'ascend_agent_hami_info{{chip="910B3",resource="huawei.com/{WORD}"' in page


@pytest.mark.parametrize("host_sum", [True, False])
def test_the_memory_of_the_host_is_told_as_the_setting_says(host_sum: bool) -> None:  # noqa: FBT001 -- both ways
    """HAMi F7."""
    settings = Settings(dialect=DialectName.HAMI, node_name="n1", hami_host_sum=host_sum)

    assert meter_of(settings, Bus([]))().host_sum is host_sum
