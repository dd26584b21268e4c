"""The Node object against what the driver shows (CF-4, CF-10)."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.doctor.answers import ClusterFacts, OwnNode
from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.own_node import CHECK
from tests.doctor.hami import hami_npu, hami_place
from tests.doctor.scene import ASCEND, FACTS, SICK, found, npu, place, survey, the_one

TWO = survey(npu(0), npu(1))


def showing(
    capacity: dict[str, str] | None = None, allocatable: dict[str, str] | None = None
) -> ClusterFacts:
    node = OwnNode(capacity=capacity or {}, allocatable=allocatable or {})
    return dataclasses.replace(FACTS, node=node)


async def test_a_node_that_shows_what_there_is_is_fine(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path, driver=TWO, cluster=FACTS))

    assert (finding.verdict, finding.what) == (Verdict.OK, "node shows its npus")


async def test_an_unhealthy_npu_is_in_capacity_alone(tmp_path: Path) -> None:
    cluster = showing(capacity={ASCEND: "2"}, allocatable={ASCEND: "1"})
    driver = survey(npu(0), npu(1, health=SICK))

    assert (await the_one(CHECK, place(tmp_path, driver=driver, cluster=cluster))).verdict is (
        Verdict.OK
    )


@pytest.mark.parametrize(
    ("capacity", "allocatable", "verdict", "what"),
    [
        ({}, {}, Verdict.FAIL, "node shows no npu"),
        ({ASCEND: "2"}, {ASCEND: "0"}, Verdict.FAIL, "node shows no npu"),
        ({ASCEND: "2"}, {ASCEND: "1"}, Verdict.WARN, "node shows other numbers"),
        ({ASCEND: "16"}, {ASCEND: "16"}, Verdict.WARN, "node shows other numbers"),
    ],
)
async def test_other_numbers_than_the_drivers_are_told(
    tmp_path: Path,
    capacity: dict[str, str],
    allocatable: dict[str, str],
    verdict: Verdict,
    what: str,
) -> None:
    """The node shows 0 devices, and the driver has two."""
    cluster = showing(capacity=capacity, allocatable=allocatable)

    finding = await the_one(CHECK, place(tmp_path, driver=TWO, cluster=cluster))

    assert (finding.verdict, finding.what) == (verdict, what)


async def test_resources_of_another_plugin_are_named(tmp_path: Path) -> None:
    cluster = showing(
        capacity={ASCEND: "2", "huawei.com/Ascend910B3": "20", "huawei.com/Old": "0"},
        allocatable={ASCEND: "2"},
    )

    warning, _ = await CHECK.look(place(tmp_path, driver=TWO, cluster=cluster))

    assert (warning.verdict, warning.detail) == (Verdict.WARN, "huawei.com/Ascend910B3: 20")


async def test_annotations_of_another_plugin_are_named(tmp_path: Path) -> None:
    """HAMi's scheduler goes on counting NPUs by them."""
    cluster = dataclasses.replace(
        FACTS,
        node=OwnNode(
            capacity={ASCEND: "2"},
            allocatable={ASCEND: "2"},
            annotations={"hami.io/node-register-Ascend910B": "[]", "other": "x"},
        ),
    )

    warning, _ = await CHECK.look(place(tmp_path, driver=TWO, cluster=cluster))

    assert (warning.verdict, warning.detail) == (
        Verdict.WARN,
        "hami.io/node-register-Ascend910B",
    )


async def test_a_node_that_is_not_there_fails(tmp_path: Path) -> None:
    cluster = dataclasses.replace(FACTS, node="the cluster has no node 'n9'")

    finding = await the_one(CHECK, place(tmp_path, driver=TWO, cluster=cluster))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "own node not found")


async def test_without_a_driver_the_numbers_are_not_judged(tmp_path: Path) -> None:
    assert await found(CHECK, place(tmp_path, cluster=FACTS)) == [
        (Verdict.SKIPPED, "numbers of the node")
    ]


async def test_a_node_without_npus_is_fine(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path, driver=survey(), cluster=showing()))).verdict is (
        Verdict.OK
    )


async def test_without_an_api_server_there_is_no_node_to_look_at(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path, driver=TWO))).verdict is Verdict.SKIPPED


async def test_a_node_of_hamis_shows_its_own_words_and_only_others_are_foreign(
    tmp_path: Path,
) -> None:
    """CF-4: what the agent itself writes for HAMi's scheduler is no other plugin's."""
    own, other = "huawei.com/Ascend910B3", "huawei.com/Ascend910"
    node = OwnNode(
        capacity={own: "8", other: "2"},
        allocatable={own: "8"},
        annotations=dict.fromkeys(
            ("hami.io/node-register-Ascend910B3", "hami.io/node-handshake-Ascend310P"), "x"
        ),
    )
    cluster = dataclasses.replace(FACTS, node=node)
    driver = survey(hami_npu(0), hami_npu(1))
    resources, notes, numbers = await CHECK.look(
        hami_place(tmp_path, driver=driver, cluster=cluster)
    )

    assert resources.detail == f"{other}: 2"
    assert notes.detail == "hami.io/node-handshake-Ascend310P"
    assert (numbers.verdict, numbers.what) == (Verdict.OK, "node shows its npus")
