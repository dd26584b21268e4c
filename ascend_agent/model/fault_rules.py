"""What the operator decides about faults: levels of codes, and rules that raise a level.

Source: the built-in table, a directory of files, or a ConfigMap, all in MindCluster's formats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyRule:
    """``times`` occurrences within ``window_ms`` raise the NPU to ``level``.

    ``release_ms``: so long after the last recovery it is lowered again; None: only people do that.
    """

    times: int
    window_ms: int
    release_ms: int | None
    level: FaultLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationRule:
    """A code that stands longer than ``fault_timeout_ms`` raises the NPU to ``level``.

    It is lowered once the code was gone for longer than ``recover_timeout_ms``.
    """

    fault_timeout_ms: int
    recover_timeout_ms: int
    level: FaultLevel


class SwitchLevel(Enum):
    """Consequence of a switch fault for the node, mildest first."""

    NOT_HANDLE = "NotHandle"
    SUB_HEALTH = "SubHealthFault"
    RESTART_REQUEST = "RestartRequest"
    PRE_SEPARATE = "PreSeparate"
    SEPARATE = "Separate"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRules:
    """Everything configurable about faults, valid and ready for use.

    ``switches`` holds the level of a switch fault by its text (``[0x08520003,na,L2,na]``).
    ``source`` says for people where it came from.
    """

    catalog: Catalog
    frequency: Mapping[FaultCode, FrequencyRule] = field(default_factory=dict)
    duration: Mapping[FaultCode, DurationRule] = field(default_factory=dict)
    switches: Mapping[str, SwitchLevel] = field(default_factory=dict)
    source: str = "built-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultFiles:
    """The files with fault rules as found in a directory, by name; one that is absent is absent.

    ``troubles``: those that may be there and can't be read, with reason and remedy.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultConfigState:
    """The rules in force; ``refused`` says what was offered since and can't be used, and why.

    Empty: nothing is wrong. ``version`` counts changes of the rules.
    """

    rules: FaultRules
    version: int
    refused: tuple[str, ...] = ()
