"""Scripted answers, hangs, counts and traces of calls."""

import threading
import time

import pytest

from tests.fake_dcmi.conftest import Loaded, LoadFake

HEALTH = "dcmi_get_device_health"


def health(fake: Loaded, card: int = 0) -> int:
    """Return the code of a health query."""
    return fake.number(HEALTH, card, 0, signed=False)[0]


def test_an_answer_can_be_scripted_for_one_chip(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 2")
    fake.call("dcmi_init")
    fake.host.answer("*_get_device_health", -8009, phy=1)

    assert fake.number(HEALTH, 1, 0, signed=False) == (-8009, 77)
    assert health(fake, 0) == 0

    fake.host.clear()
    assert health(fake, 1) == 0


def test_the_nth_call_alone_can_fail(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.answer(HEALTH, -8005, after=2, times=1)

    assert [health(fake) for _ in range(4)] == [0, 0, -8005, 0]


def test_init_can_fail_a_number_of_times_first(load_fake: LoadFake) -> None:
    fake = load_fake("rc dcmi_init * -8005 times=2")

    assert [fake.call("dcmi_init") for _ in range(3)] == [-8005, -8005, 0]


def test_a_call_is_late_by_what_was_asked(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.delay(HEALTH, 30, times=1)
    started = time.monotonic()

    assert health(fake) == 0
    assert time.monotonic() - started >= 0.03


def test_a_hanging_chip_holds_back_its_own_callers_until_released(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 2")
    fake.call("dcmi_init")
    fake.host.hang(HEALTH, phy=0)
    answers: list[int] = []
    stuck = threading.Thread(target=lambda: answers.append(health(fake, 0)))
    stuck.start()

    assert health(fake, 1) == 0
    stuck.join(0.05)
    assert stuck.is_alive()

    fake.host.release()
    stuck.join()
    assert answers == [0]


def test_a_call_beside_an_init_is_counted(load_fake: LoadFake) -> None:
    """The library's snapshot has no lock: nothing may run while it is rebuilt."""
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    assert overlaps(fake) == 0

    fake.host.hang("dcmi_init", times=1)
    init = threading.Thread(target=fake.call, args=("dcmi_init",))
    init.start()
    while not in_flight(fake):
        init.join(0.001)
    health(fake)
    fake.host.release()
    init.join()

    assert overlaps(fake) == 1


def overlaps(fake: Loaded) -> int:
    """Return the library's count of calls beside an init."""
    (counts,) = fake.host.statistics().values()
    return counts["overlaps"]


def in_flight(fake: Loaded) -> int:
    """Return how many calls have not returned."""
    (counts,) = fake.host.statistics().values()
    return counts["in_flight"]


def test_calls_are_traced_with_address_and_code(load_fake: LoadFake) -> None:
    fake = load_fake("preset mixed-ids", "trace on")
    fake.call("dcmi_init")
    health(fake, 9)
    health(fake, 5)
    fake.host.run("trace off")
    health(fake, 4)

    rows = [(call.symbol, call.first, call.second, call.rc) for call in fake.host.trace()]

    assert rows == [("dcmi_init", -1, -1, 0), (HEALTH, 9, 0, 0), (HEALTH, 5, 0, -8001)]


@pytest.mark.parametrize("line", ["celebrate", "drop 99", "health 99 0", "preset 911", "rc x *"])
def test_a_line_that_can_not_be_done_is_told(load_fake: LoadFake, line: str) -> None:
    fake = load_fake("preset 910B3 1")

    with pytest.raises(RuntimeError, match="can't be done"):
        fake.host.run(line)
