"""A part of one NPU that the vendor's container runtime cuts when it creates the container.

Decides nothing but how the runtime is told. Which template, and that it is for one NPU only, is
the dialect's decision.
"""

from typing import Final

from ascend_agent.model.allocation import SlicePlan
from ascend_agent.model.slices import TemplateSlice

_SPECS: Final = "ASCEND_VNPU_SPECS"


def plan(cut: TemplateSlice) -> SlicePlan:
    """Return the variable that names the template; the runtime accepts it with one NPU alone."""
    return SlicePlan(envs={_SPECS: cut.template})
