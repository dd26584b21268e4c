"""The nodes' devices as the scheduler believes them, and the handshake that keeps them there.

A new list counts only when the handshake is answered: then it is read, and the next question put.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.client import ApiClient, RequestError
from ascend_agent.sim.hami.handshake import Judgement, judge
from ascend_agent.sim.hami.notices import Notice, Tell
from ascend_agent.sim.hami.usage import Device, parse_devices
from ascend_agent.sim.hami.versions import Handshake, SchedulerVersion
from ascend_agent.sim.hami.words import LOCK, Json, annotations_of, handshake, register


class NodeRegistry:
    """Devices by node and chip; ``look`` goes over the nodes as they are known."""

    def __init__(
        self,
        api: ApiClient,
        *,
        chips: Sequence[HamiChip],
        version: SchedulerVersion,
        now: Callable[[], datetime],
        tell: Tell,
    ) -> None:
        self._api = api
        self._chips = chips
        self._version = version
        self._now = now
        self._tell = tell
        self._devices: dict[tuple[str, str], tuple[Device, ...]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._locks: dict[str, str] = {}

    def devices(self, node: str, word: str) -> tuple[Device, ...]:
        """Return the devices of *node* with this word; none: it is not registered."""
        return self._devices.get((node, word), ())

    def forget(self, node: str) -> None:
        """Drop a node that is gone."""
        for place in [place for place in self._devices if place[0] == node]:
            del self._devices[place]

    def hear(self, node: Json) -> None:
        """Note what is new on a node: an answer, a lock that went, a list that needs no answer."""
        name = node["metadata"]["name"]
        lock = annotations_of(node).get(LOCK, "")
        held, self._locks[name] = self._locks.get(name, ""), lock
        if held and not lock:
            self._say("unlocked", node=name, value=held)
        for chip in self._chips:
            value = annotations_of(node).get(handshake(chip.word), "")
            if value.startswith("Reported") and (name, chip.word) in self._asked:
                self._asked.discard((name, chip.word))
                self._say("answered", node=name, word=chip.word, value=value)
            if self._version.handshake is Handshake.NONE:
                self._read(node, chip)

    async def look(self, nodes: Iterable[Json]) -> None:
        """Judge every node, take over what it says now, and ask it again."""
        for node in nodes:
            for chip in self._chips:
                await self._look_at(node, chip)

    async def _look_at(self, node: Json, chip: HamiChip) -> None:
        name, notes = node["metadata"]["name"], annotations_of(node)
        if self._version.needs_list and not parse_devices(notes.get(register(chip.word), "")):
            return
        judgement = judge(
            notes.get(handshake(chip.word)),
            self._version.handshake,
            allocatable=allocatable(node, chip.resource),
            now=self._now(),
        )
        if not judgement.alive:
            self._drop(name, chip)
        if judgement.reads:
            self._read(node, chip)
        if judgement.changes:
            await self._write(name, chip, judgement)

    async def _write(self, name: str, chip: HamiChip, judgement: Judgement) -> None:
        notes = {handshake(chip.word): judgement.writes}
        try:
            await self._api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": notes}})
        except RequestError as error:
            # The next round is 15 s away and judges anew, as the real one does.
            self._say("unasked", node=name, word=chip.word, reason=str(error))
            return
        if judgement.alive and judgement.writes is not None:
            self._asked.add((name, chip.word))
            self._say("asked", node=name, word=chip.word, value=judgement.writes)

    def _read(self, node: Json, chip: HamiChip) -> None:
        place = node["metadata"]["name"], chip.word
        new = parse_devices(annotations_of(node).get(register(chip.word), ""))
        if not new:
            return  # an empty list is an error of reading, and changes nothing
        known = {device.die: device for device in self._devices.get(place, ())}
        if self._version.merges:
            new = tuple(
                replace(known[one.die], memory_mib=one.memory_mib, core=one.core)
                if one.die in known
                else one
                for one in new
            )
        self._devices[place] = new

    def _drop(self, name: str, chip: HamiChip) -> None:
        place = name, chip.word
        devices = self._devices.get(place, ())
        left = tuple(one for one in devices if self._version.by_vendor and one.vendor != chip.word)
        if len(left) < len(devices):
            self._devices[place] = left
            self._say("dropped", node=name, word=chip.word)

    def _say(self, event: str, **facts: str) -> None:
        self._tell(Notice(event=event, facts=facts))


def allocatable(node: Json, resource: str) -> int:
    """Return how many of *resource* the kubelet of a node offers."""
    found = ((node.get("status") or {}).get("allocatable") or {}).get(resource, "0")
    return int(found) if str(found).isdigit() else 0
