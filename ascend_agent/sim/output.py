"""Where entries go when nobody watches a terminal: lines of text, or one JSON object a line."""

import json
from typing import Protocol, TextIO

from ascend_agent.errors import AgentError
from ascend_agent.sim.entries import Entry


class ReaderGoneError(AgentError):
    """Whoever read our lines has gone; there is nobody left to play for."""


class Audience(Protocol):
    """Whoever is told what happens."""

    def tell(self, entry: Entry) -> None:
        """Show *entry*; raises ReaderGoneError where nobody reads any more."""


class Lines:
    """Writes one line an entry, at once."""

    def __init__(self, *, stream: TextIO, started_ns: int, as_json: bool) -> None:
        self._stream = stream
        self._started_ns = started_ns
        self._as_json = as_json

    def tell(self, entry: Entry) -> None:
        """Write *entry*."""
        if self._as_json:
            line = json.dumps(entry.as_json(self._started_ns))
        else:
            line = entry.as_text(self._started_ns)
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except BrokenPipeError as error:
            raise ReaderGoneError("nobody reads the output") from error
