"""The vNPUs of a simulated node as one driver worker sees them.

They come and go as the scenario says; what this worker destroyed is gone until the scenario makes
it anew. A later worker plays the scenario from its beginning and knows nothing of that.
"""

from ascend_agent.driver.simulated.node import SimulatedNode

Answer = dict[str, object]

_OK, _UNKNOWN, _OCCUPIED, _NOT_SUPPORTED = 0, -8001, -8020, -8255
_FIRST, _END = 100, 1124


class SimulatedVnpus:
    """One worker's view of the vNPUs of *node*."""

    def __init__(self, node: SimulatedNode) -> None:
        self._node = node
        self._destroyed_at: dict[tuple[int, int], int] = {}

    def answer(self, op: str, phy: int, args: tuple[int, ...], now_ms: int) -> Answer:
        """Return what the driver answers to an operation on the vNPUs of one chip."""
        if not self._node.preset.cuttable:
            return {"rc": _NOT_SUPPORTED, "call": op}
        here = self._here(phy, now_ms)
        if op == "vnpus_read":
            return {"rc": _OK, "vnpus": [[vnpu, *here[vnpu][1:]] for vnpu in sorted(here)]}
        (vnpu,) = args
        if not _FIRST <= vnpu < _END:
            return {"rc": _UNKNOWN, "call": op}
        if vnpu in here and here[vnpu][2]:
            return {"rc": _OCCUPIED, "call": op, "detail": f"a process has vNPU {vnpu} open"}
        self._destroyed_at[phy, vnpu] = now_ms
        return {"rc": _OK}

    def _here(self, phy: int, now_ms: int) -> dict[int, tuple[int, str, int, int]]:
        return {
            vnpu: facts
            for vnpu, facts in self._node.vnpus(phy, now_ms).items()
            if facts[0] > self._destroyed_at.get((phy, vnpu), -1)
        }
