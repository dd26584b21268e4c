import pytest

from ascend_agent.injection.visible import INJECTION
from ascend_agent.model.allocation import InjectionWants
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu
from tests.injection.npus import EDGE, TRAINING, UB, make


@pytest.mark.parametrize(
    ("npus", "ids"),
    [
        pytest.param(make(TRAINING, 10, 2, 9), "2,9,10", id="ascending by number"),
        pytest.param(make(TRAINING, 4, 4), "4", id="each once"),
        pytest.param(make(UB, 4, 5, logic_from=0), "4,5", id="physical ids on every chip"),
        pytest.param(make(EDGE, 0), "0", id="nothing else on any chip"),
    ],
)
def test_one_variable_names_the_npus(npus: list[tuple[Npu, ChipSpec]], ids: str) -> None:
    """HAMi E4: images number their devices by position, so the order of a slot misleads them."""
    wants = INJECTION.wants(npus, base_mounts=None)

    assert wants == InjectionWants(envs={"ASCEND_VISIBLE_DEVICES": ids})
    assert not INJECTION.reads_mounts
