"""NodeView → what the kubelet is offered of one resource; pure, shared by serving and Allocate.

Both must agree on every id, so both ask here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ascend_agent.interfaces import SchedulerDialect, SlicingMode
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import Millis, ResourceName
from ascend_agent.model.kubelet import Offer
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import SharePolicy, World
from ascend_agent.runtime.latest import Latest

SpecOf = Callable[[Npu], ChipSpec]


class Offers(Protocol):
    """What the kubelet is offered of one resource, as the NPUs and the settings are."""

    @property
    def word(self) -> str:
        """The device word, after which the socket is called."""

    @property
    def resource(self) -> ResourceName:
        """The extended resource."""

    @property
    def dialect(self) -> SchedulerDialect:
        """Who decides what a request means."""

    @property
    def changes(self) -> Sequence[Latest[Any]]:
        """The channels besides that of the NPUs on which the offer depends."""

    def spec_of(self, npu: Npu) -> ChipSpec:
        """Return the chip generation of *npu*."""

    def views(self, view: NodeView) -> tuple[NpuView, ...]:
        """Return the NPUs of this resource, ordered by physical id."""

    def offer(self, view: NodeView) -> Offer:
        """Return the list for the kubelet."""

    def world(self, view: NodeView, now: Millis) -> World:
        """Return what a decision about this resource may rest on."""


def offer_of(groups: tuple[DeviceGroup, ...], view: NodeView) -> Offer:
    """Return the list of *groups* of *view*, with the driver events behind what changed."""
    return Offer(
        groups=groups,
        generation=view.generation,
        causes={npu.npu.phy: npu.cause_ns for npu in view.npus if npu.cause_ns is not None},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceOffers:
    """How the NPUs of one device word are cut, named and shown."""

    word: str
    resource: ResourceName
    dialect: SchedulerDialect
    mode: SlicingMode
    shares: int
    share_policy: SharePolicy
    spec_of: SpecOf

    @property
    def changes(self) -> Sequence[Latest[Any]]:
        """None: it is settled at start."""
        return ()

    def views(self, view: NodeView) -> tuple[NpuView, ...]:
        """Return the NPUs of this resource, ordered by physical id."""
        return tuple(
            npu
            for npu in view.npus
            if self.dialect.word_of(npu.npu, self.spec_of(npu.npu)) == self.word
        )

    def groups(self, view: NodeView) -> tuple[DeviceGroup, ...]:
        """Return the kubelet devices, one group an NPU, ordered by physical id."""
        return self.mode.advertise(self.views(view), word=self.word, shares=self.shares)

    def offer(self, view: NodeView) -> Offer:
        """Return the list for the kubelet."""
        return offer_of(self.groups(view), view)

    def world(self, view: NodeView, now: Millis) -> World:
        """Return what a decision about this resource may rest on."""
        return World(
            view=view,
            resource=self.resource,
            groups=self.groups(view),
            share_policy=self.share_policy,
            now=now,
        )
