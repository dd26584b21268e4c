"""Pods of this node → containers' directories and registry files that nobody needs are removed.

Directories go with their pod: when one ends, and every minute, in case that was missed. A pod
counts as gone only if the API server says so live; a cache may not know it yet (HAMi F5). A
registry file of another size than the library's makes new containers die, so it goes while no
container has that NPU. Of an NPU that is hidden, or not read yet, nobody can say who has it, so
its file stays. What is removed is decided while no Allocate runs; a disk that takes its time with
it, or a container that left a million files, holds up none.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, NoReturn

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.grants import used
from ascend_agent.errors import ClusterError, HostError
from ascend_agent.interfaces import AgingDirectories, ClusterReader, RegistryFiles
from ascend_agent.model.ids import DieId, Millis, PhyId, PodUid
from ascend_agent.model.pods import Pod, changed
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

REGISTRY_BYTES: Final = 2848
"""Of the registry file of the library that is installed; it maps the file without looking."""

_DIRECTORIES_S = 60.0
_REGISTRIES_S = 600.0
_SETTLED_MS = Millis(120_000)
"""A directory that changed later may be of a pod that is only just being started."""
_READING_S = 10.0
_MOMENT_S = 1.0
"""For so long an Allocate may wait for us."""
_SLOW = (
    f"no answer of the host's files within {_MOMENT_S:g} s; look for a hung mount or disk on the "
    "node, or very many files there"
)


class TidySoft:
    """Removes what pods of soft slices have left; *turn* is held by whoever serves an Allocate."""

    def __init__(
        self,
        *,
        directories: AgingDirectories,
        registries: RegistryFiles,
        reader: ClusterReader,
        bus: Bus,
        turn: asyncio.Lock,
    ) -> None:
        self._directories = directories
        self._registries = registries
        self._reader = reader
        self._bus = bus
        self._turn = turn
        self._pods: tuple[Pod, ...] = ()
        self._gone: frozenset[PodUid] = frozenset()
        self._judged: frozenset[PhyId] = frozenset()
        self._troubles: dict[str, str] = {}

    async def run(self) -> NoReturn:
        """Follow the pods for ever."""
        clock = asyncio.get_running_loop().time
        wakeup = Wakeup()
        inputs = (self._bus.pods, self._bus.hami, self._bus.node)
        for each in inputs:
            each.attach(wakeup)
        directories_at = registries_at = clock()
        try:
            while True:
                if self._has_ended() or clock() >= directories_at:
                    directories_at = clock() + _DIRECTORIES_S
                    await self._try("directories", self._tidy_directories)
                if self._knows_users() and (clock() >= registries_at or self._has_joined()):
                    registries_at = clock() + _REGISTRIES_S
                    await self._try("registry files", self._tidy_registries)
                later = registries_at if self._knows_users() else directories_at
                await wakeup.wait(min(directories_at, later))
        finally:
            for each in inputs:
                each.detach(wakeup)

    async def _try(self, what: str, tidy: Callable[[], Awaitable[None]]) -> None:
        """Tidy, and log what keeps us from it when that starts, changes and ends."""
        why = ""
        try:
            await tidy()
        except HostError as error:
            why = str(error)
        except TimeoutError:
            why = _SLOW
        before = self._troubles.get(what, "")
        self._troubles[what] = why
        if why and why != before:
            log.warning("soft files not tidied", extra={"what": what, "why": why})
        elif before and not why:
            log.info("soft files tidied again", extra={"what": what})

    # --- directories ------------------------------------------------------------------------

    def _has_ended(self) -> bool:
        """Return whether a pod has ended since this was last asked."""
        pods = self._bus.pods.value
        if pods is None or not pods.live:
            return False
        left, came = changed(self._pods, pods.pods)
        self._pods = pods.pods
        return bool(_alive(left) - _alive(came))

    async def _tidy_directories(self) -> None:
        pods = self._bus.pods.value
        if pods is None or not pods.live:
            return
        ages = await self._directories.ages()
        settled = {name: _uid_of(name) for name, age in ages.items() if age > _SETTLED_MS}
        finished = {pod.uid for pod in pods.pods if pod.finished}
        absent = frozenset(settled.values()) - {pod.uid for pod in pods.pods}
        # Asked live once: whoever is gone never comes back, though a directory may resist.
        self._gone &= absent
        self._gone |= await self._confirm(absent - self._gone)
        trouble: HostError | None = None
        for name, uid in settled.items():
            if uid in finished or uid in self._gone:
                try:
                    await self._remove(name)
                except HostError as error:  # a container may have made its own hard to remove
                    trouble = trouble or error
        if trouble is not None:
            raise trouble

    async def _confirm(self, absent: frozenset[PodUid]) -> frozenset[PodUid]:
        """Return those of *absent* that the API server does not have either."""
        if not absent:
            return absent
        try:
            async with asyncio.timeout(_READING_S):
                pods = await self._reader.read_pods()
        except (ClusterError, TimeoutError):
            return frozenset()  # how the API server is doing is said elsewhere
        return absent - _alive(pods)

    async def _remove(self, name: str) -> None:
        async with AsyncExitStack() as removing:
            async with self._turn:
                # An Allocate may have made it anew while we waited.
                async with asyncio.timeout(_MOMENT_S):
                    age = await self._directories.age(name)
                if age is None or age <= _SETTLED_MS:
                    return
                work = beside(self._directories.remove(name), name="remove directory")
                removal = await removing.enter_async_context(work)
                await asyncio.wait({removal}, timeout=_MOMENT_S)
            await removal
        log.info("container directory removed", extra={"directory": name})

    # --- registry files ---------------------------------------------------------------------

    def _knows_users(self) -> bool:
        """Return whether NPUs are sliced softly, and it is known which pods there are."""
        state, pods = self._bus.hami.value, self._bus.pods.value
        return state is not None and state.soft and pods is not None and pods.live

    def _has_joined(self) -> bool:
        """Return whether an NPU is here by now whose file was not judged yet."""
        return not self._dies().keys() <= self._judged

    def _dies(self) -> Mapping[PhyId, DieId]:
        """Return the NPUs of which it can be told who has them: listed, not hidden, and named."""
        view = self._bus.node.value
        named = ((each.npu.phy, each.npu.identity.die) for each in view.npus) if view else ()
        return {phy: die for phy, die in named if die is not None}

    def _is_unused(self, npu: PhyId) -> bool:
        """Return whether no pod has *npu*; False where that can't be told."""
        die, pods = self._dies().get(npu), self._bus.pods.value
        return die is not None and pods is not None and not used(pods.pods, [die])

    async def _tidy_registries(self) -> None:
        trouble: HostError | None = None
        async with self._turn, asyncio.timeout(_MOMENT_S):
            if not self._knows_users():
                return  # an Allocate may have been served of a pod that no watch has shown
            self._judged = frozenset(self._dies())
            # Any container may make files for NPUs that there are not.
            for npu, size in (await self._registries.sizes(self._judged)).items():
                if size == REGISTRY_BYTES or not self._is_unused(npu):
                    continue
                try:
                    await self._registries.remove(npu)
                except HostError as error:  # a container may have put there what resists
                    trouble = trouble or error
                else:
                    log.info("registry file removed", extra={"npu": npu, "bytes": size})
        if trouble is not None:
            raise trouble


def _uid_of(name: str) -> PodUid:
    return PodUid(name.partition("_")[0])


def _alive(pods: Sequence[Pod]) -> frozenset[PodUid]:
    return frozenset(pod.uid for pod in pods if not pod.finished)
