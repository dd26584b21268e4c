"""What an Event says: MindCluster's sentence, which people grep for, and then what to do.

Unlike there the level is the one with everything counted, and the time is when it happened, in UTC.
"""

from datetime import UTC, datetime
from typing import Final

from ascend_agent.faults.event_records import ConfigNotice, EventReason, Happening, key_of
from ascend_agent.faults.meanings import Meaning, explain, explain_level, explain_upgrade
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import Announcement, HealthNotice, NoticeKind

_WARNINGS: Final = frozenset({EventReason.OCCUR, EventReason.UPGRADE, EventReason.CONFIG_REFUSED})

_MS: Final = 1000
_RULES_KEPT: Final = "the rules before it stay in force; correct it"


def is_warning(happening: Happening) -> bool:
    """Return whether the Event is of type Warning."""
    if isinstance(happening, Announcement):
        return happening.warning
    return key_of(happening).reason in _WARNINGS


def action_of(happening: Happening) -> str:
    """Return ``action`` of the Event: the level where there is one."""
    if isinstance(happening, HealthNotice) and happening.kind is not NoticeKind.RELEASED:
        return happening.level.value
    return key_of(happening).word


def message_of(happening: Happening, *, node: str, catalog: Catalog) -> str:
    """Return ``message`` of the Event; it may be longer than the API allows."""
    if isinstance(happening, ConfigNotice):
        return _config_message(happening, node)
    if isinstance(happening, Announcement):
        return happening.message
    kind, assertion = happening.kind, key_of(happening).word
    code = "none" if happening.code is None else catalog.text_of(happening.code)
    facts = {
        "nodeName": node,
        **({} if happening.upgrade else {"assertion": assertion}),
        **_place(happening),
        "faultCodes": code,
        "faultLevelName": happening.level.value,
        **({"upgradeType": happening.upgrade.value} if happening.upgrade else {}),
        _TIME_NAMES.get(kind, "alarmRaisedTime"): _moment(happening.at_ms),
    }
    said = ", ".join(f"{name}:{value}" for name, value in facts.items())
    subject = _SUBJECTS.get(kind, "device fault")
    return f"{subject}, {said}; NPU {happening.npu.phy}{_advice(happening, catalog)}"


def _advice(notice: HealthNotice, catalog: Catalog) -> str:
    """Return what it means and what to do; nothing where nothing is to be done."""
    if notice.kind in {NoticeKind.RECOVERED, NoticeKind.RELEASED}:
        return ""
    if notice.upgrade is not None:
        return _sentences(explain_upgrade(notice.upgrade))
    if notice.code is None:
        return _sentences(explain_level(notice.level))
    own = explain(notice.code, catalog)
    if catalog.level_of(notice.code, None) is notice.level:
        return _sentences(own)
    # The NPU stands under another level: by a rule, another fault, or this one's severity.
    general = explain_level(notice.level, catalog.plane_of(notice.code))
    return f": {own.title}; now {_sentences(general)[2:]}"


def _sentences(meaning: Meaning) -> str:
    return f": {meaning.title}. {meaning.meaning} {meaning.action}"


def _config_message(notice: ConfigNotice, node: str) -> str:
    if not notice.refused:
        return f"fault rules in order again, nodeName:{node}, source:{notice.source}"
    return f"fault rules refused, nodeName:{node}; {_RULES_KEPT}: {'; '.join(notice.refused)}"


def _place(notice: HealthNotice) -> dict[str, int]:
    """Return where the NPU is, as its driver's tools call it."""
    address = notice.npu.address or notice.npu.identity.address
    if address.card is None or address.slot is None:
        return {"logicID": address.logic}
    return {"cardID": address.card, "deviceID": address.slot}


def _moment(at_ms: Millis) -> str:
    return datetime.fromtimestamp(at_ms // _MS, UTC).strftime("%Y-%m-%d %H:%M:%S")


_SUBJECTS: Final = {
    NoticeKind.UPGRADED: "device fault level raised",
    NoticeKind.RELEASED: "device fault level lowered",
}
_TIME_NAMES: Final = {NoticeKind.UPGRADED: "raisedTime", NoticeKind.RELEASED: "releasedTime"}
