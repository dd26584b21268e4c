"""The fault table that comes with the agent: every code we know of, its level, and the rules.

Decided here is what the table's file means; the facts are in ``data/fault-table.json``, checked
against ``data/fault-table.schema.json`` by the tests and trusted here. The levels are those that
MindCluster 26.1 ships, the consequence of each is our own (``levels``). What an operator's files
change about it is decided in ``code_files`` and ``customization``.
"""

import json
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, format_fault_code
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule, SwitchLevel

_MS: Final = 1000


class Role(Enum):
    """What is special about a code, beyond its level."""

    CARD_DROP = "card-drop"
    RESET_FINISHED = "reset-finished"
    ROCE_LINK_DOWN = "roce-link-down"
    UBOE_PORT_DOWN = "uboe-port-down"
    ONE_BONDING_PORT_DOWN = "one-bonding-port-down"
    TWO_BONDING_PORTS_DOWN = "two-bonding-ports-down"
    UB_PORT_DOWN = "ub-port-down"
    UB_OF_THIS_CHIP_DOWN = "ub-of-this-chip-down"
    UB_OF_ALL_CHIPS_DOWN = "ub-of-all-chips-down"
    HBM_DOUBLE_BIT = "hbm-double-bit"
    HBM_CONTROLLER_PARITY = "hbm-controller-parity"
    AIC_BUS_ERROR = "aic-bus-error"
    AIV_BUS_ERROR = "aiv-bus-error"
    HANG = "hang"
    DPU_SUB_HEALTH = "dpu-sub-health"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTable:
    """What the table says: the rules in force where nobody gives others, and special codes."""

    rules: FaultRules
    roles: Mapping[FaultCode, Role]


def spell(texts: Iterable[str]) -> Mapping[FaultCode, str]:
    """Return those of *texts* that a code would not be shown as; the first spelling counts."""
    spellings: dict[FaultCode, str] = {}
    for text in texts:
        code, upper = FaultCode(int(text, 16)), text.upper()
        if upper != format_fault_code(code):
            spellings.setdefault(code, upper)
    return spellings


def parse_table(text: str | bytes) -> FaultTable:
    """Return the table of a file that the schema allows."""
    table = json.loads(text)
    roles = {_code(code): Role(role) for role, code in table["roles"].items()}
    catalog = Catalog(
        levels=MappingProxyType(_levels(table["levels"])),
        network_levels=MappingProxyType(_levels(table["network_levels"])),
        spellings=MappingProxyType(
            spell(
                text
                for codes in (*table["levels"].values(), *table["network_levels"].values())
                for text in codes
            )
        ),
    )
    rules = FaultRules(
        catalog=catalog,
        frequency=MappingProxyType(_frequency(table["frequency"])),
        duration=MappingProxyType(_duration(table["duration"])),
        switches=MappingProxyType(
            {
                text: SwitchLevel(level)
                for level, texts in table["switches"].items()
                for text in texts
            }
        ),
    )
    return FaultTable(rules=rules, roles=MappingProxyType(roles))


def _code(text: str) -> FaultCode:
    return FaultCode(int(text, 16))


def _levels(table: Mapping[str, Sequence[str]]) -> dict[FaultCode, FaultLevel]:
    """Return the level of each code; one under several levels counts as the most severe."""
    return {
        _code(text): level
        for level in FaultLevel  # mildest first: a more severe level replaces a milder one
        for text in table.get(level.value, ())
    }


def _frequency(rows: Sequence[Mapping[str, Any]]) -> dict[FaultCode, FrequencyRule]:
    rules: dict[FaultCode, FrequencyRule] = {}
    for row in rows:
        rule = FrequencyRule(
            times=row["times"],
            window_ms=row["window_s"] * _MS,
            release_ms=None if row["release_s"] is None else row["release_s"] * _MS,
            level=FaultLevel(row["level"]),
        )
        rules |= dict.fromkeys(map(_code, row["codes"]), rule)
    return rules


def _duration(rows: Sequence[Mapping[str, Any]]) -> dict[FaultCode, DurationRule]:
    rules: dict[FaultCode, DurationRule] = {}
    for row in rows:
        rule = DurationRule(
            fault_timeout_ms=row["fault_timeout_s"] * _MS,
            recover_timeout_ms=row["recover_timeout_s"] * _MS,
            level=FaultLevel(row["level"]),
        )
        rules |= dict.fromkeys(map(_code, row["codes"]), rule)
    return rules


TABLE: Final = parse_table(pkgutil.get_data("ascend_agent.faults", "data/fault-table.json") or b"")
BUILT_IN: Final = TABLE.rules
CATALOG: Final = BUILT_IN.catalog
