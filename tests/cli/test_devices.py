"""How the answers of the driver look, as a table and as JSON."""

import io
import json
from dataclasses import replace

import pytest

from ascend_agent.chips import identify
from ascend_agent.cli.devices import as_object, show
from ascend_agent.doctor.survey import Survey, SurveyedNpu
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.ids import CardId, DieId, LogicId, PhyId, SlotId
from ascend_agent.model.npu import (
    ChipIdentity,
    DriverApi,
    DriverPhase,
    DriverState,
    Enumeration,
    NpuAddress,
    NpuIdentity,
    NpuUsage,
)

ADDRESS = NpuAddress(card=CardId(2), slot=SlotId(1), logic=LogicId(5), lane=2)
CHIP = ChipIdentity(
    chip_type="Ascend",
    chip_name="910B3",
    npu_name="910B3",
    chip_version="V1",
    board_id=0x32,
    mainboard_id=None,
    product=None,
)
IDENTITY = NpuIdentity(
    phy=PhyId(5),
    address=ADDRESS,
    chip=CHIP,
    die=DieId("1A2B3C4D-00000005-DEADBEEF-00000000-00FF00FF"),
    bus="0000:C1:00.0",
    memory_mib=65536,
    ai_cores=20,
    affinity=None,
)
NPU = SurveyedNpu(
    address=ADDRESS,
    identity=IDENTITY,
    spec=identify(CHIP),
    health=HealthAnswer(health=2, lost=False, codes=frozenset({FaultCode(0x80E01801)})),
    usage=NpuUsage(
        memory_mib=65536,
        memory_used_mib=3000,
        ai_core_percent=7,
        vector_percent=None,
        npu_percent=None,
    ),
)
SURVEY = Survey(
    driver=DriverState(
        phase=DriverPhase.READY,
        api=DriverApi.V1,
        library="/usr/local/Ascend/driver/lib64/driver/libdcmi.so",
        dcmi_version="25.2.0",
        driver_version="25.2.3",
    ),
    enumeration=Enumeration(addresses=(ADDRESS,), cards=1, lost_cards=0, unreadable=()),
    npus=(NPU,),
)


def shown(survey: Survey, *, as_json: bool = False) -> str:
    stream = io.StringIO()
    show(survey, stream=stream, as_json=as_json)
    return stream.getvalue()


def npus_of(survey: Survey) -> list[dict[str, object]]:
    npus: list[dict[str, object]] = json.loads(shown(survey, as_json=True))["npus"]
    return npus


def with_npu(npu: SurveyedNpu) -> Survey:
    return replace(SURVEY, npus=(npu,))


def test_the_table_says_what_people_look_for() -> None:
    text = shown(SURVEY)

    for word in (
        "NPU",
        "AI core",
        "driver 25.2.3",
        "API v1",
        "2/1",
        "910B3",
        "huawei.com/Ascend910",
        "major alarm",
        "80E01801",
        "3000 / 65536 MiB",
        "7 %",
        "0000:C1:00.0",
    ):
        assert word in text


def test_json_holds_every_fact_of_the_table() -> None:
    (npu,) = npus_of(SURVEY)

    assert npu == {
        "npu": 5,
        "logic": 5,
        "card": 2,
        "slot": 1,
        "chip": "910B3",
        "generation": "910B",
        "resource": "huawei.com/Ascend910",
        "die": "1A2B3C4D-00000005-DEADBEEF-00000000-00FF00FF",
        "bus": "0000:C1:00.0",
        "board_id": 50,
        "product": None,
        "ai_cores": 20,
        "memory_mib": 65536,
        "memory_used_mib": 3000,
        "ai_core_percent": 7,
        "health": 2,
        "faults": ["80E01801"],
        "trouble": [],
    }


def test_a_chip_that_does_not_answer_is_a_row_with_its_reason() -> None:
    """One hung card must not hide the others, nor itself."""
    survey = with_npu(SurveyedNpu(address=ADDRESS, trouble=("identity took longer than 3 s",)))

    assert "identity took longer than 3 s" in shown(survey)
    (npu,) = npus_of(survey)
    assert (npu["npu"], npu["card"], npu["trouble"]) == (
        None,
        2,
        ["identity took longer than 3 s"],
    )


def test_an_unknown_chip_is_listed_as_not_offered() -> None:
    survey = with_npu(replace(NPU, spec=None, trouble=("unknown chip, not offered",)))

    assert "not offered" in shown(survey)
    assert "NPU 5: unknown chip, not offered" in shown(survey)


@pytest.mark.parametrize(
    ("health", "word"),
    [
        (HealthAnswer(health=0, lost=False, codes=frozenset()), "normal"),
        (HealthAnswer(health=1, lost=False, codes=frozenset()), "minor alarm"),
        (HealthAnswer(health=3, lost=False, codes=frozenset()), "critical alarm"),
        (HealthAnswer(health=None, lost=True, codes=None), "lost"),
        (HealthAnswer(health=None, lost=False, codes=None), "not read"),
        (None, "not read"),
    ],
)
def test_health_is_a_word(health: HealthAnswer | None, word: str) -> None:
    assert word in shown(with_npu(replace(NPU, health=health)))


def test_what_a_chip_does_not_tell_is_a_dash_and_null() -> None:
    identity = replace(IDENTITY, bus=None, memory_mib=None)
    survey = with_npu(replace(NPU, identity=identity, usage=None))

    (npu,) = npus_of(survey)
    assert (npu["bus"], npu["memory_mib"], npu["memory_used_mib"]) == (None, None, None)
    assert "MiB" not in shown(survey)


def test_a_chip_of_the_second_generation_has_no_card() -> None:
    address = NpuAddress(card=None, slot=None, logic=LogicId(5), lane=5)

    assert "logic 5" in shown(with_npu(replace(NPU, address=address)))


def test_what_the_driver_could_not_list_is_said_below() -> None:
    enumeration = Enumeration(
        addresses=(), cards=3, lost_cards=2, unreadable=((CardId(4), "dcmi_get_device_num", -8005),)
    )
    survey = replace(SURVEY, enumeration=enumeration, npus=())

    text = shown(survey)

    assert "The driver lists no NPU." in text
    assert "2 cards are lost: the driver can't reach them." in text
    assert "Card 4 can't be listed: dcmi_get_device_num answered -8005." in text
    assert as_object(survey)["unreadable_cards"] == [
        {"card": 4, "call": "dcmi_get_device_num", "rc": -8005}
    ]


def test_nothing_is_cut_where_no_terminal_is() -> None:
    """A table in a pipe is read by grep."""
    assert "…" not in shown(SURVEY)
