"""Ways to cut an NPU, one file each: what the kubelet is offered, and what a container gets."""

from importlib import import_module

from ascend_agent.interfaces import SlicingMode


def load_mode(name: str) -> SlicingMode:
    """Return the ``MODE`` of the file called *name* (dashes for underscores)."""
    mode: SlicingMode = import_module(f"{__name__}.{name.replace('-', '_')}").MODE
    return mode
