"""The document in which the isolation of NPUs outlives the agent (design D8).

Decides its form and what of a document can be believed: all of it or nothing. Who writes it,
where, and what becomes of a damaged one is the flow's and the host's business.

    {"format": 1, "sha256": "<of the content>", "content": {
        "written_at_ms": 1700000000000,
        "published": {"uid": "...", "version": "12", "separated": "Ascend910-4", "reasons": "{}"},
        "npus": {"4": {"die": "...",
            "upgrades": [{"code": "80E18005", "level": "ManuallySeparateNPU",
                          "kind": "FaultFrequency", "at_ms": 1700007200000}],
            "codes": {"80E18005": {"occurrences": [], "last_fault_ms": 1700007200000,
                                   "last_recover_ms": 1700007260000, "stands_since_ms": null}}}}}}

The checksum is that of the content as compact JSON with sorted keys. A field more or less, a wrong
type or a number out of range makes a document useless: it is ours alone, so it was damaged.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Final, TypeVar

from ascend_agent.model.fault import FaultCode, FaultLevel, format_fault_code
from ascend_agent.model.ids import DieId, Millis, ObjectVersion, PhyId
from ascend_agent.model.isolation import (
    CodeHistory,
    Isolation,
    IsolationTexts,
    NpuIsolation,
    PublishedIsolation,
    Upgrade,
    UpgradeKind,
)

E = TypeVar("E", bound=Enum)
K = TypeVar("K")
V = TypeVar("V")

FORMAT: Final = 1
LONGEST_DOCUMENT: Final = 8 * 1024 * 1024
"""Characters. 16 NPUs with all built-in rules full to the brim need less than a fifth of it."""

_MOST_OCCURRENCES: Final = 100
_LONGEST_DIE: Final = 100
_LATEST_MS: Final = 2**53
_CODE: Final = re.compile("[0-9A-F]{8,16}")
_PHY: Final = re.compile("0|[1-9][0-9]{0,5}")
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What the document holds.

    ``published`` is what the API server was last seen to say; None: nothing ever.
    ``written_at_ms`` is agent time.
    """

    isolation: Isolation
    published: PublishedIsolation | None
    written_at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A document that can't be believed; ``detail`` says what is wrong with it."""

    detail: str


class _WrongError(ValueError):
    """Something in a document is not as it must be; the text says where and what."""


def format_document(saved: Saved) -> str:
    """Return *saved* as the text of a document, one line."""
    content = {
        "written_at_ms": saved.written_at_ms,
        "published": None if saved.published is None else _published(saved.published),
        "npus": {str(phy): _npu(saved.isolation.npus[phy]) for phy in sorted(saved.isolation.npus)},
    }
    document = {"format": FORMAT, "sha256": _checksum(content), "content": content}
    return json.dumps(document, separators=(",", ":")) + "\n"


def parse_document(text: str) -> Saved | Damaged:
    """Return what *text* holds, or what is wrong with it."""
    try:
        return _saved(_content(text))
    except (ValueError, RecursionError) as error:
        return Damaged(detail=str(error))


def _content(text: str) -> object:
    """Return the content of the document, which its checksum vouches for."""
    if len(text) > LONGEST_DOCUMENT:
        raise _WrongError(f"{len(text)} characters are more than {LONGEST_DOCUMENT}")
    raw: object = json.loads(text)
    if not isinstance(raw, dict) or raw.keys() != {"format", "sha256", "content"}:
        raise _WrongError("not one of ours, which have format, sha256 and content")
    if raw["format"] != FORMAT:
        raise _WrongError(f"format is {_show(raw['format'])}, not {FORMAT}")
    if raw["sha256"] != _checksum(raw["content"]):
        raise _WrongError("its checksum is not that of its content")
    return raw["content"]


def _checksum(content: object) -> str:
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    return sha256(text.encode()).hexdigest()


# --- what goes in ---------------------------------------------------------------------------


def _published(published: PublishedIsolation) -> Mapping[str, object]:
    return {
        "uid": published.uid,
        "version": published.version,
        "separated": published.texts.separated,
        "reasons": published.texts.reasons,
    }


def _npu(kept: NpuIsolation) -> Mapping[str, object]:
    upgrades = [
        {
            "code": None if upgrade.code is None else format_fault_code(upgrade.code),
            "level": upgrade.level.value,
            "kind": upgrade.kind.value,
            "at_ms": upgrade.at_ms,
        }
        for upgrade in kept.upgrades
    ]
    codes = {
        format_fault_code(code): {
            "occurrences": list(record.occurrences),
            "last_fault_ms": record.last_fault_ms,
            "last_recover_ms": record.last_recover_ms,
            "stands_since_ms": record.stands_since_ms,
        }
        for code, record in sorted(kept.codes.items())
    }
    return {"die": kept.die, "upgrades": upgrades, "codes": codes}


# --- what comes out: each raises _WrongError, which says where and what -------------------------


def _saved(raw: object) -> Saved:
    fields = _fields(raw, "content", ("written_at_ms", "published", "npus"))
    npus = _mapping(fields["npus"], "npus", _phy, _kept)
    published = fields["published"]
    return Saved(
        isolation=Isolation(npus=npus),
        published=None if published is None else _read_published(published),
        written_at_ms=_at(fields["written_at_ms"], "written_at_ms"),
    )


def _read_published(raw: object) -> PublishedIsolation:
    names = ("uid", "version", "separated", "reasons")
    fields = _fields(raw, "published", names)
    uid, version, separated, reasons = [_text(fields[name], f"published.{name}") for name in names]
    return PublishedIsolation(
        uid=uid,
        version=ObjectVersion(version),
        texts=IsolationTexts(separated=separated, reasons=reasons),
    )


def _text(raw: object, where: str) -> str:
    if not isinstance(raw, str):
        raise _WrongError(f"{where} is {_show(raw)}, no text")
    return raw


def _kept(raw: object, where: str) -> NpuIsolation:
    fields = _fields(raw, where, ("die", "upgrades", "codes"))
    die = fields["die"]
    if die is not None and (not isinstance(die, str) or len(die) > _LONGEST_DIE):
        raise _WrongError(f"{where}.die is {_show(die)}, no die")
    upgrades = _list(fields["upgrades"], f"{where}.upgrades")
    return NpuIsolation(
        upgrades=tuple([_upgrade(one, f"{where}.upgrades[{n}]") for n, one in upgrades]),
        codes=_mapping(fields["codes"], f"{where}.codes", _code, _history),
        die=None if die is None else DieId(die),
    )


def _upgrade(raw: object, where: str) -> Upgrade:
    fields = _fields(raw, where, ("code", "level", "kind", "at_ms"))
    kind = _member(UpgradeKind, fields["kind"], f"{where}.kind")
    if (fields["code"] is None) is not (kind is UpgradeKind.AUTOFILL):
        raise _WrongError(f"{where}.code is {_show(fields['code'])}, which {kind.value} can't have")
    return Upgrade(
        code=None if fields["code"] is None else _code(fields["code"], f"{where}.code"),
        level=_member(FaultLevel, fields["level"], f"{where}.level"),
        kind=kind,
        at_ms=_at(fields["at_ms"], f"{where}.at_ms"),
    )


def _history(raw: object, where: str) -> CodeHistory:
    moments = ("last_fault_ms", "last_recover_ms", "stands_since_ms")
    fields = _fields(raw, where, ("occurrences", *moments))
    occurrences = [
        _at(at, f"{where}.occurrences[{n}]") for n, at in _list(fields["occurrences"], where)
    ]
    if len(occurrences) > _MOST_OCCURRENCES or occurrences != sorted(occurrences):
        raise _WrongError(f"{where}.occurrences are too many, or do not ascend")
    fault, recover, stands = [
        None if fields[name] is None else _at(fields[name], f"{where}.{name}") for name in moments
    ]
    return CodeHistory(
        occurrences=tuple(occurrences),
        last_fault_ms=fault,
        last_recover_ms=recover,
        stands_since_ms=stands,
    )


def _fields(raw: object, where: str, names: Iterable[str]) -> Mapping[str, object]:
    if not isinstance(raw, dict) or raw.keys() != set(names):
        raise _WrongError(f"{where} is no object of {', '.join(names)}")
    return raw


def _mapping(
    raw: object,
    where: str,
    key: Callable[[object, str], K],
    value: Callable[[object, str], V],
) -> Mapping[K, V]:
    if not isinstance(raw, dict):
        raise _WrongError(f"{where} is {_show(raw)}, no object")
    return {key(name, where): value(one, f"{where}.{name[:_SHOWN]}") for name, one in raw.items()}


def _list(raw: object, where: str) -> Iterable[tuple[int, object]]:
    if not isinstance(raw, list):
        raise _WrongError(f"{where} is {_show(raw)}, no list")
    return enumerate(raw)


def _member(kind: type[E], raw: object, where: str) -> E:
    found = next((member for member in kind if member.value == raw), None)
    if found is None:
        raise _WrongError(f"{where} is {_show(raw)}, none of {kind.__name__}")
    return found


def _at(raw: object, where: str) -> Millis:
    if type(raw) is not int or not 0 <= raw <= _LATEST_MS:
        raise _WrongError(f"{where} is {_show(raw)}, no time in ms")
    return Millis(raw)


def _phy(raw: object, where: str) -> PhyId:
    if not isinstance(raw, str) or not _PHY.fullmatch(raw):
        raise _WrongError(f"{where} has {_show(raw)}, no physical id")
    return PhyId(int(raw))


def _code(raw: object, where: str) -> FaultCode:
    if not isinstance(raw, str) or not _CODE.fullmatch(raw):
        raise _WrongError(f"{where} has {_show(raw)}, no fault code")
    return FaultCode(int(raw, 16))


def _show(raw: object) -> str:
    return repr(raw)[:_SHOWN]
