"""How this agent and one scheduler speak, one scheduler a file or folder.

``placement``, ``node_labels`` and ``node_annotations`` serve them all.
"""

from importlib import import_module

from ascend_agent.interfaces import SchedulerDialect


def load_dialect(name: str) -> SchedulerDialect:
    """Return the ``DIALECT`` of the file called *name*; the others are not even imported."""
    dialect: SchedulerDialect = import_module(f"{__name__}.{name}").DIALECT
    return dialect
