"""Faults of network ports: which NPU can have them, and which codes follow from which ports.

Decides what the state of an NPU's ports means, recomputed whole each time (faults D15): nothing is
remembered here. What ports there are is told by the chip's spec, how they are by ``LinkStates``.
"""

from typing import Final

from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.surroundings import LinkState

LINK_DOWN: Final = FaultCode(0x81078603)
"""The RoCE link of the NPU is down."""

BONDED_PORT_DOWN: Final = FaultCode(0x81078607)
_ONE_BONDED_PORT_DOWN: Final = FaultCode(0x110000002)
_BOTH_BONDED_PORTS_DOWN: Final = FaultCode(0x110001024)

UB_PORT_DOWN: Final = FaultCode(0x81B18603)
_UB_LOST: Final = FaultCode(0x020001002)
_UB_LOST_EVERYWHERE: Final = FaultCode(0x020000002)

_UB_ONLY: Final = frozenset({UB_PORT_DOWN, _UB_LOST, _UB_LOST_EVERYWHERE})
_UNKNOWN: Final = LinkState()


def concerns(code: FaultCode, ports: Ports) -> bool:
    """Return whether *code* means anything on an NPU with these ports."""
    return ports is Ports.UB or code not in _UB_ONLY


def ub_down(told: frozenset[FaultCode], link: LinkState | None) -> bool:
    """Return whether UB ports of an NPU are down, by its codes or by its ports."""
    return UB_PORT_DOWN in told or bool(link and link.ub_down)


def codes_of_ports(
    ports: Ports, *, told: frozenset[FaultCode], link: LinkState | None, all_ub_down: bool
) -> frozenset[FaultCode]:
    """Return the codes that follow from the ports of an NPU, and from what the driver *told*.

    *all_ub_down*: those of every NPU of the node are, so no NPU is the worse one. What is not
    known of a port is no fault (faults D13).
    """
    state = link or _UNKNOWN
    if ports is Ports.ROCE:
        return frozenset({LINK_DOWN} if state.link_down else ())
    if ports is Ports.UB:
        found = {BONDED_PORT_DOWN} if state.bonding_down else set()
        if state.bonding_down:
            one = state.bonding_down == 1
            found.add(_ONE_BONDED_PORT_DOWN if one else _BOTH_BONDED_PORTS_DOWN)
        if ub_down(told, link):
            found |= {UB_PORT_DOWN, _UB_LOST_EVERYWHERE if all_ub_down else _UB_LOST}
        return frozenset(found)
    return frozenset()
