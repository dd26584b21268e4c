"""The words of an Event are MindCluster's, with the true level and the true time."""

from dataclasses import replace

import pytest

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.event_records import ConfigNotice, Happening
from ascend_agent.faults.event_words import action_of, is_warning, message_of
from ascend_agent.faults.meanings import explain, explain_level, explain_upgrade
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import CardId, Millis, SlotId
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.notices import Announcement, HealthNotice, NoticeKind
from tests.fakes.npus import npu, without_address

AT = Millis(1_767_607_200_999)  # 2026-01-05 10:00:00.999 UTC


def notice(kind: NoticeKind, **changes: object) -> HealthNotice:
    one = npu(5)
    assert one.address is not None
    address = replace(one.address, card=CardId(2), slot=SlotId(1))
    plain = HealthNotice(
        kind=kind,
        npu=replace(one, address=address),
        code=FaultCode(0x8C064E00),
        level=FaultLevel.FREE_RESTART_NPU,
        at_ms=AT,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # fields by name


def words(happening: HealthNotice | ConfigNotice) -> str:
    return message_of(happening, node="node1", catalog=CATALOG)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (NoticeKind.OCCURRED, "Occur"),
        (NoticeKind.RECOVERED, "Recovery"),
        (NoticeKind.ONE_OFF, "Notice"),
    ],
)
def test_the_sentence_is_the_one_that_people_grep_for(kind: NoticeKind, word: str) -> None:
    assert words(notice(kind)).startswith(
        f"device fault, nodeName:node1, assertion:{word}, cardID:2, deviceID:1, "
        "faultCodes:8C064E00, faultLevelName:FreeRestartNPU, "
        "alarmRaisedTime:2026-01-05 10:00:00; NPU 5"
    )


def test_an_npu_without_a_card_is_named_by_its_logic_id() -> None:
    one = npu(5)
    assert one.address is not None
    address = replace(one.address, card=None, slot=None)

    said = words(notice(NoticeKind.OCCURRED, npu=replace(one, address=address)))

    assert "assertion:Occur, logicID:5, faultCodes" in said


def test_an_npu_that_is_not_listed_any_more_is_where_it_was() -> None:
    assert "cardID:5, deviceID:0" in words(notice(NoticeKind.OCCURRED, npu=without_address(npu(5))))


def test_a_raised_and_a_lowered_level_say_by_which_rule() -> None:
    """Faults D80: the peer shows no upgrade at all."""
    facts = {"upgrade": UpgradeKind.FREQUENCY, "level": FaultLevel.MANUALLY_SEPARATE_NPU}

    assert words(notice(NoticeKind.UPGRADED, **facts)).startswith(
        "device fault level raised, nodeName:node1, cardID:2, deviceID:1, faultCodes:8C064E00, "
        "faultLevelName:ManuallySeparateNPU, upgradeType:FaultFrequency, "
        "raisedTime:2026-01-05 10:00:00"
    )
    assert words(notice(NoticeKind.RELEASED, **facts)).startswith(
        "device fault level lowered, nodeName:node1, cardID:2, deviceID:1, faultCodes:8C064E00, "
        "faultLevelName:ManuallySeparateNPU, upgradeType:FaultFrequency, "
        "releasedTime:2026-01-05 10:00:00"
    )


def test_an_upgrade_nobody_wrote_down_has_no_code() -> None:
    said = words(notice(NoticeKind.RELEASED, code=None, upgrade=UpgradeKind.AUTOFILL))

    assert "faultCodes:none" in said


def test_a_code_is_spelled_as_the_table_spells_it() -> None:
    assert "faultCodes:020001002," in words(notice(NoticeKind.OCCURRED, code=FaultCode(0x20001002)))


def test_what_it_means_and_what_to_do_follows() -> None:
    """For whoever sees nothing but ``kubectl describe node``."""
    code = FaultCode(0x8C064E00)
    own = explain(code, CATALOG)
    as_is = notice(NoticeKind.OCCURRED, level=CATALOG.level_of(code, None))
    raised = notice(NoticeKind.OCCURRED, level=FaultLevel.MANUALLY_SEPARATE_NPU)
    worse = explain_level(FaultLevel.MANUALLY_SEPARATE_NPU)

    assert words(as_is).endswith(f"; NPU 5: {own.title}. {own.meaning} {own.action}")
    assert words(raised).endswith(
        f"; NPU 5: {own.title}; now {worse.title}. {worse.meaning} {worse.action}"
    )


def test_a_level_that_a_rule_raised_is_explained_by_the_rule() -> None:
    why = explain_upgrade(UpgradeKind.DURATION)

    assert words(notice(NoticeKind.UPGRADED, upgrade=UpgradeKind.DURATION)).endswith(
        f"; NPU 5: {why.title}. {why.meaning} {why.action}"
    )


def test_what_happened_to_no_code_is_explained_by_its_level() -> None:
    level = explain_level(FaultLevel.FREE_RESTART_NPU)

    assert words(notice(NoticeKind.OCCURRED, code=None)).endswith(level.action)


@pytest.mark.parametrize("kind", [NoticeKind.RECOVERED, NoticeKind.RELEASED])
def test_what_is_over_needs_no_advice(kind: NoticeKind) -> None:
    assert words(notice(kind)).endswith("; NPU 5")


@pytest.mark.parametrize("level", FaultLevel)
def test_every_code_fits_into_an_event(level: FaultLevel) -> None:
    """1,024 bytes, with the longest name a node can have; else the advice would be cut off."""
    longest = max(
        len(
            message_of(
                notice(NoticeKind.OCCURRED, code=code, level=level),
                node="n" * 253,
                catalog=CATALOG,
            ).encode()
        )
        for code in (*CATALOG.levels, *CATALOG.network_levels, FaultCode(0xFFFFFFFF))
    )

    assert longest <= 1024


def test_refused_rules_say_what_is_wrong_and_that_the_old_ones_stay() -> None:
    refused = ConfigNotice(refused=("faultCode.json: no code",), source="built-in", at_ms=AT)

    assert "faultCode.json: no code" in words(refused)
    assert "the rules before it stay in force" in words(refused)
    assert words(replace(refused, refused=())) == (
        "fault rules in order again, nodeName:node1, source:built-in"
    )


def test_the_action_is_the_level_where_there_is_one() -> None:
    assert action_of(notice(NoticeKind.OCCURRED)) == "FreeRestartNPU"
    assert action_of(notice(NoticeKind.RELEASED)) == "EventReleaseUpgradeFault"
    assert action_of(ConfigNotice(refused=("x",), source="", at_ms=AT)) == "FaultConfigRefused"


@pytest.mark.parametrize(
    ("happening", "warning"),
    [
        (notice(NoticeKind.OCCURRED), True),
        (notice(NoticeKind.UPGRADED), True),
        (notice(NoticeKind.RECOVERED), False),
        (notice(NoticeKind.ONE_OFF), False),
        (notice(NoticeKind.RELEASED), False),
        (ConfigNotice(refused=("x",), source="", at_ms=AT), True),
        (ConfigNotice(refused=(), source="", at_ms=AT), False),
        (Announcement(reason="R", message="m", warning=True, at_ms=AT), True),
        (Announcement(reason="R", message="m", warning=False, at_ms=AT), False),
    ],
)
def test_what_is_bad_is_a_warning_and_nothing_else(happening: Happening, *, warning: bool) -> None:
    assert is_warning(happening) is warning


def test_what_is_announced_has_its_own_words() -> None:
    announced = Announcement(reason="AscendAllocateFailed", message="why", warning=True, at_ms=AT)

    assert action_of(announced) == "AscendAllocateFailed"
    assert message_of(announced, node="n1", catalog=CATALOG) == "why"
