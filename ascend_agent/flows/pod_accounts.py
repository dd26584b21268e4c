"""The kubelet's list, and the pods → who holds which NPU, worked out pod by pod.

What a dialect says of all pods is what it says of each of them, put together: so it is asked of
those alone of which something is new. Decides what counts of a pod that has finished: up to
Kubernetes 1.33 the kubelet lists it as a holder, and where the API server shows it as finished,
it holds nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ascend_agent.flows.by_npu import ByNpu
from ascend_agent.interfaces import SchedulerDialect
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.ids import PhyId, PluginDeviceId, ResourceName
from ascend_agent.model.pods import Pod, PodKey, Pods, changed
from ascend_agent.model.world import World

Held = Mapping[ResourceName, Mapping[PluginDeviceId, Holder]]

_Part = tuple[tuple[Holder, ...], frozenset[int] | None]
"""The containers of a pod on one NPU and which shares they hold, None: shares are not told."""

_NO_PODS = Pods(pods=(), live=False)


class PodAccounts:
    """Who holds what, as of the kubelet's last word and the pods last seen."""

    def __init__(self, dialect: SchedulerDialect) -> None:
        self._dialect = dialect
        self._held: dict[PodKey, Held] = {}
        self._pods = _NO_PODS
        self._there: dict[PodKey, Pod] = {}
        self._missing: set[PodKey] = set()
        self._new: set[PodKey] = set()
        self._touched: set[PhyId] = set()
        self._rests_on: object = None
        self._parts: ByNpu[_Part] = ByNpu()
        self._account = Allocations(known=False, holders={})

    def hear(self, held: Held) -> None:
        """Take the kubelet's newest list."""
        before, self._held = self._held, _by_pod(held)
        self._new |= {
            key for key in before.keys() | self._held if before.get(key) != self._held.get(key)
        }
        self._missing = self._held.keys() - self._there.keys()

    def see(self, pods: Pods | None) -> None:
        """Take the pods as the API server shows them now; None: it has not yet."""
        before, self._pods = self._pods, pods or _NO_PODS
        left, came = changed(before.pods, self._pods.pods)
        for pod in left:
            self._there.pop(pod.key, None)
        for pod in came:
            self._there[pod.key] = pod
        keys = {pod.key for pod in (*left, *came)}
        self._new |= keys
        self._missing |= keys & self._held.keys()
        self._missing -= {pod.key for pod in came}
        if before.live is not self._pods.live:
            # Nothing is known from an old view.
            self._new |= {pod.key for pod in self._pods.pods if pod.finished}

    def any_holder_gone(self) -> bool:
        """Return whether a pod that the kubelet told as a holder is no more in the API server."""
        return self._pods.live and bool(self._missing)

    def account(self, worlds: Sequence[World]) -> Allocations:
        """Return who holds what; the pods of *worlds* are those that were seen last."""
        rests_on = [_rests_on(world) for world in worlds]
        if rests_on != self._rests_on:
            self._rests_on = rests_on
            known = self._dialect.holders({}, _of(worlds, ())).known
            self._account = replace(self._account, known=known)
            self._new |= self._held.keys() | self._there.keys()
        for key in list(self._new):
            self._touched |= self._parts.put(key, self._ask(key, worlds))
            self._new.discard(key)
        if self._touched:
            self._put_together(self._touched)
            self._touched.clear()
        return self._account

    def _ask(self, key: PodKey, worlds: Sequence[World]) -> Mapping[PhyId, _Part]:
        """Return what one pod holds."""
        pod, held = self._there.get(key), self._held.get(key, {})
        if pod is not None and pod.finished and self._pods.live:
            held = {}
        found = self._dialect.holders(held, _of(worlds, () if pod is None else (pod,)))
        return {phy: (who, found.shares.get(phy)) for phy, who in found.holders.items()}

    def _put_together(self, touched: Iterable[PhyId]) -> None:
        """Make the account anew of those NPUs alone."""
        holders, shares = dict(self._account.holders), dict(self._account.shares)
        for phy in touched:
            holders.pop(phy, None)
            shares.pop(phy, None)
            parts = self._parts.of(phy)
            if parts:
                holders[phy] = tuple(sorted({who for part, _ in parts for who in part}, key=_name))
            told = [part for _, part in parts if part is not None]
            if told:
                shares[phy] = frozenset[int]().union(*told)
        self._account = Allocations(
            known=self._account.known,
            holders=MappingProxyType({phy: holders[phy] for phy in sorted(holders)}),
            shares=MappingProxyType({phy: shares[phy] for phy in sorted(shares)}),
        )


def _by_pod(held: Held) -> dict[PodKey, Held]:
    found: dict[tuple[str, str], dict[ResourceName, dict[PluginDeviceId, Holder]]] = {}
    for resource, devices in held.items():
        for device, holder in devices.items():
            own = found.setdefault((holder.namespace, holder.pod), {})
            own.setdefault(resource, {})[device] = holder
    return {PodKey(namespace=key[0], name=key[1]): own for key, own in found.items()}


def _rests_on(world: World) -> object:
    """Return what holders rest on besides kubelet and pods: how NPUs are called, not how they are.

    Health changes with each fault, and with it view and groups.
    """
    return (
        world.resource,
        tuple((view.npu.phy, view.npu.identity.die) for view in world.view.npus),
        {group.shares for group in world.groups},
        world.hami,
        world.facts is not None and world.facts.known,
    )


def _of(worlds: Sequence[World], pods: tuple[Pod, ...]) -> list[World]:
    """Return *worlds* as if there were no other pods than those."""
    return [
        replace(world, facts=replace(world.facts, pods=pods)) if world.facts else world
        for world in worlds
    ]


def _name(holder: Holder) -> tuple[str, str, str]:
    return holder.namespace, holder.pod, holder.container
