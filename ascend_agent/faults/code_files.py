"""The levels of codes, as an operator gives them: ``faultCode.json``, ``SwitchFaultCode.json``.

MindCluster's formats. A code that the file names has the level the file says; every other one keeps
its built-in level, so that a short file moves what it names and makes nothing else unknown. A file
that names no code at all is refused (D31).
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ascend_agent.faults.catalog import spell
from ascend_agent.faults.codes import parse_code, parse_switch_text
from ascend_agent.faults.config_text import (
    Parsed,
    Problems,
    name_unknown,
    read_object,
    shown,
    take_texts,
)
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import SwitchLevel

_CHIP_KEYS: Final[Mapping[str, FaultLevel]] = MappingProxyType(
    {
        f"{level.value}Codes": level
        for level in FaultLevel
        if level is not FaultLevel.MANUALLY_SEPARATE_NPU
    }
)
_OF_A_NETWORK: Final = (
    FaultLevel.NOT_HANDLE,
    FaultLevel.SUB_HEALTH,
    FaultLevel.PRE_SEPARATE_NPU,
    FaultLevel.SEPARATE_NPU,
)
_NETWORK_KEYS: Final[Mapping[str, FaultLevel]] = MappingProxyType(
    {f"{level.value}NetworkCodes": level for level in _OF_A_NETWORK}
)
_KEYS: Final = (*_CHIP_KEYS, *_NETWORK_KEYS)
_SWITCH_KEYS: Final[Mapping[str, SwitchLevel]] = MappingProxyType(
    {
        "NotHandleFaultCodes": SwitchLevel.NOT_HANDLE,
        "SubHealthFaultCodes": SwitchLevel.SUB_HEALTH,
        "RestartRequestFaultCodes": SwitchLevel.RESTART_REQUEST,
        "PreSeparateFaultCodes": SwitchLevel.PRE_SEPARATE,
        "SeparateFaultCodes": SwitchLevel.SEPARATE,
        "ResetFaultCodes": SwitchLevel.SEPARATE,
    }
)
_SWITCH_RANK: Final = {level: rank for rank, level in enumerate(SwitchLevel)}
_RANK: Final = {level: rank for rank, level in enumerate(FaultLevel)}


def parse_fault_codes(text: str, *, built_in: Catalog) -> Parsed[Catalog]:
    """Return the table that ``faultCode.json`` makes of the built-in one."""
    problems = Problems()
    try:
        table = read_object(text)
        lists = {key: texts for key in _KEYS if (texts := take_texts(table, key)) is not None}
    except ValueError as error:
        return Parsed(value=None, problems=(str(error),))
    name_unknown(table, _KEYS, problems)
    chip: dict[FaultCode, FaultLevel] = {}
    network: dict[FaultCode, FaultLevel] = {}
    spelled: list[str] = []
    for code, level, entry in _entries(lists, built_in.network_levels, problems):
        spelled.append(entry)
        _raise_to(network if code in built_in.network_levels else chip, code, level)
    if not spelled:
        return Parsed(value=None, problems=(*problems.told(), _no_code(_KEYS)))
    catalog = Catalog(
        levels=MappingProxyType({**built_in.levels, **chip}),
        network_levels=MappingProxyType({**built_in.network_levels, **network}),
        spellings=MappingProxyType({**spell(spelled), **built_in.spellings}),
    )
    return Parsed(value=catalog, problems=problems.told())


def _entries(
    lists: Mapping[str, Sequence[str]],
    of_a_network: Mapping[FaultCode, FaultLevel],
    problems: Problems,
) -> Iterator[tuple[FaultCode, FaultLevel, str]]:
    """Yield each entry that can be used: its code, the level it asks for, its text."""
    for key, texts in lists.items():
        for text in texts:
            code = parse_code(text)
            if code is None:
                problems.add(f"{key}: {shown(text)} is no code; write hex digits without 0x")
            elif key in _NETWORK_KEYS and code not in of_a_network:
                problems.add(
                    f"{key}: {shown(text)} is no code of a network; "
                    f"put it under {key.removesuffix('NetworkCodes')}Codes"
                )
            elif key in _NETWORK_KEYS:
                yield code, _NETWORK_KEYS[key], text
            elif code in of_a_network and _CHIP_KEYS[key] not in _OF_A_NETWORK:
                problems.add(
                    f"{key}: {shown(text)} is a code of a network, which no restart helps; "
                    "it counts as NotHandleFault"
                )
                yield code, FaultLevel.NOT_HANDLE, text
            else:
                yield code, _CHIP_KEYS[key], text


def _raise_to(levels: dict[FaultCode, FaultLevel], code: FaultCode, level: FaultLevel) -> None:
    """Note *level*, unless the code stands under a more severe one as well."""
    levels[code] = max(levels.get(code, level), level, key=_RANK.__getitem__)


def parse_switch_codes(
    text: str, *, built_in: Mapping[str, SwitchLevel]
) -> Parsed[Mapping[str, SwitchLevel]]:
    """Return the levels that ``SwitchFaultCode.json`` makes of the built-in ones."""
    problems = Problems()
    try:
        table = read_object(text)
        lists = {
            key: texts for key in _SWITCH_KEYS if (texts := take_texts(table, key)) is not None
        }
    except ValueError as error:
        return Parsed(value=None, problems=(str(error),))
    name_unknown(table, tuple(_SWITCH_KEYS), problems)
    levels: dict[str, SwitchLevel] = {}
    for key, entries in lists.items():
        for entry in entries:
            fault = parse_switch_text(entry)
            if fault is None:
                problems.add(
                    f"{key}: {shown(entry)} is no switch fault; it looks like [0x08520003,na,L2,na]"
                )
                continue
            level = _SWITCH_KEYS[key]
            levels[fault] = max(levels.get(fault, level), level, key=_SWITCH_RANK.__getitem__)
    if not levels:
        return Parsed(value=None, problems=(*problems.told(), _no_code(tuple(_SWITCH_KEYS))))
    return Parsed(value=MappingProxyType({**built_in, **levels}), problems=problems.told())


def _no_code(keys: Sequence[str]) -> str:
    return f"names no code; list codes under {', '.join(keys)}, or remove the file"
