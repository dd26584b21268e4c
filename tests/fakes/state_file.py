"""A file of the host, in memory."""

import asyncio
from dataclasses import dataclass, field

from ascend_agent.errors import DamagedFileError, HostError
from ascend_agent.faults.persisted import Saved, parse_document


@dataclass
class FakeStateFile:
    """Implements ``interfaces.StateFile``.

    ``error`` fails each call; ``hangs`` has writes never end. ``written`` has each text with the
    loop time at which it was there; ``aside`` what was set aside.
    """

    text: str | None = None
    error: HostError | None = None
    aside: list[str | None] = field(default_factory=list)
    written: list[tuple[float, str]] = field(default_factory=list)
    reads: int = 0
    writes: int = 0
    hangs: bool = False

    async def read(self) -> str | None:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.text

    async def write(self, text: str) -> None:
        self.writes += 1
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        self.text = text
        self.written.append((asyncio.get_running_loop().time(), text))

    async def set_aside(self) -> str:
        if self.error is not None and not isinstance(self.error, DamagedFileError):
            raise self.error
        self.aside.append(self.text)
        self.text, self.error = None, None
        return "isolation.json.damaged-1"

    def saved(self) -> Saved:
        """Return what the file says; it is there and sound."""
        assert self.text is not None
        saved = parse_document(self.text)
        assert isinstance(saved, Saved)
        return saved
