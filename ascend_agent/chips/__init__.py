"""Chip generations, one file each; adding a generation touches no other file.

Decides which generation a chip is. What the driver says of a chip is read elsewhere; what becomes
of a chip that no file here recognises is decided by ``flows``.
"""

import pkgutil
from importlib import import_module
from typing import Final

from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import ChipIdentity


def _find_specs() -> tuple[ChipSpec, ...]:
    """Return the ``SPEC`` of every file in this folder, in the order in which they are tried."""
    names = [found.name for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    specs: list[ChipSpec] = [import_module(name).SPEC for name in names]
    return tuple(sorted(specs, key=lambda spec: spec.precedence))


SPECS: Final = _find_specs()


def identify(chip: ChipIdentity) -> ChipSpec | None:
    """Return the generation of *chip*, or None where no file here recognises it."""
    return next((spec for spec in SPECS if spec.recognises(chip)), None)
