"""Cuts a watch's byte stream into lines, whatever their length, up to a cap (AP-4)."""


class Lines:
    """Puts chunks together to lines; one above *limit* bytes is thrown away and counted."""

    def __init__(self, *, limit: int) -> None:
        self.skipped = 0
        self._limit = limit
        self._parts: list[bytes] = []  # of the line that has not ended yet
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that *chunk* completes, without their ends, empty ones left out."""
        *ends, rest = chunk.split(b"\n")
        lines = []
        for end in ends:
            self._take(end)
            if not self._skipping and self._size:
                lines.append(b"".join(self._parts))
            self._start()
        self._take(rest)
        return lines

    def _take(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            return
        if self._size > self._limit:
            self._skipping = True
            self.skipped += 1
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _start(self) -> None:
        self._parts.clear()
        self._size = 0
        self._skipping = False
