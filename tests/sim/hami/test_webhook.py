"""What a pod looks like when it is created, and which are not."""

import pytest

from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.webhook import Denied, mutate
from ascend_agent.sim.hami.words import Json
from tests.sim.hami.pods import B3, chip, container, pod

NOW = VERSIONS["2.10"]
MEMORY = "huawei.com/Ascend910B3-memory"


def made(item: Json, *chips: object) -> Json:
    new = mutate(item, chips or (B3,), NOW)  # type: ignore[arg-type]
    assert not isinstance(new, Denied), new
    return new


def limits(item: Json) -> dict[str, str]:
    found: dict[str, str] = item["spec"]["containers"][0]["resources"]["limits"]
    return found


def test_memory_of_a_hard_slice_is_rounded_and_the_scheduler_named() -> None:
    new = made(pod(container(count=1, memory=10000)))

    assert limits(new)[MEMORY] == "16384"
    assert new["spec"]["containers"][0]["resources"]["requests"] == {MEMORY: "16384"}
    assert new["spec"]["schedulerName"] == "hami-scheduler"


def test_memory_of_a_soft_slice_stays() -> None:
    assert limits(made(pod(container(count=1, memory=10000), soft=True)))[MEMORY] == "10000"


def test_no_memory_becomes_that_of_a_card() -> None:
    assert limits(made(pod(container(count=4))))[MEMORY] == "65536"


def test_one_npu_of_a_module_becomes_two() -> None:
    super_pod = chip(super_pod=True)

    assert limits(made(pod(container(count=1)), super_pod))["huawei.com/Ascend910B3"] == "2"
    assert isinstance(mutate(pod(container(count=3)), [super_pod], NOW), Denied)


def test_what_others_schedule_stays_as_it_is() -> None:
    other = pod(container(count=1))
    other["spec"]["schedulerName"] = "other"
    ignored = pod(container(count=1))
    ignored["metadata"]["labels"] = {"hami.io/webhook": "ignore"}
    without = pod(container())

    assert made(other) is other
    assert made(ignored) is ignored
    assert made(without) == without


def test_the_users_own_pod_is_not_changed() -> None:
    item = pod(container(count=1, memory=1))
    made(item)

    assert limits(item)[MEMORY] == "1"


def privileged() -> Json:
    item = pod(container(count=1), container("other"))
    item["spec"]["containers"][1]["securityContext"] = {"privileged": True}
    return item


def placed() -> Json:
    item = pod(container(count=1))
    item["spec"]["nodeName"] = "n1"
    return item


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (pod(container(count=1, memory=70000)), "70000 MiB is more than a card"),
        (pod(container(count=2, memory=16384)), "a slice is of one NPU"),
        (pod(container(count=1, core=40)), "is for soft slices"),
        (privileged(), "privileged"),
        (placed(), "has a node already"),
    ],
)
def test_some_are_denied(item: Json, reason: str) -> None:
    new = mutate(item, [B3], NOW)

    assert isinstance(new, Denied)
    assert reason in new.reason


def test_cores_of_a_hard_slice_are_let_through_before_2_10() -> None:
    assert not isinstance(mutate(pod(container(count=1, core=40)), [B3], VERSIONS["2.9"]), Denied)


def test_the_class_and_the_empty_variable_are_as_configured() -> None:
    one = chip(runtime_class="ascend", overwrite_env=True)
    new = made(pod(container(count=1), container("side")), one)

    assert new["spec"]["runtimeClassName"] == "ascend"
    assert "env" not in new["spec"]["containers"][0]
    assert new["spec"]["containers"][1]["env"] == [{"name": "ASCEND_VISIBLE_DEVICES", "value": ""}]
