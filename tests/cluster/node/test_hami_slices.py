"""Hard slices and whole cards of HAMi, on a real kubelet and in a real container.

No runtime of the vendor's is there to act on the environment, so nothing is cut.
"""

import pytest

from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.devices import taken
from tests.cluster.node.hami import (
    NPUS,
    RESOURCE,
    TO_ALLOCATE,
    HamiScene,
    annotations,
    chosen,
    dies,
    listed,
)
from tests.cluster.node.hami_pods import container
from tests.cluster.node.limited.build import PLACE

pytestmark = pytest.mark.cluster


async def test_a_hard_slice_is_told_its_template_and_gets_no_file(hami: HamiScene) -> None:
    """Beside what a pod without NPUs has, it has two variables and nothing else."""
    async with hami.serving() as agent:
        await hami.scene.create("bare", 0)
        await hami.create("hard", container(npus=1, memory=16384))
        inside = await hami.inside("hard")
        bare = await hami.inside("bare")
        pod = await hami.settled("hard")
        npus = await chosen(agent, pod)

    assert inside.environment.items() - bare.environment.items() == {
        ("ASCEND_VISIBLE_DEVICES", listed(npus[0])),
        ("ASCEND_VNPU_SPECS", "vir05_1c_16g"),
    }
    assert inside.mounts.keys() - bare.mounts.keys() == {PLACE}
    assert inside.driver_mounts() == {}
    assert not inside.has("/etc/ld.so.preload")
    assert annotations(pod)[TO_ALLOCATE] == ";"


@pytest.mark.parametrize("count", [1, NPUS])
async def test_whole_cards_are_told_in_ascending_order(hami: HamiScene, count: int) -> None:
    """AL-13: the list is in the order in which a container counts its devices."""
    async with hami.serving() as agent:
        await hami.create("whole", container(npus=count))
        inside = await hami.inside("whole")
        npus = await chosen(agent, await hami.settled("whole"))

    assert inside.npu_variables() == {"ASCEND_VISIBLE_DEVICES": listed(npus[0])}
    assert len(npus[0]) == count
    assert inside.driver_mounts() == {}
    assert not inside.has("/etc/ld.so.preload")


@pytest.mark.parametrize("hami", ["2.5", "2.8", "2.10", "volcano"], indirect=True)
async def test_each_container_gets_its_own_slot(hami: HamiScene) -> None:
    """HAMi A2, A9: two that ask, and one before them that does not, whoever schedules."""
    names = ("idle", "first", "second")
    async with hami.serving() as agent:
        await hami.create(
            "three",
            container("idle"),
            container("first", npus=1, memory=16384),
            container("second", npus=1, memory=32768),
        )
        inside = {name: await hami.inside("three", name) for name in names}
        pod = await hami.settled("three")
        first, second = [npus for npus in await chosen(agent, pod) if npus]

    assert {name: each.npu_variables() for name, each in inside.items()} == {
        "idle": {},
        "first": {
            "ASCEND_VISIBLE_DEVICES": listed(first),
            "ASCEND_VNPU_SPECS": "vir05_1c_16g",
        },
        "second": {
            "ASCEND_VISIBLE_DEVICES": listed(second),
            "ASCEND_VNPU_SPECS": "vir10_3c_32g",
        },
    }
    assert len(annotations(pod)[TO_ALLOCATE]) == len(dies(pod))  # nothing but semicolons


async def test_the_kubelet_takes_devices_of_the_npus_that_the_scheduler_chose(
    hami: HamiScene,
) -> None:
    """HAMi H4: so that PodResources, and what reads it, names the right NPUs.

    It is advice, of an agent that has heard of the pod; so here the kubelet hears of it later.
    """
    scene = hami.scene
    async with hami.serving() as agent:
        with scene.node.halted(KUBELET):
            await hami.create(
                "advised",
                container("one", npus=1, memory=16384),
                container("three", npus=3),
            )
            await agent.until(lambda status: status["api"]["pods"]["count"] == 1)
        await hami.inside("advised", "three")
        pod = await hami.settled("advised")
        found = await taken(
            scene.node.home.pod_resources,
            namespace=scene.namespace,
            pod="advised",
            resource=RESOURCE,
        )

    of_dies = {name: {each.rpartition("-")[0] for each in ids} for name, ids in found.items()}
    one, three = dies(pod)
    assert of_dies == {"one": set(one), "three": set(three)}
