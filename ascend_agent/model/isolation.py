"""What is remembered of an NPU's faults beyond the moment, and outlives a restart (design D8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import DieId, Millis, ObjectVersion, PhyId


class UpgradeKind(Enum):
    """Why an NPU stands under a higher level than its codes, in MindCluster's words."""

    FREQUENCY = "FaultFrequency"
    DURATION = "FaultDuration"
    AUTOFILL = "FaultAutofill"  # somebody isolated it, and nobody wrote down why


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """One reason why an NPU stands under ``level`` whatever its codes say.

    ``code`` is None for AUTOFILL. ``at_ms`` is when the rule fired, or fired last.
    """

    code: FaultCode | None
    level: FaultLevel
    kind: UpgradeKind
    at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHistory:
    """What the rules remember of one code of one NPU.

    ``occurrences`` ascend; those that left their rule's window go when something else is due.
    ``last_recover_ms`` is None while nothing recovered since ``last_fault_ms``.
    ``stands_since_ms`` is None unless the code stands: a restart counts it no second time.
    """

    occurrences: tuple[Millis, ...] = ()
    last_fault_ms: Millis | None = None
    last_recover_ms: Millis | None = None
    stands_since_ms: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuIsolation:
    """What is remembered of one NPU; ``die`` tells a replaced card from the one it was."""

    upgrades: tuple[Upgrade, ...] = ()
    codes: Mapping[FaultCode, CodeHistory] = field(default_factory=dict)
    die: DieId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What is remembered of all NPUs; one without anything to remember is not in it."""

    npus: Mapping[PhyId, NpuIsolation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationTexts:
    """Isolation as it is published, in MindCluster's spelling; empty where nothing is to be said.

    ``separated`` lists the NPUs that people release by taking them off it, ``reasons`` has every
    upgrade.
    """

    separated: str = ""
    reasons: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedIsolation:
    """What an object of the API server says of isolation.

    An object of another ``uid`` is another one, and of two views of one object that of the older
    ``version`` is stale.
    """

    uid: str
    version: ObjectVersion
    texts: IsolationTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What an earlier agent on this node remembered; taken in silently, before the first list.

    ``published`` is what the API server was last seen to say, all as it should be; None: nothing
    ever. ``lost``: nothing could be read here, so that what is published is all there is.

    ``released`` stand separated here, and were let go by the agent that served while we waited.
    """

    isolation: Isolation
    source: str
    published: PublishedIsolation | None = None
    lost: bool = False
    released: frozenset[PhyId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What a published object says beyond what was remembered.

    ``released`` were taken off the list while no agent looked. ``isolation`` is newer than what
    was remembered. ``passed_over`` says of each entry that can't be read which one, and why.
    """

    released: frozenset[PhyId]
    isolation: Isolation
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorEdit:
    """Somebody took NPUs off the published list of manually separated ones."""

    released: frozenset[PhyId]
