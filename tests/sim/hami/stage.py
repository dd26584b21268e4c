"""A small cluster for the scheduler: an API server, a node that reports, virtual time."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import aiohttp

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.cluster import FakeApiServer, node
from ascend_agent.sim.hami.client import ApiClient
from ascend_agent.sim.hami.fit import Policy
from ascend_agent.sim.hami.notices import Notice
from ascend_agent.sim.hami.scheduler import Scheduler
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.ways import Ways
from ascend_agent.sim.hami.words import Json
from tests.sim.hami.pods import B3

START = datetime(2026, 1, 1, tzinfo=UTC)
WORD = "Ascend910B3"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
LOCK = "hami.io/mutex.lock"
REPORTED = "Reported_2026.01.01 00:00:01"


def clock() -> datetime:
    """Return the loop's time as a date: the loop of each test starts anew."""
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def reported(*, devices: int = 2, soft: bool = False, **more: object) -> dict[str, str]:
    """Return the annotations of a node that reports so many devices."""
    entries = [
        {
            "id": f"U{number}",
            "index": number,
            "count": 4,
            "devmem": 65536,
            "devcore": 20,
            "type": WORD,
            "health": True,
            "custominfo": {"NetworkID": 0},
            "devicevendor": WORD,
            **more,
        }
        for number in range(devices)
    ]
    return {
        REGISTER: json.dumps(entries),
        HANDSHAKE: REPORTED,
        "hami-vnpu-core": str(soft).lower(),
    }


@dataclass(slots=True, kw_only=True)
class Stage:
    """What a test sees and does."""

    server: FakeApiServer
    api: ApiClient
    scheduler: Scheduler
    told: list[Notice] = field(default_factory=list)

    def events(self, *kinds: str) -> list[str]:
        return [one.event for one in self.told if not kinds or one.event in kinds]

    def reasons(self) -> list[str]:
        return [one.facts["reason"] for one in self.told if one.event == "unfit"]

    def notes(self, name: str = "p1") -> dict[str, str]:
        found: dict[str, str] = self.pod(name)["metadata"].get("annotations", {})
        return found

    def pod(self, name: str = "p1") -> Json:
        return self.server.store.get(("pods", "default", name))

    def bound(self, name: str = "p1") -> bool:
        return bool(self.pod(name)["spec"].get("nodeName"))

    def node_notes(self, name: str = "n1") -> dict[str, str]:
        item = self.server.store.get(("nodes", None, name))
        found: dict[str, str] = item["metadata"].get("annotations", {})
        return found

    def annotate(self, notes: Mapping[str, str | None], name: str = "n1") -> None:
        patch = {"metadata": {"annotations": {**notes}}}
        self.server.store.change(("nodes", None, name), patch)

    async def until(self, true: Callable[[], bool], *, within_s: float = 600) -> None:
        """Wait for changes in the store until *true*."""
        changed = asyncio.Event()
        self.server.store.changed.append(changed.set)
        try:
            async with asyncio.timeout(within_s):
                while not true():
                    changed.clear()
                    await changed.wait()
        finally:
            self.server.store.changed.remove(changed.set)


@asynccontextmanager
async def cluster(
    *nodes: str,
    version: str = "2.10",
    notes: dict[str, str] | None = None,
    chips: tuple[HamiChip, ...] = (B3,),
    policy: Policy = Policy.SPREAD,
) -> AsyncIterator[Stage]:
    """Run a scheduler on nodes that all report the same, ``n1`` where none is named."""
    server = FakeApiServer()
    for name in nodes or ("n1",):
        key, item = node(name, annotations=reported() if notes is None else notes)
        item["status"] = {"allocatable": {B3.resource: "8"}}
        server.store.create(key, item)
    async with server.running(), aiohttp.ClientSession() as session:
        api = ApiClient(session, url=server.url)
        told: list[Notice] = []
        scheduler = Scheduler(
            api,
            chips=chips,
            ways=Ways(version=VERSIONS[version], policy=policy),
            now=clock,
            tell=told.append,
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(scheduler.run())
            yield Stage(server=server, api=api, scheduler=scheduler, told=told)
            task.cancel()
