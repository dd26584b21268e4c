"""The agent's small HTTP server: when it starts, and what it needs to be told.

What the pages say is decided by whoever implements ``Pages``; how they are served, in
``http_site``. That module and aiohttp behind it are loaded on a thread when the server starts:
it takes 0.2 to 0.5 s, and nobody who waits for NPUs should wait for it (D10).
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.threads import Threads

if TYPE_CHECKING:
    from ascend_agent.telemetry.http_site import Site

log = logging.getLogger(__name__)

_LOAD_S = 60.0


class Pages(Protocol):
    """What there is to tell.

    The probes' two are asked on the loop's thread; the others take milliseconds, which would stand
    between a fault and the kubelet, so they are asked on a thread of their own.
    """

    def healthz(self) -> tuple[bool, str]:
        """Return whether this process should live on, and why not."""

    def readyz(self) -> tuple[bool, str]:
        """Return whether this node's NPUs are offered, and why not."""

    def status(self) -> Mapping[str, object]:
        """Return everything that is true now, for ``/status``, in JSON's own types."""

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""

    def index(self) -> str:
        """Return the page for people, as HTML."""


class HttpServer:
    """Serves ``/metrics``, ``/healthz``, ``/readyz``, ``/status`` and ``/`` while it runs.

    An empty *address* means all addresses of the host, port 0 any free port. ``bound`` is where it
    listens; it is told each time the server starts.
    """

    def __init__(self, *, address: str, port: int, pages: Pages) -> None:
        self._address = address
        self._port = port
        self._pages = pages
        self._threads = Threads(name="http", limit=1)
        self.bound: Latest[tuple[str, int]] = Latest("http address")
        self._bound = self.bound.claim("http")

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            HostError: the address can't be used; the text names it and the remedy.

        """
        make_site = await self._threads.run(_load, deadline_s=_LOAD_S)
        async with make_site(pages=self._pages, threads=self._threads) as site:
            host, port = await site.listen(self._address, self._port)
            self._bound.put((host, port))
            log.info("http server listens", extra={"address": host, "port": port})
            await asyncio.get_running_loop().create_future()


def _load() -> "type[Site]":
    from ascend_agent.telemetry.http_site import Site  # noqa: PLC0415 -- see the docstring above

    return Site
