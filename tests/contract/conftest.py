"""One contract, many drivers: who is asked which part of it.

Every test gets a driver and opens a node of it. What is read is asked of all drivers; what needs
something to happen, of those that can be scripted; news, of those whose driver tells. A real node
is asked with ``-m hardware``, and only to read.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ascend_agent.driver.child import spawn_worker
from ascend_agent.driver.simulated.peer import spawn_in_loop
from tests.contract.drivers import Driver, FakeDriver, HardwareDriver, SimulatedDriver
from tests.contract.threads import spawn_in_thread
from tests.fake_dcmi.control import FakeHost

TELLING = ("fake-v1", "fake-v2", "fake-process", "simulated-v1", "simulated-loop")
SCRIPTED = (*TELLING, "simulated-v2")
READ = (*SCRIPTED, "simulated-process")
ON_LOOP_TIME = ("simulated-loop",)


def _parameters(kinds: Iterable[str]) -> list[Any]:
    return [
        pytest.param(kind, marks=() if kind in ON_LOOP_TIME else pytest.mark.peer) for kind in kinds
    ]


_HARDWARE = pytest.param("hardware", marks=[pytest.mark.hardware, pytest.mark.peer])

MakeDriver = Callable[[str], Driver]


@pytest.fixture
def make_driver(
    fake_dcmi: Path,
    fake_lingqu: Path,
    make_fake_host: Callable[..., FakeHost],
    monkeypatch: pytest.MonkeyPatch,
) -> MakeDriver:
    """Return a function that makes a driver by its kind."""

    def fake(chip: str, **options: Any) -> FakeDriver:
        return FakeDriver(
            chip=chip,
            library=fake_dcmi,
            switch_library=fake_lingqu,
            make_host=make_fake_host,
            set_environment=monkeypatch.setenv,
            **options,
        )

    makers: dict[str, Callable[[], Driver]] = {
        "fake-v1": lambda: fake("910B3"),
        # The published driver has no events there; the binding must be ready for one that has.
        "fake-v2": lambda: fake("950", extra=("callbacks on",)),
        "fake-process": lambda: fake("910C", spawn=spawn_worker),
        "simulated-v1": lambda: SimulatedDriver(chip="910B3", spawn=spawn_in_thread),
        "simulated-v2": lambda: SimulatedDriver(chip="950", spawn=spawn_in_thread),
        "simulated-process": lambda: SimulatedDriver(chip="910B3", spawn=spawn_worker),
        "simulated-loop": lambda: SimulatedDriver(chip="910C", spawn=spawn_in_loop),
        "hardware": lambda: HardwareDriver(environment=dict(os.environ)),  # noqa: TID251 -- as cli
    }
    return lambda kind: makers[kind]()


@pytest.fixture(params=[*_parameters(READ), _HARDWARE])
def driver(request: pytest.FixtureRequest, make_driver: MakeDriver) -> Driver:
    """Return each driver there is, the hardware's included: to be read only."""
    return make_driver(request.param)


@pytest.fixture(params=_parameters(SCRIPTED))
def scripted(request: pytest.FixtureRequest, make_driver: MakeDriver) -> Driver:
    """Return each driver whose hardware does what a test wants."""
    return make_driver(request.param)


@pytest.fixture(params=_parameters(TELLING))
def telling(request: pytest.FixtureRequest, make_driver: MakeDriver) -> Driver:
    """Return each such driver that tells of faults by itself."""
    return make_driver(request.param)


@pytest.fixture(params=_parameters(["fake-v1", "simulated-v1", "simulated-loop"]))
def any_chip(request: pytest.FixtureRequest, make_driver: MakeDriver) -> Driver:
    """Return one driver of each make, for tests that name their chip."""
    return make_driver(request.param)


@pytest.fixture(params=_parameters(["fake-v1", "fake-process", "simulated-v1", "simulated-loop"]))
def switched(request: pytest.FixtureRequest, make_driver: MakeDriver) -> Driver:
    """Return each make of driver, for tests of a node with switches: they name its chip."""
    return make_driver(request.param)


@pytest.fixture(params=_parameters(["fake-v1", "fake-v2"]))
def faked(request: pytest.FixtureRequest, make_driver: MakeDriver) -> FakeDriver:
    """Return the binding on the fake library, in both generations."""
    made = make_driver(request.param)
    assert isinstance(made, FakeDriver)
    return made
