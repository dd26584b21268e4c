"""Ways for NPUs to get into a container, one file each; ``resolve`` makes wants into a grant."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from ascend_agent.interfaces import Injection


def find_injections() -> Mapping[str, Injection]:
    """Return the ``INJECTION`` of every file in this folder that has one, by its name."""
    names = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    modules = [import_module(name) for name in names]
    ways: list[Injection] = [module.INJECTION for module in modules if hasattr(module, "INJECTION")]
    return {way.name: way for way in ways}
