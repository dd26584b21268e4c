"""HAMi's configuration and the NPUs → what the kubelet is offered, as ``offers`` for the others.

One word at a time: that of the configured chip. Which it is may change while the agent runs, so
whoever serves it is made anew then (``serve_chosen``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ascend_agent.bus import Bus
from ascend_agent.flows.offers import SpecOf, offer_of
from ascend_agent.interfaces import SchedulerDialect, SlicingMode
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import Millis, NodeName, ResourceName
from ascend_agent.model.kubelet import Offer
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import ClusterFacts, SharePolicy, World
from ascend_agent.runtime.latest import Latest

_LATELY_MS: Final = 300_000
"""A kubelet that hung for so long, and may still ask for the pod, has lost its node long since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiOffers:
    """The devices of one word; none while the configuration names another."""

    word: str
    resource: ResourceName
    dialect: SchedulerDialect
    mode: SlicingMode
    node_name: NodeName
    bus: Bus
    specs: SpecOf

    @property
    def changes(self) -> Sequence[Latest[Any]]:
        """The configuration in force."""
        return (self.bus.hami,)

    def spec_of(self, npu: Npu) -> ChipSpec:
        """Return the chip generation of *npu*."""
        return self.specs(npu)

    def views(self, view: NodeView) -> tuple[NpuView, ...]:
        """Return the NPUs of the configured chip, ordered by physical id."""
        state = self._state()
        if state is None or state.chip is None:
            return ()
        name = state.chip.chip_name
        return tuple(npu for npu in view.npus if npu.npu.identity.chip.chip_name == name)

    def groups(self, view: NodeView) -> tuple[DeviceGroup, ...]:
        """Return the kubelet devices, one group an NPU, ordered by physical id."""
        state = self._state()
        shares = state.shares if state else 1
        return self.mode.advertise(self.views(view), word=self.word, shares=shares)

    def offer(self, view: NodeView) -> Offer:
        """Return the list for the kubelet."""
        return offer_of(self.groups(view), view)

    def world(self, view: NodeView, now: Millis) -> World:
        """Return what a decision may rest on, as the watches show it."""
        pods, node = self.bus.pods.value, self.bus.own_node.value
        return World(
            view=view,
            resource=self.resource,
            groups=self.groups(view),
            share_policy=SharePolicy.SPREAD,
            now=now,
            hami=self._state(),
            facts=ClusterFacts(
                node_name=self.node_name,
                # As last seen it may have another lock by now, or none.
                node=node if node is not None and node.live else None,
                pods=pods.pods if pods else (),
                known=pods is not None,
                vanished=self._vanished(now),
            ),
        )

    def _vanished(self, now: Millis) -> bool:
        locks = self.bus.locks.value
        at_ms = locks.gone_at_ms if locks else None
        return at_ms is not None and now - at_ms < _LATELY_MS

    def _state(self) -> HamiState | None:
        """Return the configuration while it is about this word."""
        state = self.bus.hami.value
        chip = state.chip if state else None
        ours = chip is not None and (chip.word, chip.resource) == (self.word, self.resource)
        return state if ours else None
