"""The node's health as one immutable value, and what it is folded from (D5, D6).

``fold`` makes the next ledger of this one. Here is what a ledger holds; nothing is decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ascend_agent.faults.condition import Condition
from ascend_agent.faults.history import History
from ascend_agent.faults.switches import SwitchLedger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation
from ascend_agent.model.surroundings import (
    DpuStates,
    LinkState,
    ResetPhase,
)


def nothing() -> Mapping[Any, Any]:
    """Return a mapping that holds nothing and never will."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """What the operator decides about health, besides the rules about faults.

    ``driver_grace_ms``: how long NPUs keep their last state without a driver. ``failed_rounds``:
    how many failed readings in a row take an NPU out. ``first_list_ms``: how long the first list
    waits for NPUs that have not been read, and for what an earlier agent remembered, where that is
    awaited. ``couple_cards``: chips of one card are reset together, so they leave together.
    """

    shares_required: bool
    driver_grace_ms: int = 30_000
    failed_rounds: int = 3
    first_list_ms: int = 300
    restore_awaited: bool = False
    couple_cards: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What concerns more than one NPU, as it was last told.

    ``allocations`` None: not told yet, so every NPU may be in use. ``all_ub_down``: the UB ports of
    every NPU are down. ``remembered`` is the history of NPUs that are not in the inventory.
    """

    fault_rules: FaultRules
    rules: HealthRules
    specs: Mapping[str, ChipSpec]
    driver_gone: bool = False
    shares: Mapping[PhyId, bool] = field(default_factory=nothing)
    allocations: Allocations | None = None
    links: Mapping[PhyId, LinkState] = field(default_factory=nothing)
    all_ub_down: bool = False
    hangs: Mapping[PhyId, Millis] = field(default_factory=nothing)
    resets: Mapping[PhyId, ResetPhase] = field(default_factory=nothing)
    dpus: DpuStates | None = None
    remembered: Mapping[PhyId, History] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What is known of all NPUs, and the view that follows from it.

    ``view`` is None until the first list may go out. ``shown`` holds the NPUs it has, or will
    have. ``sick`` are those that make their card sick. ``isolation`` is what must outlive this
    process, None until an earlier one's was taken in, where that is awaited. ``inventoried``:
    there was an inventory. A deadline that passed or does not apply is None.
    """

    facts: Facts
    conditions: Mapping[PhyId, Condition] = field(default_factory=nothing)
    shown: Mapping[PhyId, NpuView] = field(default_factory=nothing)
    sick: frozenset[PhyId] = frozenset()
    switches: SwitchLedger | None = None
    view: NodeView | None = None
    isolation: Isolation | None = None
    inventoried: bool = False
    restored: bool = False
    driver_due_at_ms: Millis | None = None
    first_list_at_ms: Millis | None = None
    wake_at_ms: Millis | None = None

    @classmethod
    def empty(
        cls, *, fault_rules: FaultRules, rules: HealthRules, specs: Mapping[str, ChipSpec]
    ) -> "Ledger":
        """Return the ledger of a node of which nothing is known yet; *specs* by generation."""
        facts = Facts(fault_rules=fault_rules, rules=rules, specs=specs)
        waits = rules.restore_awaited
        return cls(facts=facts, restored=not waits, isolation=None if waits else Isolation())

    @property
    def catalog(self) -> Catalog:
        """Return the fault table in force."""
        return self.facts.fault_rules.catalog
