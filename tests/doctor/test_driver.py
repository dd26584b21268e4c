"""Whether the driver answers, with a real worker on the fake library where that matters."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.driver import CHECK, ask_driver
from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.survey import Survey
from ascend_agent.settings import Settings
from tests.doctor.scene import npu, place, survey, the_one
from tests.fake_dcmi.control import FakeHost


def on(library: Path) -> Settings:
    return Settings.model_validate({"library": library, "allow_unsafe_library": True})


def environment(host: FakeHost) -> dict[str, str]:
    return {"PATH": os.defpath, **host.environment}


async def test_a_driver_that_answers_tells_its_versions(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path, driver=survey(npu(0))))

    assert finding.verdict is Verdict.OK
    assert "driver 25.2.3, dcmi 25.2.0, API v1" in finding.detail


async def test_a_driver_that_does_not_answer_fails_with_its_reason(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.detail) == (Verdict.FAIL, "libdcmi.so was not found")


@pytest.mark.peer
async def test_a_worker_asks_the_real_binding(
    fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]
) -> None:
    host = make_fake_host("preset 910B3 2")
    host.set_processes(0, [(4711, 1 << 20)])

    answer = await ask_driver(on(fake_dcmi), environment=environment(host), deadline_s=10)

    assert isinstance(answer, Survey)
    assert [one.processes and one.processes[0].pid for one in answer.npus] == [4711, ()]


@pytest.mark.peer
async def test_an_init_that_fails_is_told_in_words_with_the_next_step(
    fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]
) -> None:
    """People met a bare -8005 and mixed two releases of the driver (IM-3)."""
    host = make_fake_host("preset 910B3 1")
    host.answer("dcmi*_init", -8005)

    answer = await ask_driver(on(fake_dcmi), environment=environment(host), deadline_s=10)

    assert isinstance(answer, DriverTrouble)
    assert "dcmi_init answered -8005 (inner error)" in answer.why
    assert "another release" in answer.why


@pytest.mark.peer
async def test_a_library_that_hangs_costs_the_deadline(
    fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]
) -> None:
    host = make_fake_host("preset 910B3 1")
    host.hang("dcmi_init")

    answer = await ask_driver(on(fake_dcmi), environment=environment(host), deadline_s=0.5)

    assert isinstance(answer, DriverTrouble)
    assert "no answer within 0.5 s" in answer.why


@pytest.mark.peer
async def test_a_missing_library_is_an_answer(tmp_path: Path) -> None:
    settings = on(tmp_path / "libdcmi.so")

    answer = await ask_driver(settings, environment={"PATH": os.defpath}, deadline_s=10)

    assert isinstance(answer, DriverTrouble)
    assert "does not exist" in answer.why
