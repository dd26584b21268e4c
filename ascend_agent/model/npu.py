"""What the driver enumerates: the NPUs of this node and how each is addressed and identified."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.ids import CardId, DieId, LogicId, NumaNode, PhyId, SlotId

LaneId = int
"""Key of the worker thread that serves a chip: its card id (API v1) or logic id (v2)."""


class DriverApi(Enum):
    """The two generations of the vendor library's interface."""

    V1 = "v1"
    V2 = "v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuAddress:
    """How to reach one NPU through the driver, valid for one enumeration.

    ``card`` and ``slot`` are None on API v2, which addresses by logic id alone.
    """

    card: CardId | None
    slot: SlotId | None
    logic: LogicId
    lane: LaneId

    @property
    def shown(self) -> CardId:
        """The number behind ``npu-smi -i``: the card's, where a card is addressed at all."""
        return CardId(self.logic) if self.card is None else self.card


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """One snapshot of the driver's card list.

    ``lost_cards`` counts cards that the host has but the driver could not bring up (-1 in its
    list); ``unreadable`` names cards whose chips could not be listed, with call and return code.
    """

    addresses: tuple[NpuAddress, ...]
    cards: int
    lost_cards: int
    unreadable: tuple[tuple[CardId, str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipIdentity:
    """What the driver says a chip is; raw, as read. Interpreted by ``chips`` alone.

    Source: ``dcmi_get_device_chip_info_v2``, board info, main-board id, product type.
    """

    chip_type: str
    chip_name: str
    npu_name: str
    chip_version: str
    board_id: int | None
    mainboard_id: int | None
    product: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuIdentity:
    """One NPU as read on its own lane.

    ``memory_mib`` is HBM, or DDR where the chip has no HBM; ``bus`` is ``DDDD:BB:DD.F`` upper
    case; ``affinity`` is the driver's cpulist. None means that the chip does not tell.
    """

    phy: PhyId
    address: NpuAddress
    chip: ChipIdentity
    die: DieId | None
    bus: str | None
    memory_mib: int | None
    ai_cores: int | None
    affinity: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Npu:
    """One NPU of this node, identified and placed.

    ``address`` is None while the driver no longer lists the NPU: it stays here with its last
    identity, so that it can be reported unhealthy instead of vanishing (HL-3).
    ``generation`` names the chip's spec. ``link_group`` is the HCCS group: NPUs of equal number
    reach each other directly.
    """

    phy: PhyId
    identity: NpuIdentity
    address: NpuAddress | None
    generation: str
    numa: NumaNode | None
    link_group: int

    @property
    def names(self) -> Mapping[str, int | str | None]:
        """Every name under which people may know this NPU: in npu-smi, on the bus, in metrics.

        Each log line, page and metric about an NPU carries them all, or people repair the wrong
        card (OB-3). While the driver does not list it, its last place counts.
        """
        address = self.address or self.identity.address
        return {
            "npu": self.phy,
            "logic": address.logic,
            "card": address.card,
            "slot": address.slot,
            "die": self.identity.die,
            "bus": self.identity.bus,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadCard:
    """A chip that was enumerated but has not told its identity; never offered, always reported."""

    address: NpuAddress
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownChip:
    """A chip that no spec recognises: reported, not offered, never fatal."""

    phy: PhyId
    chip: ChipIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenNpu:
    """An NPU that the operator keeps out of our hands; None: not read, since its card is hidden."""

    address: NpuAddress
    phy: PhyId | None = None
    die: DieId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The NPUs of this node, ordered by physical id, and what keeps others out.

    ``generation`` counts publications. ``lost_cards`` and ``unreadable`` as in ``Enumeration``,
    without cards that are hidden; ``hidden`` are those that the driver lists, ordered by address.
    """

    generation: int
    npus: tuple[Npu, ...]
    unread: tuple[UnreadCard, ...]
    unknown: tuple[UnknownChip, ...]
    lost_cards: int
    unreadable: tuple[tuple[CardId, str, int], ...] = ()
    hidden: tuple[HiddenNpu, ...] = ()

    @property
    def all_hidden(self) -> bool:
        """Whether every NPU there is is hidden, and no other can turn up by itself."""
        others = self.npus or self.unread or self.unknown or self.lost_cards or self.unreadable
        return bool(self.hidden) and not others


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuUsage:
    """Memory in MiB and utilisation in percent at one moment; None where the chip does not tell."""

    memory_mib: int | None
    memory_used_mib: int | None
    ai_core_percent: int | None
    vector_percent: int | None
    npu_percent: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuProcess:
    """A host process that holds memory of an NPU."""

    pid: int
    memory_bytes: int


class DriverPhase(Enum):
    """Where the driver worker stands."""

    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverState:
    """What is known of the vendor library and its worker; ``detail`` says why it is not ready.

    ``callbacks`` is True where fault events arrive by callback, False where the driver answered
    -8255 (poll), None before it was tried. ``starts`` counts workers started so far.
    """

    phase: DriverPhase
    detail: str = ""
    api: DriverApi | None = None
    library: str | None = None
    dcmi_version: str | None = None
    driver_version: str | None = None
    callbacks: bool | None = None
    starts: int = 0
    parked_lanes: tuple[LaneId, ...] = ()


RcByCall = Mapping[str, int]
"""Return codes of optional driver calls that did not succeed."""
