"""What the agent would make of a survey."""

from ascend_agent.doctor.picture import Count, draw
from ascend_agent.model.health import HealthState
from ascend_agent.settings import Settings
from tests.doctor.scene import ASCEND, SICK, npu, survey


def test_healthy_npus_are_counted_as_the_kubelet_would() -> None:
    picture = draw(survey(npu(0), npu(1)), Settings())

    assert picture.counts == {ASCEND: Count(total=2, healthy=2)}


def test_an_npu_that_faults_take_out_is_counted_and_not_healthy() -> None:
    picture = draw(survey(npu(0), npu(1, health=SICK)), Settings())

    assert picture.counts == {ASCEND: Count(total=2, healthy=1)}
    assert picture.view.npus[1].state is HealthState.SEPARATED


def test_shares_multiply_the_devices() -> None:
    picture = draw(survey(npu(0), npu(1, health=SICK)), Settings(shares=4))

    assert picture.counts == {ASCEND: Count(total=8, healthy=4)}


def test_an_npu_whose_health_was_not_read_is_not_healthy() -> None:
    picture = draw(survey(npu(0, health=None, trouble=("no answer",))), Settings())

    assert picture.counts == {ASCEND: Count(total=1, healthy=0)}


def test_a_card_that_told_nothing_is_not_counted() -> None:
    picture = draw(survey(npu(0), npu(1, identity=None, spec=None, health=None)), Settings())

    assert picture.counts == {ASCEND: Count(total=1, healthy=1)}
    assert [spec.generation for _, spec in picture.npus] == ["910B"]


def test_a_node_without_npus_offers_nothing() -> None:
    assert draw(survey(), Settings()).counts == {}
