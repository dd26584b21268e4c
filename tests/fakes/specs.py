"""The chip spec of a test's NPU."""

from ascend_agent import chips
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu


def spec_of(npu: Npu) -> ChipSpec:
    """Return the spec that the NPU's own identity leads to."""
    spec = chips.identify(npu.identity.chip)
    assert spec is not None
    return spec
