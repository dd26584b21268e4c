"""What a chip generation is, as data: how it is recognised and what a container of it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.allocation import DirectoryWant, NodeWant
from ascend_agent.model.npu import ChipIdentity, NpuIdentity


class VisibleIds(Enum):
    """Which index ``ASCEND_VISIBLE_DEVICES`` carries; device nodes are always physical."""

    PHYSICAL = "physical"
    LOGIC = "logic"


class Ports(Enum):
    """Which network ports an NPU of a generation has, and so which faults of them make sense."""

    NONE = "none"
    ROCE = "roce"  # one link of its own
    UB = "ub"  # UB ports between NPUs, and on some boards bonded ones to the outside


@dataclass(frozen=True, slots=True, kw_only=True)
class CardWords:
    """How MindCluster calls a generation in the labels of its nodes.

    ``server`` is the first part of ``servertype``. ``accelerator`` None: the generation has no
    such label. ``tells_memory``: its memory is a label. ``accelerator_types`` are words for single
    boards, by board id; ``infer_cards`` words for products, which hold where every card of the
    node is of one of them.
    """

    server: str
    accelerator: str | None
    tells_memory: bool = False
    accelerator_types: Mapping[int, str] = field(default_factory=dict)
    infer_cards: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipSpec:
    """One chip generation.

    ``word`` is the device word of the MindCluster names (``Ascend910`` of ``Ascend910-3``).
    Specs are tried by ``precedence``, lowest first, until one's ``recognises`` says yes.
    ``link_group`` numbers the HCCS group of an NPU, given how many NPUs of this generation the
    node has. ``common_nodes`` are wanted once a container, besides ``/dev/davinci<phy>``;
    ``product_nodes`` are further ones of single products, by the driver's product type.
    ``runtime_envs`` is what the vendor's container runtime must be told besides the ids.
    ``card`` is how labels of the node call it. ``ports`` are its network ports;
    ``bonded_mainboards`` are the main boards on which some of them are bonded and lead outside.
    ``coupled_card``: the chips of one card are reset together. ``dpu_slots`` are the slots of the
    DPU NICs on its UB, one tuple an NPU, by physical id modulo their number; empty: it works with
    no DPU NICs.
    ``has_switches``: its nodes have Lingqu switches, whose library tells of their faults.
    """

    generation: str
    word: str
    precedence: int
    recognises: Callable[[ChipIdentity], bool]
    link_group: Callable[[NpuIdentity, int], int]
    visible_ids: VisibleIds
    common_nodes: tuple[NodeWant, ...]
    card: CardWords
    directories: tuple[DirectoryWant, ...] = ()
    product_nodes: Mapping[str, tuple[NodeWant, ...]] = field(default_factory=dict)
    runtime_envs: Mapping[str, str] = field(default_factory=dict)
    ports: Ports = Ports.NONE
    bonded_mainboards: frozenset[int] = frozenset()
    coupled_card: bool = False
    has_switches: bool = False
    dpu_slots: tuple[tuple[str, ...], ...] = ()
