"""Each NPU that would not be offered is told, once with all that have the same trouble."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.npus import CHECK
from ascend_agent.doctor.survey import Survey
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.ids import CardId
from tests.doctor.scene import SICK, found, npu, place, survey, the_one
from tests.fakes.npus import CHIP, identity

LOST = HealthAnswer(health=None, lost=True, codes=None, rc=-8012)
STRANGE = identity(1, chip=dataclasses.replace(CHIP, chip_name="999Z", npu_name="999Z"))


def unreadable() -> Survey:
    listing = dataclasses.replace(
        survey(npu(0)).enumeration, unreadable=((CardId(3), "dcmi_get_device_num_in_card", -8008),)
    )
    return dataclasses.replace(survey(npu(0)), enumeration=listing)


async def test_healthy_npus_are_one_line(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path, driver=survey(npu(0), npu(1))))

    assert finding.verdict is Verdict.OK
    assert finding.detail == "2 of 2 huawei.com/Ascend910"


@pytest.mark.parametrize(
    ("answer", "what", "words"),
    [
        (survey(npu(0), npu(1, health=SICK)), "npu out of service", "NPU 1: fault"),
        (survey(npu(0), npu(1, health=LOST)), "npu out of service", "NPU 1"),
        (survey(npu(0), lost=1), "cards lost", "1 of 2 cards"),
        (
            survey(npu(0), npu(1, identity=STRANGE, spec=None)),
            "chip not recognised",
            "'999Z', board 48",
        ),
        (
            survey(npu(0), npu(1, identity=None, spec=None, trouble=("took 3 s",))),
            "npu does not answer",
            "card 1 chip 0: took 3 s",
        ),
        (unreadable(), "card can't be listed", "answered -8008 (device does not exist)"),
    ],
)
async def test_what_would_not_be_offered_fails_beside_the_others(
    tmp_path: Path, answer: Survey, what: str, words: str
) -> None:
    """One sick chip hides neither itself nor its neighbours (HL-3)."""
    bad, good = await CHECK.look(place(tmp_path, driver=answer))

    assert (bad.verdict, bad.what, good.verdict) == (Verdict.FAIL, what, Verdict.OK)
    assert words in bad.detail
    assert bad.remedy


async def test_npus_with_the_same_trouble_share_a_line(tmp_path: Path) -> None:
    """Sixteen equal pairs of lines would push what is wrong with the node off the screen."""
    sick = survey(npu(0, health=SICK), npu(1, health=LOST), npu(2, health=SICK))

    same, other, _ = await CHECK.look(place(tmp_path, driver=sick))

    assert same.detail.startswith("NPU 0, 2: fault")
    assert other.detail.startswith("NPU 1: ")


async def test_a_fault_comes_with_the_command_that_explains_it(tmp_path: Path) -> None:
    finding, *_ = await CHECK.look(place(tmp_path, driver=survey(npu(0, health=SICK))))

    assert "ascend-agent faults 80E01801" in finding.remedy


async def test_a_return_code_comes_with_its_next_step(tmp_path: Path) -> None:
    hung = npu(0, identity=None, spec=None, trouble=("answered -8013",), codes=(-8013,))

    finding = await the_one(CHECK, place(tmp_path, driver=survey(hung)))

    assert "privileged" in finding.remedy


async def test_a_code_that_is_only_reported_is_a_warning(tmp_path: Path) -> None:

    mild = 0x80818C06
    answer = HealthAnswer(health=0, lost=False, codes=frozenset({FaultCode(mild)}))

    findings = await found(CHECK, place(tmp_path, driver=survey(npu(0, health=answer))))

    assert findings[0] == (Verdict.WARN, "npu sub-healthy")


async def test_a_driver_that_lists_nothing_is_a_failure(tmp_path: Path) -> None:
    """The node shows no NPU, and the driver is well: this is where to look (OB-5)."""
    finding = await the_one(CHECK, place(tmp_path, driver=survey()))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "no npu listed")


async def test_without_a_driver_nothing_is_judged(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert finding.verdict is Verdict.SKIPPED
