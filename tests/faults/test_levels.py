"""What each level means for an NPU, as a table; and the worst of several."""

from itertools import pairwise

import pytest

from ascend_agent.faults.levels import RANK, breaks_network, takes_out, worst
from ascend_agent.model.fault import FaultLevel

MILD = {FaultLevel.NOT_HANDLE, FaultLevel.SUB_HEALTH}


@pytest.mark.parametrize("level", FaultLevel)
def test_every_level_but_the_two_mildest_takes_an_npu_out(level: FaultLevel) -> None:
    """PreSeparateNPU alone asks whether somebody uses it."""
    assert takes_out(level, in_use=False) is (level not in MILD)
    spared = {*MILD, FaultLevel.PRE_SEPARATE_NPU}
    assert takes_out(level, in_use=True) is (level not in spared)


@pytest.mark.parametrize("level", FaultLevel)
def test_a_degraded_network_is_fit_and_use_spares_none(level: FaultLevel) -> None:
    """D21."""
    assert breaks_network(level) is (level not in MILD)


def test_the_worst_level_is_the_one_the_vendor_ranks_highest() -> None:
    levels = list(FaultLevel)

    for milder, harder in pairwise(levels):
        assert worst([milder, harder]) is worst([harder, milder]) is harder
        assert RANK[milder] < RANK[harder]


def test_pre_separation_ranks_above_a_restart() -> None:
    """It is what is published, though each cause is asked by itself (D20)."""
    ranked = [FaultLevel.RESTART_NPU, FaultLevel.PRE_SEPARATE_NPU, FaultLevel.SUB_HEALTH]

    assert worst(ranked) is FaultLevel.PRE_SEPARATE_NPU


def test_of_no_level_there_is_no_worst_and_of_one_it_is_that() -> None:
    assert worst([]) is None
    assert worst(iter([FaultLevel.SUB_HEALTH])) is FaultLevel.SUB_HEALTH
