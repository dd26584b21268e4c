"""The simulated node's switches as one driver worker sees them through their library.

A library of its own, as with the vendor: it has its own subscription, and is there on nodes with
switches alone. What happens to the switches is the scenario's, which ``node`` plays.
"""

from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.scenario import FAULT, PULSE, RECOVER, Step

Answer = dict[str, object]

OPERATIONS = frozenset({"switches_open", "switches_subscribe", "switches_read"})

_OK, _NOT_INITIALISED, _NO_LIBRARY = 0, -8009, -99999
_ASSERTIONS = {RECOVER: 0, FAULT: 1, PULSE: 2}


class SimulatedSwitches:
    """One worker's view of the switches of *node*; ``wall_ms`` is the wall clock at its start."""

    def __init__(self, node: SimulatedNode, *, wall_ms: int) -> None:
        self.subscribed = False
        self._node = node
        self._wall_ms = wall_ms
        self._opened = False

    def answer(self, op: str, now_ms: int) -> Answer:
        """Return what the library answers to an operation made now."""
        if not self._node.preset.switches:
            detail = "the simulated chip has no switches"
            return {"rc": _NO_LIBRARY, "call": op, "kind": "missing", "detail": detail}
        if op == "switches_open":
            self._opened = True
            return {"rc": _OK, "library": "simulated"}
        if not self._opened:
            return {"rc": _NOT_INITIALISED, "call": op, "detail": "switches_open was not called"}
        if op == "switches_subscribe":
            self.subscribed = True
            return {"rc": _OK}
        return {"rc": _OK, "faults": self._standing(now_ms)}

    def events(self, step: Step) -> list[Answer]:
        """Return what the library tells when *step* happens to a switch."""
        return [{"switch": record} for record in self._records(step)]

    def _standing(self, now_ms: int) -> list[list[int]]:
        standing: dict[tuple[int, ...], list[int]] = {}
        for step in self._node.switch_steps(now_ms):
            for record in self._records(step):
                if step.kind == FAULT:
                    standing.setdefault(tuple(record[:6]), record)
                elif step.kind == RECOVER:
                    standing.pop(tuple(record[:6]), None)
        return list(standing.values())

    def _records(self, step: Step) -> list[list[int]]:
        switch = step.switch
        if switch is None:
            return []
        said = (switch.severity, _ASSERTIONS[step.kind], self._wall_ms + step.at_ms)
        return [
            [step.code, switch.fault, switch.peer, port, switch.chip, port, *said]
            for port in switch.ports
        ]
