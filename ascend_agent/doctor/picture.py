"""What the agent would make of a survey: inventory, health, and what the kubelet would count.

The agent's own policy decides; nothing here judges an NPU a second way.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_agent import chips
from ascend_agent.dialects import load_dialect
from ascend_agent.doctor.survey import Survey, SurveyedNpu
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fold import fold
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.flows import inventory
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.health import HealthReading, NodeView, ReadingFailure
from ascend_agent.model.ids import Millis, ResourceName
from ascend_agent.model.npu import Inventory, Npu, UnreadCard
from ascend_agent.settings import Settings
from ascend_agent.slicing import load_mode

_NOW = Millis(0)
_LATER = Millis(10_000)
_SPECS = {spec.generation: spec for spec in chips.SPECS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many kubelet devices a resource has, and how many of them may be given out."""

    total: int
    healthy: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The node as the agent would see it; ``counts`` has the resources with any device."""

    inventory: Inventory
    view: NodeView
    counts: Mapping[ResourceName, Count]

    @property
    def npus(self) -> tuple[tuple[Npu, ChipSpec], ...]:
        """Return the NPUs with their specs, as ways of injection want them."""
        return tuple((npu, spec_of(npu)) for npu in self.inventory.npus)


def draw(survey: Survey, settings: Settings) -> Picture:
    """Return the picture of a node on which the driver said *survey*."""
    known = inventory.plan_inventory(
        survey_of(survey),
        known={},
        identify=chips.identify,
        place=lambda _: None,
    )
    view = _judge(survey, known)
    return Picture(inventory=known, view=view, counts=count_devices(view, settings))


def survey_of(survey: Survey) -> inventory.Survey:
    """Return *survey* as the inventory is planned by it."""
    return inventory.Survey(
        enumeration=survey.enumeration,
        identities=tuple(npu.identity for npu in survey.npus if npu.identity),
        unread=tuple(
            UnreadCard(address=npu.address, reason="; ".join(npu.trouble))
            for npu in survey.npus
            if npu.identity is None
        ),
    )


def _judge(survey: Survey, known: Inventory) -> NodeView:
    """Return the view that follows from the readings; one that failed counts as three."""
    # Whether shares can be switched on is not tried here: that would change the node.
    rules = HealthRules(shares_required=False, failed_rounds=1)
    specs = {spec.generation: spec for spec in chips.SPECS}
    empty = Ledger.empty(fault_rules=BUILT_IN, rules=rules, specs=specs)
    readings = [_reading(npu) for npu in survey.npus if npu.identity]
    read = fold(empty, [survey.driver, known, *readings], _NOW)
    return fold(read.ledger, [], _LATER).ledger.view or NodeView(generation=0, npus=())


def _reading(npu: SurveyedNpu) -> HealthReading:
    assert npu.identity is not None  # noqa: S101 -- narrows the type
    return HealthReading(
        npu=npu.identity.phy,
        asked_after=0,
        answered_at_ms=_NOW,
        outcome=npu.health or ReadingFailure.FAILED,
        detail="; ".join(npu.trouble),
    )


def count_devices(view: NodeView, settings: Settings) -> Mapping[ResourceName, Count]:
    """Return what the kubelet would be offered of *view* where itself decides, by resource."""
    dialect = load_dialect("plain")
    mode = load_mode("shared" if settings.shares > 1 else "whole")
    counts: dict[ResourceName, Count] = {}
    for word in dialect.words:
        offers = ResourceOffers(
            word=word,
            resource=dialect.resource_of(word),
            dialect=dialect,
            mode=mode,
            shares=settings.shares,
            share_policy=settings.share_policy,
            spec_of=spec_of,
        )
        groups = offers.groups(view)
        if groups:
            counts[offers.resource] = Count(
                total=sum(group.shares for group in groups),
                healthy=sum(group.fit_devices for group in groups),
            )
    return counts


def spec_of(npu: Npu) -> ChipSpec:
    """Return the spec of an inventoried NPU."""
    return _SPECS[npu.generation]
