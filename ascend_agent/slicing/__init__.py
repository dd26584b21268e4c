"""Ways to cut an NPU, one file each: what the kubelet is offered, and what a container gets."""

from importlib import import_module
from typing import assert_never

from ascend_agent.interfaces import SlicingMode
from ascend_agent.model.allocation import SlicePlan
from ascend_agent.model.hami import SoftPaths
from ascend_agent.model.slices import Slice, SoftSlice, TemplateSlice, WholeSlice


def load_mode(name: str) -> SlicingMode:
    """Return the ``MODE`` of the file called *name* (dashes for underscores)."""
    mode: SlicingMode = import_module(f"{__name__}.{name.replace('-', '_')}").MODE
    return mode


def plan(cut: Slice, paths: SoftPaths) -> SlicePlan:
    """Return what a container of such a slice gets besides its NPUs."""
    match cut:
        case WholeSlice():
            return SlicePlan()
        case TemplateSlice():
            from ascend_agent.slicing import template  # noqa: PLC0415 -- only where NPUs are cut

            return template.plan(cut)
        case SoftSlice():
            from ascend_agent.slicing import soft  # noqa: PLC0415 -- as above

            return soft.plan(cut, paths)
        case _:
            assert_never(cut)
