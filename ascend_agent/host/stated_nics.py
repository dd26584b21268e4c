"""The network cards of a simulated node: its scenario says what becomes of them, and when."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from ascend_agent.model.nics import Nic, NicLook

_VENDOR, _DEVICE = "0x10b5", "0x1825"

STATED_CONFIG = (
    b'{"configList":[{"busType":"ub","selectors":{"vendor":["0x10b5"],"deviceIds":["0x1825"]}}]}'
)
"""The file that makes DPU NICs of these cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedChange:
    """The card ``name`` takes the state ``operstate``, ``at_s`` seconds after the start."""

    at_s: float
    name: str
    operstate: str


class StatedNics:
    """Implements ``interfaces.NicWatcher``: *cards* are slots by name, all up at the start.

    *started* (loop time) is when the node began, for its driver as well.
    """

    def __init__(
        self, *, cards: Mapping[str, str], changes: Sequence[StatedChange], started: float
    ) -> None:
        self._cards = cards
        self._changes = sorted(changes, key=lambda change: change.at_s)
        self._started = started

    async def looks(self) -> AsyncGenerator[NicLook, None]:
        """Yield how the cards are now, then after each change; afterwards nothing, for ever."""
        clock = asyncio.get_running_loop().time
        now_s = clock() - self._started
        yield self._at(now_s)
        for at_s in sorted({change.at_s for change in self._changes if change.at_s > now_s}):
            await asyncio.sleep(self._started + at_s - clock())
            yield self._at(at_s)
        await asyncio.get_running_loop().create_future()

    async def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 -- as the seam demands
        """Return nothing: these cards are joined to the NPUs by UB."""
        return {}

    def _at(self, now_s: float) -> NicLook:
        states = dict.fromkeys(self._cards, "up")
        for change in self._changes:
            if change.at_s <= now_s:
                states[change.name] = change.operstate
        return NicLook(
            nics=tuple(
                Nic(
                    name=name,
                    path=f"devices/ub0/{name}/net/{name}",
                    vendor_id=_VENDOR,
                    device_id=_DEVICE,
                    slot=self._cards[name],
                    operstate=state,
                )
                for name, state in sorted(states.items())
            )
        )


class StatedFile:
    """Implements ``interfaces.SmallFile``: the file says what the node's maker says."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self) -> bytes | None:
        """Return the content."""
        return self._content
