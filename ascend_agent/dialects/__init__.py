"""How this agent and one scheduler speak, one scheduler a file.

``placement``, ``node_labels`` and ``node_annotations`` serve them all.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from ascend_agent.interfaces import SchedulerDialect


def find_dialects() -> Mapping[str, SchedulerDialect]:
    """Return the ``DIALECT`` of every file in this folder that has one, by its name."""
    names = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    modules = [import_module(name) for name in names]
    dialects: list[SchedulerDialect] = [m.DIALECT for m in modules if hasattr(m, "DIALECT")]
    return {dialect.name: dialect for dialect in dialects}
