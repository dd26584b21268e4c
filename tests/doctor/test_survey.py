"""Asking a real worker about a simulated node."""

import os

import pytest

from ascend_agent.doctor.survey import survey
from ascend_agent.errors import DriverUnavailableError
from ascend_agent.settings import DriverKind, DropStep, HangStep, Settings, SimulatedNode

pytestmark = pytest.mark.peer

ENVIRONMENT = dict(os.environ)  # noqa: TID251 -- the worker needs a PATH


def settings(**node: object) -> Settings:
    return Settings(
        driver=DriverKind.SIMULATED,
        simulated=SimulatedNode.model_validate(node),
        query_deadline_s=0.5,
    )


async def test_every_npu_of_the_node_is_asked() -> None:
    found = await survey(settings(chip="910C", npus=4), environment=ENVIRONMENT)

    assert [npu.identity.phy for npu in found.npus if npu.identity] == [0, 1, 2, 3]
    assert all(npu.spec and npu.health and npu.usage and not npu.trouble for npu in found.npus)


async def test_no_fault_subscription_is_made() -> None:
    """An agent may be running beside us; the driver knows but one subscriber a process."""
    found = await survey(settings(npus=1), environment=ENVIRONMENT)

    assert found.driver.callbacks is None


async def test_a_node_without_npus_is_an_answer() -> None:
    found = await survey(settings(npus=0), environment=ENVIRONMENT)

    assert found.npus == ()


async def test_a_hung_card_is_told_beside_the_others() -> None:
    step = HangStep(at_s=0, card=1, call="identity", hang_s=20)

    found = await survey(settings(npus=3, steps=[step]), environment=ENVIRONMENT)

    assert [bool(npu.identity) for npu in found.npus] == [True, False, True]
    assert found.npus[1].trouble


async def test_a_lost_card_is_told() -> None:
    step = DropStep(at_s=0, card=1, drop=True)

    found = await survey(settings(npus=2, steps=[step]), environment=ENVIRONMENT)

    lost = found.enumeration.lost_cards + sum(
        bool(npu.trouble) or bool(npu.health and npu.health.lost) for npu in found.npus
    )
    assert lost == 1


async def test_a_missing_library_is_an_error_that_says_so() -> None:
    missing = Settings.model_validate({"library": "/nowhere/libdcmi.so"})

    with pytest.raises(ExceptionGroup) as caught:
        await survey(missing, environment=ENVIRONMENT)

    assert caught.group_contains(DriverUnavailableError, match="/nowhere/libdcmi.so")


async def test_processes_are_asked_for_only_if_wanted() -> None:
    """``devices`` does not show them, and each question costs a hung card's deadline."""
    plain = await survey(settings(npus=1), environment=ENVIRONMENT)
    asked = await survey(settings(npus=1), environment=ENVIRONMENT, processes=True)

    assert [npu.processes for npu in (*plain.npus, *asked.npus)] == [None, ()]


async def test_the_return_codes_behind_a_trouble_are_kept() -> None:
    """They lead to advice; a text would have to be taken apart."""
    step = HangStep(at_s=0, card=0, call="identity", hang_s=20)

    found = await survey(settings(npus=1, steps=[step]), environment=ENVIRONMENT)

    assert len(found.npus[0].codes) == 1
