"""The kubelet's part of a story, at its times."""

import asyncio

from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.conductor import Conductor
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.kubelet import Listed, Started
from ascend_agent.sim.story import AdmitPod, CreatePod, DeletePod, RestartKubelet, TurnNode
from tests.sim.kubelet.plugins import FakePlugin, register, serving
from tests.sim.kubelet.stage import Stage, staged

TWO = {"Ascend910-0": True, "Ascend910-1": True}


class FakeCluster:
    """Remembers what was done to it."""

    def __init__(self) -> None:
        self.done: list[tuple[str, object]] = []

    async def create(self, pod: ScenarioPod) -> None:
        self.done.append(("create", pod.pod))

    async def delete(self, pod: str) -> None:
        self.done.append(("delete", pod))

    def set_soft(self, soft: bool) -> None:  # noqa: FBT001 -- as the seam demands
        self.done.append(("soft", soft))


def conductor(
    stage: Stage, told: list[Entry] | None = None, cluster: FakeCluster | None = None
) -> Conductor:
    return Conductor(
        kubelet=stage.kubelet,
        started=asyncio.get_running_loop().time(),
        tell=(told if told is not None else []).append,
        cluster=cluster,
    )


def names(stage: Stage) -> list[str]:
    return [pod.key for pod in stage.kubelet.pods]


async def test_an_act_waits_for_its_time() -> None:
    async with staged() as stage:
        clock = asyncio.get_running_loop().time
        began = clock()

        await conductor(stage).perform(RestartKubelet(at_s=10, down_s=0.5))

        assert clock() - began >= 10.5
        assert [(await stage.next(Started)).starts for _ in range(2)] == [1, 2]


async def test_a_pod_is_admitted_when_enough_devices_are_free() -> None:
    """A scheduler would hold it till then; admitted too early it would fail for good."""
    plugin = FakePlugin({"Ascend910-0": True, "Ascend910-1": False})
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        async with asyncio.TaskGroup() as group:
            act = AdmitPod(at_s=0, name="training-0", count=2)
            group.create_task(conductor(stage).perform(act))
            await register(stage.socket)
            await stage.next(Listed)
            assert names(stage) == []

            plugin.offer(TWO)

        assert names(stage) == ["default/training-0"]


async def test_a_pod_that_fails_is_told() -> None:
    plugin = FakePlugin(TWO)
    plugin.refuses = "davinci0 is missing"
    told: list[Entry] = []
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await register(stage.socket)
        await stage.next(Listed)

        await conductor(stage, told).perform(AdmitPod(at_s=0, name="p", count=1))

    (entry,) = told
    assert (entry.event, entry.facts["pod"]) == ("admission_failed", "default/p")
    assert "davinci0 is missing" in str(entry.facts["reason"])


async def test_people_act_on_a_cluster_where_there_is_one() -> None:
    acts = (
        CreatePod(at_s=1, pod=ScenarioPod(at_s=1, pod="a")),
        TurnNode(at_s=2, soft=True),
        DeletePod(at_s=3, name="a"),
    )
    cluster, told = FakeCluster(), list[Entry]()
    async with staged() as stage:
        for act in acts:
            await conductor(stage, told, cluster).perform(act)
            await conductor(stage, told).perform(act)

    assert cluster.done == [("create", "a"), ("soft", True), ("delete", "a")]
    assert [(entry.event, entry.facts) for entry in told] == [("mode", {"slices": "soft"})]
