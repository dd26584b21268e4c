"""Which story is told."""

from pathlib import Path

import pytest

from ascend_agent.errors import ConfigError
from ascend_agent.settings import DialectName, Settings, SimulatedNode
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.stories import story_of
from ascend_agent.sim.story import AdmitPod, CreatePod


def test_without_a_scenario_it_is_the_dialects_own() -> None:
    plain = story_of(Settings(), has_scenario=False)
    hami = story_of(Settings(dialect=DialectName.HAMI), has_scenario=False, for_s=10)

    assert any(isinstance(act, AdmitPod) for act in plain.acts)
    assert any(isinstance(act, CreatePod) for act in hami.acts)
    assert hami.ends_s == 10


def test_with_one_it_has_the_pods_that_the_dialect_can_place() -> None:
    node = SimulatedNode(pods=(ScenarioPod(at_s=1, pod="a"),))
    plain = story_of(Settings(simulated=node), has_scenario=True)
    hami = story_of(Settings(simulated=node, dialect=DialectName.HAMI), has_scenario=True)

    assert {type(act) for act in plain.acts} == {AdmitPod}
    assert [type(act) for act in hami.acts] == [CreatePod]


@pytest.mark.parametrize("has_scenario", [False, True])
def test_chips_that_can_not_be_read_are_told_before_it_begins(
    tmp_path: Path, *, has_scenario: bool
) -> None:
    settings = Settings(dialect=DialectName.HAMI, device_config=tmp_path / "none.yaml")

    with pytest.raises(ConfigError, match=r"none\.yaml: is not there; give"):
        story_of(settings, has_scenario=has_scenario)
