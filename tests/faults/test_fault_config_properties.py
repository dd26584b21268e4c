"""Whatever anybody writes into the files or the ConfigMap: an answer, never an exception."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fault_config import FILES, FaultConfig, Sources, judge

pytestmark = pytest.mark.slow

KEYS = st.sampled_from(
    [
        "NotHandleFaultCodes",
        "RestartNPUCodes",
        "SeparateNPUNetworkCodes",
        "SeparateFaultCodes",
        "ResetFaultCodes",
        "FaultFrequency",
        "FaultDuration",
        "GraceTolerance",
        "EventId",
        "TimeWindow",
        "Times",
        "FaultHandling",
        "ReleaseTimeWindow",
        "FaultTimeout",
        "RecoverTimeout",
        "surprise",
    ]
)
TEXTS = st.sampled_from(["80E18005", "81078603", "[0x1,2,npu,na]", "SeparateNPU", "", "xyz"])
WORDS = st.text(
    '80E18005xyz[],{}:" \\\n\u0664\U0001f4a5'
)  # all characters make the first draw slow
SCALARS = st.none() | st.booleans() | st.integers(-5, 10**10) | st.floats() | TEXTS | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda each: st.lists(each, max_size=4) | st.dictionaries(KEYS, each, max_size=5),
    max_leaves=12,
)
DOCUMENTS = VALUES.map(json.dumps) | st.dictionaries(KEYS, VALUES).map(json.dumps) | WORDS


@given(st.lists(st.dictionaries(st.sampled_from(FILES), DOCUMENTS), max_size=4))
def test_no_content_is_too_strange(contents: list[dict[str, str]]) -> None:
    """And none of it makes the table forget a code (D31)."""
    config = FaultConfig()
    for data in contents:
        config = judge(config, Sources(config_map="ConfigMap a/b", data=data))
        rules = config.rules()
        assert BUILT_IN.catalog.levels.keys() <= rules.catalog.levels.keys()
        assert BUILT_IN.catalog.network_levels.keys() == rules.catalog.network_levels.keys()
        assert BUILT_IN.switches.keys() <= rules.switches.keys()
        for part in config.parts.values():
            assert part.problems or not part.refused
            assert all(len(text) < 1000 for text in part.problems)


@settings(max_examples=40)
@given(st.lists(st.dictionaries(st.sampled_from(FILES), DOCUMENTS), min_size=1, max_size=4))
def test_what_was_offered_before_does_not_matter_once_it_is_gone(
    contents: list[dict[str, str]],
) -> None:
    config = FaultConfig()
    for data in contents:
        config = judge(config, Sources(config_map="ConfigMap a/b", data=data))

    assert judge(config, Sources(config_map="ConfigMap a/b", data=None)) == FaultConfig()
