"""Kubernetes Events of the own Node and its pods: how one looks on the wire, an attempt to post.

Decided here: API group, namespace and object (docs/decisions/0009), and what the API's limits leave
of a text. Which Events there are, how often they are sent and when one is tried again is left to
the caller.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ConflictError
from ascend_agent.model.cluster import NodeEvent
from ascend_agent.model.ids import Millis, NodeName

EVENT_NAMESPACE: Final = "default"
"""The API server takes Events about objects without a namespace in this one."""

_COMPONENT: Final = "ascend-agent"
_MOST_MESSAGE: Final = 1024  # bytes, as the API server counts
_MOST_WORD: Final = 128
_WITHIN_S: Final = 10.0
_MANAGER: Final = (("fieldManager", _COMPONENT),)
_MS: Final = 1000


class Poster:
    """An ``EventPoster`` on whatever connection there is; waits for one where there is none."""

    def __init__(self, *, node: NodeName, door: Door, tally: Tally) -> None:
        self._node = node
        self._door = door
        self._tally = tally

    async def post_event(self, event: NodeEvent, *, known: bool) -> None:
        """Have the API server show *event*; see ``EventPoster``."""
        if known:
            await self._send(_change(event))
        else:
            await self._create(event)
        self._tally.events_posted += 1

    def lose_events(self, count: int) -> None:
        """Count what will never be posted; see ``EventPoster``."""
        self._tally.events_lost += count

    async def _create(self, event: NodeEvent) -> None:
        try:
            await self._send(_creation(self._node, event))
        except ConflictError:
            # It is ours: an earlier attempt got there, and its answer did not get back.
            await self._send(_change(event))

    async def _send(self, request: Request) -> None:
        server = await self._door.server()
        await server.ask(request, within_s=_WITHIN_S)


def _creation(node: NodeName, event: NodeEvent) -> Request:
    first, last = _moment(event.first_ms), _moment(event.last_ms)
    return Request(
        method="POST",
        path=_path(event),
        asked=_asked("create", event),
        query=_MANAGER,
        body={
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event.name, "namespace": _namespace(event)},
            "involvedObject": _involved(node, event),
            "type": "Warning" if event.warning else "Normal",
            "reason": _cut(event.reason, _MOST_WORD),
            "action": _cut(event.action, _MOST_WORD),
            "message": _cut(event.message, _MOST_MESSAGE),
            "source": {"component": _COMPONENT, "host": node},
            "reportingComponent": _COMPONENT,
            "reportingInstance": _cut(node, _MOST_WORD),
            "eventTime": first.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "firstTimestamp": _seconds(first),
            "lastTimestamp": _seconds(last),
            "count": event.count,
        },
        content_type="application/json",
    )


def _change(event: NodeEvent) -> Request:
    return Request(
        method="PATCH",
        path=f"{_path(event)}/{quote(event.name, safe='')}",
        asked=_asked("patch", event),
        query=_MANAGER,
        body={
            "action": _cut(event.action, _MOST_WORD),
            "message": _cut(event.message, _MOST_MESSAGE),
            "lastTimestamp": _seconds(_moment(event.last_ms)),
            "count": event.count,
        },
        content_type="application/merge-patch+json",
    )


def _involved(node: NodeName, event: NodeEvent) -> Mapping[str, str]:
    """Return the object that the Event is about."""
    if event.pod is None:
        return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": event.node_uid}
    key = event.pod.key
    about = {"namespace": key.namespace, "name": key.name, "uid": event.pod.uid}
    return {"apiVersion": "v1", "kind": "Pod", **about}


def _namespace(event: NodeEvent) -> str:
    """Return where the API server takes the Event: beside its object."""
    return EVENT_NAMESPACE if event.pod is None else event.pod.key.namespace


def _path(event: NodeEvent) -> str:
    return f"/api/v1/namespaces/{quote(_namespace(event), safe='')}/events"


def _asked(verb: str, event: NodeEvent) -> Asked:
    rule = f"events in namespace {_namespace(event)}"
    return Asked(verb=verb, target=f"events/{event.name}", rule=rule)


def _moment(at_ms: Millis) -> datetime:
    return datetime.fromtimestamp(at_ms / _MS, UTC)


def _seconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _cut(text: str, limit: int) -> str:
    """Return as much of *text* as fits in *limit* bytes; a cut shows as ``...``."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    return f"{raw[: limit - 3].decode('utf-8', 'ignore')}..."
