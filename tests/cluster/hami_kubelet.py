"""The kubelet's side of pods that HAMi's scheduler binds: it admits them one after the other.

Each container's Allocate is sent by the independent kubelet, with whatever ids are free, which are
given back when the pod ends. Nothing runs: an admitted pod only says so.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.cluster.api import Api, ApiError, Json, pod_path
from tests.peer.client import PeerError, PeerKubelet

_NOT_FOUND = 404
_ANSWER_S = 18  # the agent itself gives up sooner


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What one container was handed; ``error`` is why it got nothing."""

    container: str
    ids: tuple[str, ...]
    envs: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


class HamiKubelet:
    """Admits pods of *namespace*; ``grants`` is what each pod's containers got, by its name.

    *advised*: it asks GetPreferredAllocation first, as a kubelet does of a plugin that offers it.
    """

    def __init__(
        self,
        api: Api,
        peer: PeerKubelet,
        *,
        resource: str,
        namespace: str,
        ids: list[str],
        advised: bool,
    ) -> None:
        self._api = api
        self._peer = peer
        self._resource = resource
        self._namespace = namespace
        self._advised = advised
        self._free = list(ids)
        self._held: dict[str, tuple[str, ...]] = {}
        self._random = random.Random(910)  # noqa: S311 -- the same order on every run
        self.endpoint = f"{resource.rpartition('/')[2]}.sock"
        self.grants: dict[str, list[Granted]] = {}

    @property
    def running(self) -> list[str]:
        """Pods that were admitted and have not ended, the oldest first."""
        return list(self._held)

    async def admit(self, pod: Json) -> bool:
        """Ask for the devices of each container in its order; return whether all got theirs.

        The first that gets none fails the pod, as a kubelet does.
        """
        name = pod["metadata"]["name"]
        grants = self.grants[name] = []
        taken: list[str] = []
        reusable: list[str] = []  # an init container's ids may go to a later one
        for container, count, init in self._asks(pod):
            ids = (reusable + await self._choose(count - len(reusable)))[:count]
            grants.append(await self._ask(container, ids))
            if grants[-1].error:
                await self.tell(name, phase="Failed", reason="UnexpectedAdmissionError")
                return False
            self._free = [each for each in self._free if each not in ids]
            taken += [each for each in ids if each not in taken]
            others = [each for each in reusable if each not in ids]
            reusable = [*others, *ids] if init else others
        self._held[name] = tuple(taken)
        await self.tell(name, phase="Running")
        return True

    async def end(self, name: str) -> None:
        """End a pod that was admitted: its ids are free."""
        self._free += self._held.pop(name)
        self._random.shuffle(self._free)
        await self.tell(name, phase="Succeeded")

    async def tell(self, name: str, **status: str) -> None:
        """Write the status of a pod, if it is still there."""
        try:
            await self._api.patch(f"{pod_path(self._namespace, name)}/status", {"status": status})
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise

    async def _choose(self, count: int) -> list[str]:
        if count <= 0:
            return []
        if self._advised:
            wish = {"available": self._free, "size": count}
            answer = await self._peer.do("prefer", endpoint=self.endpoint, containers=[wish])
            preferred: list[str] = answer["containers"][0]
            if len(preferred) == count:
                return preferred
        return self._free[:count]

    async def _ask(self, container: str, ids: list[str]) -> Granted:
        try:
            answer = await self._peer.do(
                "allocate", endpoint=self.endpoint, containers=[ids], timeout_s=_ANSWER_S
            )
        except PeerError as error:
            return Granted(container=container, ids=tuple(ids), error=str(error))
        (one,) = answer["containers"]
        return Granted(container=container, ids=tuple(ids), envs=one["envs"])

    def _asks(self, pod: Json) -> Iterator[tuple[str, int, bool]]:
        """Yield name, number of devices and whether it is an init container, of each that asks."""
        for kind in ("initContainers", "containers"):
            for one in pod["spec"].get(kind) or []:
                limits = (one.get("resources") or {}).get("limits") or {}
                if count := int(limits.get(self._resource, 0)):
                    yield one["name"], count, kind == "initContainers"
