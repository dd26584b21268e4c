"""Ways to cut an NPU for the kubelet, one file each."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from ascend_agent.interfaces import SlicingMode


def find_modes() -> Mapping[str, SlicingMode]:
    """Return the ``MODE`` of every file in this folder, by its name."""
    names = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    modes: list[SlicingMode] = [import_module(name).MODE for name in names]
    return {mode.name: mode for mode in modes}
