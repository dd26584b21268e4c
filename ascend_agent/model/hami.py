"""How HAMi is configured, and what of it holds on this node.

Memory is MiB, cores are percent unless said otherwise. Source: HAMi's ``device-config.yaml`` and
``node-config.yaml``, whose words the fields keep in ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from ascend_agent.model.ids import CardId, DieId, Millis, ResourceName

MOST_SHARES: Final = 1000
"""Devices an NPU: sixteen times as many are a list that the kubelet still takes."""


SLOT: Final = ResourceName("hami")
"""Stands for the one resource that is served, whatever it is called at the moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiTemplate:
    """One way the driver can cut a chip."""

    name: str
    memory_mib: int
    ai_core: int = 0
    ai_cpu: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiChip:
    """One entry of ``configs``: a chip, what it is called, how it may be cut.

    ``word`` is ``commonWord``, part of most annotation keys. ``allocatable_mib`` is published and
    granted to a whole card, ``capacity_mib`` the largest request that still means one.
    ``templates`` ascend by memory.
    """

    chip_name: str
    word: str
    resource: ResourceName
    memory_resource: str
    allocatable_mib: int
    capacity_mib: int
    core_resource: str = ""
    memory_factor: int = 1
    ai_core: int = 0
    ai_cpu: int = 0
    runtime_class: str = ""
    overwrite_env: bool = False
    super_pod: bool = False
    templates: tuple[HamiTemplate, ...] = ()

    @property
    def derived_shares(self) -> int:
        """Devices an NPU where nobody says otherwise: as many as the smallest template fits."""
        smallest = self.templates[0].memory_mib if self.templates else 0
        return max(1, self.allocatable_mib // smallest) if smallest > 0 else 1

    def template_for(self, memory_mib: int) -> HamiTemplate | None:
        """Return the smallest template of at least this memory, None: a whole card."""
        return next((each for each in self.templates if each.memory_mib >= memory_mib), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiNodeEntry:
    """The entry of ``node-config.yaml`` for this node; what it does not say is None or empty."""

    soft: bool | None = None
    shares: int | None = None
    hidden_dies: frozenset[DieId] = frozenset()
    hidden_cards: frozenset[CardId] = frozenset()


class HamiLayout(Enum):
    """Which shape ``vnpus`` of ``device-config.yaml`` had."""

    BUILT_IN = "built-in"  # no file: the table of this agent
    FLAT = "flat"  # a list of chips, HAMi before 2.9
    NESTED = "nested"  # hamiVnpuCore and configs, HAMi since 2.9


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiConfig:
    """Both files as understood; ``entry`` None: none of this node."""

    chips: tuple[HamiChip, ...]
    soft: bool = False
    layout: HamiLayout = HamiLayout.BUILT_IN
    entry: HamiNodeEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiFiles:
    """The files as last read: text by role (``device``, ``node``), or why one can't be read.

    A role in neither: there is no such file.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftHost:
    """Whether the host can limit containers in soft mode; ``trouble`` says why not.

    ``preparing``: that is not known yet, and will be in a moment.
    """

    ready: bool
    trouble: str = ""
    preparing: bool = False

    @property
    def decided(self) -> bool:
        """Whether it is known how soft slices stand here."""
        return self.ready or (bool(self.trouble) and not self.preparing)


class HookMount(StrEnum):
    """How a container of a soft slice gets the library: its whole directory, or the file alone."""

    DIR = "dir"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftPaths:
    """Where soft slices keep their files on the host: absolute, without a slash at the end.

    ``root`` holds the library and the containers' directories, ``region`` the files in which
    containers of one NPU take turns.
    """

    root: str
    region: str
    hook: HookMount = HookMount.DIR


class PodMode(Enum):
    """Which pods that don't say get a soft slice on a node in soft mode.

    ``AUTO``: those whose runtime info carries a memory, as HAMi 2.10 writes it.
    """

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiRules:
    """How strict we are, as the operator wants it; the defaults are what the plugin should do.

    ``strict_lock``: nobody but the owner of the node lock is served. ``network_group``: how many
    NPUs are in network group 0.
    """

    pod_mode: PodMode = PodMode.AUTO
    strict_lock: bool = False
    fence: bool = True
    refuse_unhealthy: bool = True
    check_quotas: bool = True
    network_group: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiState:
    """What holds on this node, as of one moment; every sink goes by the same.

    ``chip`` None: nothing is offered, ``trouble`` says why; it may be that nobody knows yet what
    the files say, and so which NPUs are hidden. ``shares`` is devices an NPU. ``wants_soft`` is
    what the files ask for, ``soft`` what is done: False as well while the host is not prepared,
    ``soft_trouble`` says why, and ``soft_pending`` that it may be in a moment.
    ``warnings`` are about the files; ``refused`` says of each new content that can't be used why,
    and the one before stays in force. ``origins`` says where each value came from.
    """

    config: HamiConfig
    chip: HamiChip | None
    rules: HamiRules = HamiRules()
    shares: int = 1
    wants_soft: bool = False
    soft: bool = False
    soft_pending: bool = False
    trouble: str = ""
    soft_trouble: str = ""
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


class RegistrationPhase(Enum):
    """Where this node stands with HAMi's scheduler."""

    WAITING = "waiting"  # not told yet: no NPU, no API server, or another agent's turn
    REPORTED = "reported"  # our last word stands
    ASKED = "asked"  # the scheduler asks, the answer is due
    LEAVING = "leaving"  # taken back on purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiRegistration:
    """What the scheduler was told last; ``devices`` is the text of the device list.

    ``counts`` is how many devices each NPU in it has, 0 while it is sick; ``told_at_ms`` is when
    the handshake was last written, None: not yet.
    """

    phase: RegistrationPhase
    word: str = ""
    devices: str = ""
    handshake: str = ""
    detail: str = ""
    counts: Mapping[DieId, int] = field(default_factory=dict)
    told_at_ms: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRepairs:
    """How many node locks were given back because nobody needed them, since the agent started.

    ``gone_at_ms`` is when one was last found whose pod does not exist, None: never.
    """

    released: int
    gone_at_ms: Millis | None = None
