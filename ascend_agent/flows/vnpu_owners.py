"""Pods of this node → who owns vNPUs of which NPU, worked out pod by pod.

What a dialect says of all pods is what it says of each of them, put together: so it is asked of
those alone of which something is new. Decides nothing else.
"""

from collections.abc import Callable, Iterable, Sequence

from ascend_agent.flows.by_npu import ByNpu
from ascend_agent.model.hami import HamiConfig
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.pods import Pod, PodKey, changed
from ascend_agent.model.vnpu import VnpuClaim, VnpuClaims

ClaimsOf = Callable[[Sequence[Pod], HamiConfig, NodeView], VnpuClaims]
"""What pods own of the NPUs in a view, which counts for their names and not for their health."""


class VnpuOwners:
    """What the pods last seen own; ``known`` has it of all of them, ordered by NPU and pod."""

    def __init__(self, claims: ClaimsOf) -> None:
        self._claims = claims
        self._pods: tuple[Pod, ...] = ()
        self._rests_on: object = None
        self._new: dict[PodKey, Pod | None] = {}
        self._touched: set[PhyId] = set()
        self._parts: ByNpu[tuple[VnpuClaim, ...]] = ByNpu()
        self._unclear: dict[PodKey, tuple[PodKey, ...]] = {}
        self.known = VnpuClaims()

    def see(self, pods: tuple[Pod, ...], config: HamiConfig, view: NodeView) -> frozenset[PhyId]:
        """Take the pods of this moment; return the NPUs of which somebody owns something else."""
        left, came = changed(self._pods, pods)
        self._pods = pods
        self._new |= dict.fromkeys((pod.key for pod in left), None)
        rests_on = (config, [(each.npu.phy, each.npu.identity.die) for each in view.npus])
        if rests_on != self._rests_on:
            self._rests_on, came = rests_on, pods
        self._new |= {pod.key: pod for pod in came}
        for key, pod in list(self._new.items()):
            found = VnpuClaims() if pod is None else self._claims((pod,), config, view)
            self._touched |= self._parts.put(key, found.by_npu)
            self._unclear.pop(key, None)
            if found.unclear:
                self._unclear[key] = found.unclear
            del self._new[key]
        touched = frozenset(self._touched)
        self._put_together(touched)
        self._touched.clear()
        return touched

    def _put_together(self, touched: Iterable[PhyId]) -> None:
        by_npu = dict(self.known.by_npu)
        for phy in touched:
            by_npu.pop(phy, None)
            if claims := [each for part in self._parts.of(phy) for each in part]:
                by_npu[phy] = tuple(claims)
        unclear = (each for key in sorted(self._unclear) for each in self._unclear[key])
        self.known = VnpuClaims(
            by_npu={phy: by_npu[phy] for phy in sorted(by_npu)}, unclear=tuple(unclear)
        )
