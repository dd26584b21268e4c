"""Which NPUs this agent has switched sharing on for: ``shares.json``, which outlives a restart.

    {"format": 1, "sha256": "<of the dies>", "dies": ["..."]}

Decides its form, and that a damaged one names none: what was switched on then simply stays so.
When a flag is taken back is decided in ``flows/own_shares``.
"""

import json
import logging
from collections.abc import Collection
from hashlib import sha256
from typing import Final

from ascend_agent.errors import DamagedFileError
from ascend_agent.interfaces import StateFile
from ascend_agent.model.ids import DieId

log = logging.getLogger(__name__)

SHARES: Final = "shares.json"
_FORMAT: Final = 1
_MOST: Final = 4096
_LONGEST_DIE: Final = 100


class FileShareRecord:
    """Implements ``interfaces.ShareRecord`` in a state file."""

    def __init__(self, file: StateFile) -> None:
        self._file = file

    async def read(self) -> frozenset[DieId]:
        """Return the dies; HostError where they can't be read now."""
        try:
            text = await self._file.read()
            return frozenset() if text is None else parse_dies(text)
        except (DamagedFileError, ValueError) as error:
            aside = await self._file.set_aside()
            log.warning("share record damaged", extra={"why": str(error), "kept_as": aside})
            return frozenset()

    async def write(self, dies: Collection[DieId]) -> None:
        """Have the record name *dies*, the lowest of too many; HostError: the old one stands."""
        await self._file.write(format_dies(sorted(dies)[:_MOST]))


def format_dies(dies: Collection[DieId]) -> str:
    """Return the text of a record."""
    named = sorted(dies)
    document = {"format": _FORMAT, "sha256": _checksum(named), "dies": named}
    return json.dumps(document, separators=(",", ":")) + "\n"


def parse_dies(text: str) -> frozenset[DieId]:
    """Return the dies of a record; ValueError says why it can't be one of ours."""
    try:
        document: object = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(document, dict) or document.keys() != {"format", "sha256", "dies"}:
        raise ValueError("not one of ours, which have format, sha256 and dies")
    dies = document["dies"]
    if document["format"] != _FORMAT or not isinstance(dies, list) or len(dies) > _MOST:
        raise ValueError(f"not of format {_FORMAT}")
    if not all(isinstance(die, str) and 0 < len(die) <= _LONGEST_DIE for die in dies):
        raise ValueError("a die that is no serial")
    if document["sha256"] != _checksum(dies):
        raise ValueError("its checksum is not that of its dies")
    return frozenset(DieId(die) for die in dies)


def _checksum(dies: Collection[str]) -> str:
    text = json.dumps(list(dies), separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
