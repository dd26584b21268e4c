"""Network ports of NPUs as ``hccn_tool`` tells them: which are down, and what they have moved.

Decides what is asked of the tool, and how long an answer about a port's wiring lasts. How often
an NPU is asked about, and what a port that is down means, is left to flows and policy.

Quirk: the tool counts chips by physical id up to A3, but by logic id on A5 (topology D27).
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar, assert_never

from ascend_agent.errors import HostError
from ascend_agent.host.hccn_output import (
    Port,
    parse_link,
    parse_ports,
    parse_roce_traffic,
    parse_ub_traffic,
    parse_wired,
)
from ascend_agent.host.tool import Tool
from ascend_agent.model.chip import Ports
from ascend_agent.model.ids import LogicId
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState

T = TypeVar("T")
_WIRING_LASTS_S = 600.0
_BONDED = "ETH"
_UB = "UB"
_QUOTED = 80

_Place = tuple[LogicId, int, int]
"""A port of an A5 chip: logic id, die, number."""


class HccnPorts:
    """Implements ``interfaces.LinkReader`` and ``interfaces.TrafficReader``.

    *now* tells seconds, for how old an answer is; loop time unless said.
    """

    def __init__(self, tool: Tool, *, now: Callable[[], float] | None = None) -> None:
        self._tool = tool
        self._now = now or _loop_time
        self._wired: dict[_Place, tuple[float, bool]] = {}
        self._ports: dict[LogicId, tuple[float, tuple[Port, ...]]] = {}

    async def read_link(self, npu: Npu, ports: Ports) -> LinkState:
        """Return which ports of *npu* are down; an NPU without ports, or not listed, has none.

        Raises:
            HostError: the tool gave no answer, or one that is not understood.

        """
        match ports:
            case Ports.NONE:
                return LinkState()
            case Ports.ROCE:
                answer = await self._tool.run("-i", str(npu.phy), "-link", "-g")
                return LinkState(link_down=not self._understood(parse_link(answer), answer))
            case Ports.UB:
                return await self._read_ub(npu)
            case _:
                assert_never(ports)

    async def read_traffic(self, npu: Npu, ports: Ports) -> int:
        """Return packets (RoCE) or flits (UB) that all ports of *npu* have moved.

        Raises:
            HostError: as ``read_link``.

        """
        match ports:
            case Ports.NONE:
                return 0
            case Ports.ROCE:
                answer = await self._tool.run("-i", str(npu.phy), "-stat", "-g")
                return self._understood(parse_roce_traffic(answer), answer)
            case Ports.UB:
                return await self._read_flits(_logic(npu))
            case _:
                assert_never(ports)

    async def _read_ub(self, npu: Npu) -> LinkState:
        logic = _logic(npu)
        down = [port for port in await self._read_ports(logic) if port.up is False]
        bonded = sum(port.kind == _BONDED for port in down)
        wired = await self._wired_of(logic, [port for port in down if port.kind == _UB])
        return LinkState(bonding_down=bonded, ub_down=wired)

    async def _read_ports(self, logic: LogicId) -> tuple[Port, ...]:
        answer = await self._tool.run("-g", "-dev_info", "-i", str(logic))
        ports = self._understood(parse_ports(answer), answer)
        self._ports[logic] = (self._now(), ports)
        return ports

    async def _wired_of(self, logic: LogicId, ports: list[Port]) -> int:
        """Return how many of *ports* are wired; one of which nobody ever knew counts as wired."""
        count, asking = 0, True
        for port in ports:
            place = (logic, port.die, port.number)
            read_at, wired = self._wired.get(place, (float("-inf"), True))
            if asking and self._now() - read_at >= _WIRING_LASTS_S:
                try:
                    wired = await self._ask_wired(place)
                except HostError:
                    asking = False  # the others would not be told either, each ever so slowly
            count += wired
        return count

    async def _ask_wired(self, place: _Place) -> bool:
        logic, die, number = map(str, place)
        answer = await self._tool.run("-g", "-port_info", "-i", logic, "-u", die, "-p", number)
        wired = self._understood(parse_wired(answer), answer)
        self._wired[place] = (self._now(), wired)
        return wired

    async def _read_flits(self, logic: LogicId) -> int:
        read_at, ports = self._ports.get(logic, (float("-inf"), ()))
        if self._now() - read_at >= _WIRING_LASTS_S:
            ports = await self._read_ports(logic)
        total = 0
        for port in ports:
            place = ("-i", str(logic), "-u", str(port.die), "-p", str(port.number))
            answer = await self._tool.run("-g", "-stat", *place)
            total += self._understood(parse_ub_traffic(answer), answer)
        return total

    def _understood(self, parsed: T | None, answer: str) -> T:
        if parsed is None:
            quote = " ".join(answer.split())[:_QUOTED]
            raise HostError(f"{self._tool.name} gives an answer that is not understood: {quote}")
        return parsed


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _logic(npu: Npu) -> LogicId:
    return (npu.address or npu.identity.address).logic
