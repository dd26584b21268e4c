"""Reads a long JSON object piece by piece, so that the loop has its turn in between.

A node may have hundreds of pods with a quarter MiB of annotations each. Read in one go their list
would hold a fault up for half a second, in a thread too: the standard library's parser lets nobody
else run.
"""

import asyncio
import json
import re
from typing import Final

from ascend_agent.cluster.fields import parse_json

_PIECE: Final = 128 * 1024
"""Characters, some two milliseconds of work; a single item may be longer."""

_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"[ \t\n\r]*")


async def parse_in_pieces(body: bytes) -> object:
    """Return what ``parse_json`` would; raises ValueError as that does.

    The items of each list right below the top are the pieces.
    """
    if len(body) <= _PIECE or body[:64].lstrip()[:1] != b"{":
        return parse_json(body)
    try:
        return await _Pieces(body.decode()).document()
    except RecursionError:
        raise ValueError("the JSON is nested too deep to be read") from None


class _Pieces:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._turn_at = _PIECE

    async def document(self) -> dict[str, object]:
        self._need("{")
        found: dict[str, object] = {}
        more = not self._took("}")
        while more:
            key = self._value()
            if not isinstance(key, str):
                raise ValueError(f"a name is no text at character {self._at}")  # noqa: TRY004 -- wrong content, not a wrong call
            self._need(":")
            found[key] = await self._items() if self._took("[") else self._value()
            more = self._took(",")
            if not more:
                self._need("}")
        self._skip()
        if self._at != len(self._text):
            raise ValueError(f"more than one value at character {self._at}")
        return found

    async def _items(self) -> list[object]:
        items: list[object] = []
        more = not self._took("]")
        while more:
            items.append(self._value())
            if self._at >= self._turn_at:
                self._turn_at = self._at + _PIECE
                await asyncio.sleep(0)
            more = self._took(",")
            if not more:
                self._need("]")
        return items

    def _value(self) -> object:
        self._skip()
        value: object
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _need(self, char: str) -> None:
        if not self._took(char):
            raise ValueError(f"{char} is missing at character {self._at}")

    def _took(self, char: str) -> bool:
        """Step over *char*, if it comes next."""
        self._skip()
        comes = self._text.startswith(char, self._at)
        self._at += comes
        return comes

    def _skip(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None  # noqa: S101 -- none at all match, too
        self._at = blanks.end()
