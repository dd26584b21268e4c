"""Follows one collection of the API server for ever: a list, then one watch after another.

Decided here: when to list, when to resume, how long to wait, and what counts as a dead peer
(docs/decisions/0007). What the objects mean is the sink's. Each way for a watch to go wrong ends in
one of two: resume from the last version seen, or list again where that version is no longer good.
What was seen so far stays in place meanwhile.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Protocol

from ascend_agent.cluster.fields import parse_json
from ascend_agent.cluster.lines import Lines
from ascend_agent.cluster.listing import Collection, list_all, version_in
from ascend_agent.cluster.pace import Pace
from ascend_agent.cluster.refusals import Asked, refusal_in_stream
from ascend_agent.cluster.retry import PATIENCE, delay_s
from ascend_agent.cluster.server import ApiServer, Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ClusterError, ClusterUnreachableError, ExpiredError, ForbiddenError
from ascend_agent.model.ids import ObjectVersion
from ascend_agent.runtime.backoff import Backoff, jittered

log = logging.getLogger(__name__)

_BACKOFF: Final = Backoff(delays_s=(0.2, 0.5, 1.0, 2.0, 5.0, 10.0), endless=True)
_HEALTHY_S: Final = 30.0  # a stream this long was no failure, however it ended
_STREAM_S: Final = (240, 300)  # the server's own limit for a stream, jittered
SILENCE_S: Final = 120.0
"""Seconds without a byte that end a stream: bookmarks come about once a minute."""

_COMPARE_S: Final = 600.0  # between full lists that repair events nobody delivered (AP-8)
_LISTS_AT_ONCE: Final = 3
_LIST_EVERY_S: Final = 20.0
_LARGEST_LINE: Final = 8 * 1024 * 1024


class Sink(Protocol):
    """Takes what a collection shows; objects are JSON as it came."""

    def replace(self, items: Sequence[object], version: ObjectVersion) -> None:
        """Take *items* for all there is, as of *version*."""

    def show(self, item: object) -> None:
        """Take the newest state of one object."""

    def remove(self, item: object) -> None:
        """Take one object for gone."""

    def set_live(self, *, live: bool) -> None:
        """Say whether what was shown is kept current."""

    def publish(self) -> None:
        """Let readers see all that was told since the last time."""


class CollectionWatch:
    """List and watch of one collection; *told* hears each failure, and None when all is well."""

    def __init__(
        self,
        *,
        collection: Collection,
        sink: Sink,
        told: Callable[[ClusterError | None], None],
        tally: Tally,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._silence_s = silence_s
        self._collection = collection
        self._sink = sink
        self._told = told
        self._tally = tally
        self._lists = Pace(burst=_LISTS_AT_ONCE, every_s=_LIST_EVERY_S)
        self._version: ObjectVersion | None = None
        self._listed = False
        self._compare_at = 0.0
        self._opened = False
        self._streamed_s = 0.0

    async def run(self, server: ApiServer) -> NoReturn:
        """Follow the collection until cancelled; what was shown is then no longer live."""
        try:
            await self._follow_for_ever(server)
        finally:
            self._sink.set_live(live=False)
            self._sink.publish()

    async def _follow_for_ever(self, server: ApiServer) -> NoReturn:
        failures = 0
        while True:
            error = await self._follow(server)
            if error is not None and self._is_trouble(error, failures):
                self._told(error)
            failures = 0 if self._streamed_s >= _HEALTHY_S else failures
            if error is None and self._streamed_s >= _HEALTHY_S:
                continue  # the server's own limit: go on at once
            await asyncio.sleep(delay_s(error, failures=failures, backoff=_BACKOFF))
            failures += 1

    async def _follow(self, server: ApiServer) -> ClusterError | None:
        """List if it is time to, then watch until the stream ends; return how it failed."""
        self._opened, self._streamed_s = False, 0.0
        try:
            if self._version is None or asyncio.get_running_loop().time() >= self._compare_at:
                await self._list(server)
            await self._watch(server)
        except ClusterError as error:
            # Not being up to date is worth saying at once; a stream that merely ended is not.
            self._sink.set_live(live=False)
            self._sink.publish()
            if isinstance(error, ExpiredError):
                self._version = None
                log.debug("watch expired", extra={"path": self._collection.path})
            return error
        return None

    def _is_trouble(self, error: ClusterError, failures: int) -> bool:
        """Return whether people should hear of it: a stream that ended is resumed (AP-5)."""
        if isinstance(error, ForbiddenError):
            return failures >= PATIENCE
        ended = self._opened and isinstance(error, ClusterUnreachableError)
        return not (ended or isinstance(error, ExpiredError))

    # --- listing ---------------------------------------------------------------------------

    async def _list(self, server: ApiServer) -> None:
        await self._lists.ready()
        try:
            # The first list may be a little old (SC-2): the watch goes on from there. Later ones
            # ask for the truth of this moment, so that time never runs back.
            items, version = await list_all(
                server, self._collection, cached=not self._listed, tally=self._tally
            )
        except ExpiredError:
            self._lists.charge()
            raise  # any other list that failed put no load on etcd
        self._lists.charge()
        self._version = version
        self._listed = True
        self._compare_at = asyncio.get_running_loop().time() + jittered(_COMPARE_S)
        self._sink.replace(items, version)
        self._sink.publish()

    # --- watching --------------------------------------------------------------------------

    async def _watch(self, server: ApiServer) -> None:
        self._tally.watches += 1
        asked = Asked(verb="watch", target=self._collection.path, rule=self._collection.rule)
        request = self._request(
            asked,
            self._collection.event_form,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", str(self._version)),
            ("timeoutSeconds", str(random.randint(*_STREAM_S))),  # noqa: S311 -- no secret
        )
        now = asyncio.get_running_loop().time
        lines = Lines(limit=_LARGEST_LINE)
        async with server.stream(request, silence_s=self._silence_s) as chunks:
            self._opened, opened = True, now()
            self._told(None)
            self._sink.set_live(live=True)
            self._sink.publish()
            try:
                async for chunk in chunks:
                    if not self._take_chunk(lines, chunk, asked):
                        # Some object's state is unknown now: the next round lists.
                        self._compare_at = 0.0
                        break
            finally:
                self._streamed_s = now() - opened
                self._tally.broken_streams += self._streamed_s < _STREAM_S[0]

    def _take_chunk(self, lines: Lines, chunk: bytes, asked: Asked) -> bool:
        """Take the events that *chunk* completes; return False where one could not be read."""
        readable = True
        for line in lines.feed(chunk):
            readable = self._take_event(line, asked) and readable
        if lines.skipped:
            self._tally.skipped_objects += lines.skipped
            log.warning(
                "oversize object skipped",
                extra={"path": self._collection.path, "limit": _LARGEST_LINE},
            )
        self._sink.publish()
        return readable and not lines.skipped

    def _take_event(self, line: bytes, asked: Asked) -> bool:
        """Take one event; return False where it is no JSON object."""
        try:
            event = parse_json(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self._tally.skipped_objects += 1
            return False
        item = event.get("object")
        match event.get("type"):
            case "ADDED" | "MODIFIED":
                self._sink.show(item)
            case "DELETED":
                self._sink.remove(item)
            case "BOOKMARK":
                pass  # its version is all it is for
            case "ERROR":
                raise refusal_in_stream(asked, item)
            case _:
                self._tally.unknown_events += 1
                return True
        self._version = version_in(item) or self._version
        return True

    def _request(self, asked: Asked, accept: str, *query: tuple[str, str]) -> Request:
        return Request(
            method="GET",
            path=self._collection.path,
            asked=asked,
            query=(("fieldSelector", self._collection.selector), *query),
            accept=accept,
        )
