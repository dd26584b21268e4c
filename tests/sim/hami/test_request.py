"""What containers ask for, and to what a request of memory is rounded."""

import pytest

from ascend_agent.sim.hami.request import ContainerAsk, asks_of, quantity, trim
from ascend_agent.sim.hami.versions import VERSIONS
from tests.sim.hami.pods import B3, P3, chip, container, pod


@pytest.mark.parametrize(
    ("memory", "granted"),
    [
        (1, (16384, "vir05_1c_16g")),
        (16384, (16384, "vir05_1c_16g")),
        (16385, (32768, "vir10_3c_32g")),
        (32769, (65536, "")),
        (70000, None),
    ],
)
def test_a_910b3_is_cut_by_templates(memory: int, granted: tuple[int, str] | None) -> None:
    assert trim(B3, memory) == granted


@pytest.mark.parametrize(
    ("memory", "granted"),
    [(4096, (6144, "vir02")), (12289, (21527, "")), (24576, (21527, "")), (24577, None)],
)
def test_a_310p_counts_up_to_its_capacity_as_whole(
    memory: int, granted: tuple[int, str] | None
) -> None:
    assert trim(P3, memory) == granted


def test_init_containers_ask_since_2_9() -> None:
    one = pod(container("a"), container("b", 1, memory=16384), inits=(container("i", 2),))

    assert [(ask.name, ask.count, ask.init) for ask in asks_of(one, B3, VERSIONS["2.10"])] == [
        ("i", 2, True),
        ("a", 0, False),
        ("b", 1, False),
    ]
    assert [ask.name for ask in asks_of(one, B3, VERSIONS["2.8"])] == ["a", "b"]


def test_no_memory_means_all_of_it() -> None:
    assert asks_of(pod(container(count=1)), B3, VERSIONS["2.10"]) == (
        ContainerAsk(name="main", count=1, memory_mib=None, core_percent=0),
    )


def test_hami_2_9_rounds_a_soft_request_without_cores_too() -> None:
    soft = pod(container(count=1, memory=10000), soft=True)
    with_core = pod(container(count=1, memory=10000, core=40), soft=True)

    assert asks_of(soft, B3, VERSIONS["2.9"])[0].memory_mib == 16384
    assert asks_of(soft, B3, VERSIONS["2.10"])[0].memory_mib == 10000
    assert asks_of(with_core, B3, VERSIONS["2.9"])[0].memory_mib == 10000


def test_memory_counts_in_the_configured_unit() -> None:
    soft = pod(container(count=1, memory=10), soft=True)

    assert asks_of(soft, chip(memory_factor=1024), VERSIONS["2.10"])[0].memory_mib == 10240


def test_a_request_stands_in_for_a_limit_and_nonsense_for_none() -> None:
    only_request = {"name": "a", "resources": {"requests": {"x": "3"}}}
    nonsense = {"name": "a", "resources": {"limits": {"x": "1k"}}}

    assert (quantity(only_request, "x"), quantity(nonsense, "x"), quantity({}, "x")) == (3, 0, 0)
