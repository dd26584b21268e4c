from dataclasses import replace

import pytest

from ascend_agent.injection.runtime import INJECTION
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu
from tests.injection.npus import EDGE, TRAINING, UB, make
from tests.model.samples import unlisted


@pytest.mark.parametrize(
    ("npus", "envs"),
    [
        pytest.param(
            make(TRAINING, 10, 2, 2, 9),
            {"ASCEND_VISIBLE_DEVICES": "2,9,10", "ASCEND_RUNTIME_OPTIONS": ""},
            id="ids ascend by number and are unique",
        ),
        pytest.param(
            make(TRAINING, 4, 5, logic_from=0),
            {"ASCEND_VISIBLE_DEVICES": "4,5", "ASCEND_RUNTIME_OPTIONS": ""},
            id="physical ids on all others",
        ),
        pytest.param(
            make(UB, 4, 5, logic_from=0),
            {"ASCEND_VISIBLE_DEVICES": "0,1", "ASCEND_RUNTIME_OPTIONS": ""},
            id="logic ids on the 950",
        ),
        pytest.param(
            make(EDGE, 0),
            {
                "ASCEND_VISIBLE_DEVICES": "0",
                "ASCEND_RUNTIME_OPTIONS": "",
                "ASCEND_ALLOW_LINK": "True",
            },
            id="links on the 310B",
        ),
    ],
)
def test_the_runtime_is_told_by_environment(
    npus: list[tuple[Npu, ChipSpec]], envs: dict[str, str]
) -> None:
    """AL-13: images number their devices by position in the list."""
    wants = INJECTION.wants(npus, base_mounts=("/opt/driver",))

    assert wants.envs == envs
    assert wants == replace(wants, nodes=(), directories=(), mounts=(), cdi_devices=())


def test_an_npu_that_left_the_list_goes_by_its_last_address() -> None:
    ((npu, spec),) = make(UB, 4, logic_from=3)

    wants = INJECTION.wants([(unlisted(npu), spec)], base_mounts=None)

    assert wants.envs["ASCEND_VISIBLE_DEVICES"] == "3"
