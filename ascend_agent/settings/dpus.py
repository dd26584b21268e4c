"""Reads the file that names the DPU NICs of an A5 node, as MindCluster's plugin has it.

What is decided here: which files mean something. A key that means nothing to us is told and passed
over, so that a file made for the peer goes on working; a misspelt one would else go unnoticed.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from ascend_agent.errors import ConfigError
from ascend_agent.model.nics import DpuBus, DpuConfig
from ascend_agent.settings.problems import describe, shown

_BOTH: Final = "ub/pcie"
_WORDS: Final = frozenset(bus.value for bus in DpuBus)


def _bus_type(word: str) -> str:
    if word in _WORDS:
        return word
    if word == _BOTH:
        raise PydanticCustomError(
            "setting",
            "is what the sample file says, for you to choose from; keep the one of ub and pcie by "
            "which NPUs and DPU NICs are joined on this node",
        )
    raise PydanticCustomError("setting", "is no bus type; use ub or pcie")


def _nothing_is_empty(value: object) -> object:
    return () if value is None else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_nothing_is_empty)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=False, defer_build=True)


class _Selectors(_Part):
    vendor: Texts = ()
    device_ids: Texts = Field(default=(), alias="deviceIds")
    devices: Texts = ()


def _selective(selectors: _Selectors) -> _Selectors:
    if not selectors.vendor and not selectors.device_ids:
        raise PydanticCustomError(
            "setting",
            "fits every network card; give vendor, deviceIds or both, such as 0x10b5",
        )
    return selectors


class _Entry(_Part):
    bus_type: Annotated[str, AfterValidator(_bus_type)] = Field(alias="busType")
    selectors: Annotated[_Selectors, AfterValidator(_selective)]
    unknown_is_up: bool = Field(default=True, alias="unknownIsUp")


def _an_entry(value: object) -> object:
    if value == []:
        raise PydanticCustomError(
            "setting", "has no entry; give one, or remove the file to do without DPU NICs"
        )
    return value


class _File(_Part):
    config_list: Annotated[tuple[_Entry, ...], BeforeValidator(_an_entry)] = Field(
        alias="configList"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDpuConfig:
    """What a file says, and what in it was passed over, in words."""

    config: DpuConfig
    ignored: tuple[str, ...]


def parse_dpu_config(data: bytes, *, name: str) -> ReadDpuConfig:
    """Return what the file's content *data* says; *name* is for messages.

    Raises:
        ConfigError: it means nothing; one line a violation, each with value and remedy.

    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        why = str(error) or "nested too deeply"
        raise ConfigError(f"{name}: is no JSON ({why}); correct it there") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{name}: {shown(raw)} is no object; start with configList")
    entries = raw.get("configList")
    if isinstance(entries, list):
        # Only the first entry counts; what stands in the others can't be wrong.
        raw = raw | {"configList": entries[:1]}
    file = _validate(raw, name=name)
    entry = file.config_list[0]
    config = DpuConfig(
        bus=DpuBus(entry.bus_type),
        vendor_ids=frozenset(entry.selectors.vendor),
        device_ids=frozenset(entry.selectors.device_ids),
        names=frozenset(entry.selectors.devices),
        unknown_is_up=entry.unknown_is_up,
    )
    more = len(entries) - 1 if isinstance(entries, list) else 0
    return ReadDpuConfig(config=config, ignored=_ignored(file, entry, more=more))


def _validate(raw: object, *, name: str) -> _File:
    try:
        return _File.model_validate(raw)
    except ValidationError as error:
        problems = describe(error, known={})
        raise ConfigError(
            "\n".join(
                problem.text(f"{name}: {'.'.join(map(str, problem.where))}") for problem in problems
            )
        ) from error


def _ignored(file: _File, entry: _Entry, *, more: int) -> tuple[str, ...]:
    keys = [
        *(file.model_extra or {}),
        *(f"configList.0.{key}" for key in entry.model_extra or {}),
        *(f"configList.0.selectors.{key}" for key in entry.selectors.model_extra or {}),
    ]
    if more:
        keys.append(f"all entries of configList but the first ({more})")
    return tuple(keys)
