"""The network ports of a simulated node, and how little its processes compute.

Its scenario says what becomes of ports, and when. No simulated NPU moves any traffic, and no
process of one computes: whatever holds one looks as if it hung.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_agent.model.chip import Ports
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState, ProcessTimes

_ALL_UP: Mapping[Ports, LinkState] = {
    Ports.NONE: LinkState(),
    Ports.ROCE: LinkState(link_down=False),
    Ports.UB: LinkState(bonding_down=0, ub_down=0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortChange:
    """``at_s`` seconds after the start ports of ``npu`` are as ``state`` says, where it says it."""

    at_s: float
    npu: int
    state: LinkState


class StatedPorts:
    """Implements ``interfaces.LinkReader`` and ``TrafficReader``; all ports are up at the start.

    *started* (loop time) is when the node began: the same moment as for its driver, which would
    else tell of ports before they change.
    """

    def __init__(self, changes: Sequence[PortChange], *, started: float) -> None:
        self._changes = sorted(changes, key=lambda change: change.at_s)
        self._started = started

    async def read_link(self, npu: Npu, ports: Ports) -> LinkState:
        """Return which of its ports are down now."""
        now_s = asyncio.get_running_loop().time() - self._started
        state = _ALL_UP[ports]
        for change in self._changes:
            if change.npu == npu.phy and change.at_s <= now_s:
                state = _overlaid(state, change.state)
        return state

    async def read_traffic(self, npu: Npu, ports: Ports) -> int:  # noqa: ARG002 -- as the seam demands
        """Return that nothing has moved."""
        return 0


class StillProcesses:
    """Implements ``interfaces.ProcessClock``: every process is there and does nothing."""

    async def times_of(self, pids: Sequence[int]) -> Mapping[int, ProcessTimes]:
        """Return the same for each process, always."""
        return dict.fromkeys(pids, ProcessTimes(started=0, cpu_s=0.0))


def _overlaid(state: LinkState, change: LinkState) -> LinkState:
    if change.link_down is not None:
        state = replace(state, link_down=change.link_down)
    if change.bonding_down is not None:
        state = replace(state, bonding_down=change.bonding_down)
    if change.ub_down is not None:
        state = replace(state, ub_down=change.ub_down)
    return state
