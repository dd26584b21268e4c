"""Where whoever wants to ask the API server waits until there is a connection to ask on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ascend_agent.cluster.server import ApiServer


class Door:
    """The current connection; there may be none for as long as credentials are missing."""

    def __init__(self) -> None:
        self._server: ApiServer | None = None
        self._opened = asyncio.Event()

    async def server(self) -> ApiServer:
        """Return the connection as soon as there is one; the caller sets the deadline."""
        while self._server is None:
            await self._opened.wait()
        return self._server

    @contextmanager
    def open_to(self, server: ApiServer) -> Iterator[None]:
        """Let everybody ask *server* while the block runs."""
        self._server = server
        self._opened.set()
        try:
            yield
        finally:
            self._server = None
            self._opened.clear()
