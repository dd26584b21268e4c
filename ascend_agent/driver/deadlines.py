"""How long a driver call may take before its lane counts as hung."""

from dataclasses import dataclass

from ascend_agent.driver.frames import ALONE, CHANGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds by kind of call.

    A subscription holds two further tries a second apart; ``alone_s`` is for calls that may
    initialise a library. Destroying the last vNPU of a chip switches its virtual functions off,
    which takes seconds.
    """

    query_s: float = 3.0
    change_s: float = 3.0
    destroy_s: float = 10.0
    subscribe_s: float = 10.0
    alone_s: float = 30.0

    def of(self, op: str) -> float:
        """Return the deadline of an operation."""
        if op in ALONE or op == "switches_open":
            return self.alone_s
        if op == "vnpus_destroy":
            return self.destroy_s
        if op in CHANGES:
            return self.change_s
        subscribes = op in {"subscribe", "switches_subscribe"}
        return self.subscribe_s if subscribes else self.query_s
