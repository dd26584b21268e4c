"""A pod of a scenario as an object."""

from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.hami.manifest import manifest
from tests.sim.hami.pods import B3, P3


def test_a_soft_slice_asks_for_memory_and_cores_by_annotation_and_limits() -> None:
    pod = ScenarioPod(at_s=1, pod="p", memory_mib=28672, core_percent=40, soft=True)
    item = manifest(pod, B3)

    assert item["metadata"] == {
        "name": "p",
        "namespace": "default",
        "annotations": {"huawei.com/vnpu-mode": "hami-core"},
    }
    (container,) = item["spec"]["containers"]
    assert container["resources"]["limits"] == {
        "huawei.com/Ascend910B3": "1",
        "huawei.com/Ascend910B3-memory": "28672",
        "huawei.com/Ascend910B3-core": "40",
    }


def test_each_container_asks_alike() -> None:
    item = manifest(ScenarioPod(at_s=1, pod="p", npus=2, containers=2), P3)

    assert item["metadata"]["annotations"] == {}
    assert [one["name"] for one in item["spec"]["containers"]] == ["main-0", "main-1"]
    limits = [one["resources"]["limits"] for one in item["spec"]["containers"]]
    assert limits == [{"huawei.com/Ascend310P": "2"}] * 2
