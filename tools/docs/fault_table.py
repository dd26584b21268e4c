"""The form of the fault table's file, and the JSON schema that people and editors check it by.

The agent trusts the file it ships, so that its start costs no check; the tests put it to this.
"""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from ascend_agent.faults.catalog import Role
from ascend_agent.model.fault import FaultLevel, Severity
from ascend_agent.model.fault_rules import SwitchLevel
from tools.docs.pages import ROOT

FILE: Final = ROOT / "ascend_agent/faults/data/fault-table.json"
SCHEMA: Final = FILE.with_name("fault-table.schema.json")

Code = Annotated[str, Field(pattern="^[0-9A-F]{8,9}$")]
SwitchText = Annotated[
    str, Field(pattern=r"^\[0x[0-9a-f]{8},([0-9]+|na),(cpu|npu|L2|na),na\]$", max_length=50)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class Frequency(_Strict):
    """So many occurrences of a code within a window raise its NPU to a level."""

    codes: list[Code] = Field(min_length=1)
    times: int = Field(ge=1, le=100)
    window_s: int = Field(ge=60, le=864_000)
    release_s: int | None = Field(ge=60, lt=2**32)
    """Time after the last recovery that lowers it again; null: people alone do."""
    level: FaultLevel


class Duration(_Strict):
    """A code that stands for longer than a time raises its NPU to a level."""

    codes: list[Code] = Field(min_length=1)
    fault_timeout_s: int = Field(ge=0, le=600)
    recover_timeout_s: int = Field(ge=0, le=86_400)
    level: FaultLevel


class FaultTable(_Strict):
    """Codes, their levels, and the rules that raise a level, as the agent ships them."""

    schema_: str = Field(alias="$schema")
    format: Literal[1]
    source: str
    """Where the facts are from."""
    levels: dict[FaultLevel, list[Code]]
    """Codes of chips, by level; one under several levels counts as the most severe."""
    network_levels: dict[FaultLevel, list[Code]]
    """Codes of the chips' network, all of them."""
    unknown_by_severity: dict[str, FaultLevel]
    """What a code that stands nowhere counts as, by the driver's severity."""
    roles: dict[Role, Code]
    """Codes with a meaning of their own in the agent."""
    switches: dict[SwitchLevel, list[SwitchText]]
    frequency: list[Frequency]
    duration: list[Duration]


def read() -> FaultTable:
    """Return the file; raises pydantic's ValidationError where it has another form."""
    table = FaultTable.model_validate_json(FILE.read_bytes())
    if set(table.unknown_by_severity) != {severity.name.lower() for severity in Severity}:
        text = "unknown_by_severity must name each severity"
        raise ValueError(text)
    return table


def render() -> str:
    """Return the schema's file as it should be."""
    schema: dict[str, Any] = FaultTable.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=2) + "\n"
