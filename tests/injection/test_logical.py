import dataclasses

import pytest

from ascend_agent.injection import cdi, devnodes, runtime, visible
from ascend_agent.injection.logical import WithLogicalIds
from ascend_agent.interfaces import Injection
from tests.injection.npus import TRAINING, make


@pytest.mark.parametrize("way", [runtime.INJECTION, devnodes.INJECTION, cdi.INJECTION])
def test_an_image_is_told_to_count_from_zero(way: Injection) -> None:
    """AL-13: jobs failed unless the first cards of the node were assigned."""
    npus = make(TRAINING, 3, 4, 12)
    plain = way.wants(npus, base_mounts=None)

    told = WithLogicalIds(way).wants(npus, base_mounts=None)

    assert told.envs == {**plain.envs, "ASCEND_RT_VISIBLE_DEVICES": "0,1,2"}
    assert dataclasses.replace(told, envs=plain.envs) == plain


@pytest.mark.parametrize("way", [runtime.INJECTION, devnodes.INJECTION])
def test_the_host_is_asked_for_what_the_way_underneath_needs(way: Injection) -> None:
    assert WithLogicalIds(way).reads_mounts is way.reads_mounts


def test_it_is_called_as_the_way_underneath() -> None:
    """Who cuts a template goes by the name, so no template was given with logical ids."""
    assert WithLogicalIds(visible.INJECTION).name == visible.INJECTION.name
