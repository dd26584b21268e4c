"""How HAMi's scheduler treats one word of a node, version by version, as a model for tests.

Only the handshake and the device cache; nothing is scheduled. One pass each quarter of a minute.
"""

import asyncio
import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ascend_agent.model.ids import Millis
from ascend_agent.sim.cluster import FakeApiServer, Key
from tests.fakes.cluster import FakeCluster

TICK_S = 15
_EXPIRES_S = 60
_DOTS, _DASHES = "%Y.%m.%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What tells one version from another.

    ``looks_first``: a list that can't be read ends the pass. ``by_vendor``: a node's devices are
    found by their vendor alone. ``merges``: of known devices only memory and cores are taken over.
    ``asks_kubelet``: nothing is dropped while something is allocatable. ``comes_back``: who was
    deleted a minute ago is read again. ``removes``: the handshake is removed where others write
    Deleted, and any other one but a question is a report.
    """

    name: str
    layout: str = _DASHES
    looks_first: bool = False
    by_vendor: bool = False
    merges: bool = False
    asks_kubelet: bool = False
    comes_back: bool = False
    removes: bool = False


VERSIONS = (
    Version(name="2.4", layout=_DOTS, merges=True),
    Version(name="2.5"),
    Version(name="2.6", by_vendor=True),
    Version(name="2.7", by_vendor=True, looks_first=True),
    Version(name="2.8", looks_first=True),
    Version(name="2.9", looks_first=True, asks_kubelet=True, comes_back=True),
    Version(name="2.10", asks_kubelet=True, removes=True),
)


class Wire(Protocol):
    """The Node as the scheduler reads and writes it."""

    def read(self) -> Mapping[str, str]: ...

    def write(self, annotations: Mapping[str, str | None]) -> None: ...


class InMemory:
    """The Node of a ``FakeCluster``."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def read(self) -> Mapping[str, str]:
        return self._cluster.node.annotations

    def write(self, annotations: Mapping[str, str | None]) -> None:
        self._cluster.change_annotations(annotations)


class OnServer:
    """A Node of the small API server, written past its doors: only the agent's requests count."""

    def __init__(self, server: FakeApiServer, key: Key) -> None:
        self._server = server
        self._key = key

    def read(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self._server.store.get(self._key)["metadata"].get(
            "annotations", {}
        )
        return found

    def write(self, annotations: Mapping[str, str | None]) -> None:
        self._server.store.change(self._key, {"metadata": {"annotations": dict(annotations)}})


class Scheduler:
    """One scheduler's cache of one word; ``allocatable`` is what the kubelet says of the resource.

    ``devices`` is the cache by id, ``lost`` counts how often it was emptied, ``asked`` the
    questions put; ``ahead_s`` is local time less UTC, in which all but the last versions read it.
    """

    def __init__(
        self, version: Version, wire: Wire, word: str, *, now: Callable[[], Millis]
    ) -> None:
        self.devices: dict[str, dict[str, object]] = {}
        self.allocatable = 16
        self.ahead_s = 0
        self.lost = 0
        self.asked = 0
        self._version = version
        self._wire = wire
        self._word = word
        self._now = now

    async def run(self, *, first_s: float) -> None:
        """Look every quarter of a minute, for ever."""
        await asyncio.sleep(first_s)
        while True:
            self.look()
            await asyncio.sleep(TICK_S)

    def look(self) -> None:
        """Do one pass."""
        annotations = self._wire.read()
        listed = _parsed(annotations.get(f"hami.io/node-register-{self._word}"))
        if not listed and self._version.looks_first:
            return
        text = annotations.get(f"hami.io/node-handshake-{self._word}", "")
        if "Requesting" in text:
            if self._is_expired(text) and self._may_drop():
                self._drop()
        elif "Deleted" in text and not self._reads_deleted(text):
            return
        else:
            self._take(listed)
            self.asked += 1
            self._write(f"Requesting_{self._stamp()}")

    def _is_expired(self, text: str) -> bool:
        age_s = self._age_s(text)
        if age_s is None:
            # The first version takes what it can't read for the year 1, the last for fresh.
            return not self._version.asks_kubelet
        return age_s >= _EXPIRES_S

    def _may_drop(self) -> bool:
        return not self._version.asks_kubelet or self.allocatable == 0

    def _reads_deleted(self, text: str) -> bool:
        if self._version.removes:
            return True
        age_s = self._age_s(text)
        return self._version.comes_back and age_s is not None and age_s >= _EXPIRES_S

    def _drop(self) -> None:
        kept = {
            id_: each
            for id_, each in self.devices.items()
            if self._version.by_vendor and each.get("devicevendor") != self._word
        }
        self.lost += bool(self.devices) and not kept
        self.devices = kept
        self._write(None if self._version.removes else f"Deleted_{self._stamp()}")

    def _take(self, listed: list[dict[str, object]]) -> None:
        found = {str(each["id"]): each for each in listed}
        if self._version.merges:
            for id_, known in self.devices.items():
                new = found.get(id_, {})
                known |= {name: new[name] for name in ("devmem", "devcore") if name in new}
            self.devices = found | self.devices
        elif found:
            self.devices = found

    def _age_s(self, text: str) -> float | None:
        try:
            at = dt.datetime.strptime(f"{text.partition('_')[2]}+0000", f"{self._version.layout}%z")
        except ValueError:
            return None
        return self._now() / 1000 - at.timestamp()

    def _stamp(self) -> str:
        now = dt.datetime.fromtimestamp(self._now() // 1000 + self.ahead_s, dt.UTC)
        return now.strftime(self._version.layout)

    def _write(self, text: str | None) -> None:
        self._wire.write({f"hami.io/node-handshake-{self._word}": text})


def _parsed(text: str | None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(text) if text else []
    return found
