"""Subscription, delivery, filters and the pull (DCMI API, fault events)."""

import ctypes
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from ascend_agent.driver.dcmi.library import callback_type, structure, text
from tests.fake_dcmi.conftest import Loaded, LoadFake

CODE = 0x80E01801
SIZE = 360


class Subscriber:
    """Keeps what the library tells; its callback lives as long as the process."""

    kept: list[object] = []  # noqa: RUF012 -- the library never gives a callback back

    def __init__(
        self,
        fake: Loaded,
        address: tuple[int, ...] = (-1, -1),
        wanted: dict[str, int] | None = None,
    ) -> None:
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self.thread_ids: set[int] = set()
        handler: Any = callback_type("void (*)(struct dcmi_event *)")(self._take)
        self.kept.append(handler)
        generation = "dcmi" if len(address) == 2 else "dcmiv2"
        name = f"{generation}_subscribe_fault_event"
        self.rc = fake.call(name, *address, structure("dcmi_event_filter")(**wanted or {}), handler)

    def _take(self, address: int) -> None:
        self.thread_ids.add(threading.get_ident())
        self._queue.put(ctypes.string_at(address, SIZE))

    def next(self) -> Any:
        """Return the next event's body."""
        event = structure("dcmi_event").from_buffer_copy(self._queue.get(timeout=10))
        return event.event_t.dms_event

    def raw(self) -> bytes:
        """Return the next event's bytes."""
        return self._queue.get(timeout=10)

    def empty(self) -> bool:
        """Return whether nothing waits."""
        return self._queue.empty()


@pytest.fixture
def fake(load_fake: LoadFake) -> Loaded:
    """Return an initialised host on which a logic id is no physical one."""
    loaded = load_fake("preset mixed-ids")
    loaded.call("dcmi_init")
    return loaded


def test_an_event_carries_the_logic_id_and_comes_on_another_thread(fake: Loaded) -> None:
    told = Subscriber(fake)
    injected = fake.host.inject(5, CODE, severity=3)

    body = told.next()

    assert (body.event_id, body.deviceid, body.assertion, body.severity) == (CODE, 1, 1, 3)
    assert told.thread_ids.isdisjoint({threading.get_ident()})
    assert injected.subscribers == 1


def test_a_recovery_repeats_the_time_of_its_fault(fake: Loaded) -> None:
    told = Subscriber(fake)
    fake.host.inject(5, CODE, assertion=1)
    fake.host.recover(5, CODE)
    raised, recovered = told.next(), told.next()

    assert (raised.assertion, recovered.assertion) == (1, 0)
    assert raised.alarm_raised_time == recovered.alarm_raised_time > 10**12


def test_the_published_event_comes_byte_for_byte(fake: Loaded) -> None:
    """The literal example: code 80E24E00 on logic id 3, severity 2, serials 17 and 42."""
    told = Subscriber(fake)
    fake.host.inject(6, 0x80E24E00, serial=17, notify=42, time=1700000000000, node=0x40, name="x")

    raw = told.raw()

    assert raw[8:40].hex(" ").upper() == (
        "00 4E E2 80 03 00 40 00 00 00 02 01 11 00 00 00 2A 00 00 00 00 00 00 00 "
        "00 68 E5 CF 8B 01 00 00"
    )
    assert text(raw[40:296]) == "x"


def test_a_second_subscription_of_a_process_is_refused(fake: Loaded) -> None:
    first, second = Subscriber(fake), Subscriber(fake)

    assert (first.rc, second.rc) == (0, -8020)


@pytest.mark.parametrize("preset", ["310", "950"])
def test_some_generations_have_no_subscription(load_fake: LoadFake, preset: str) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")
    fake.call("dcmiv2_init")

    assert Subscriber(fake, (-1,) if preset == "950" else (-1, -1)).rc == -8255


def test_generation_2_tells_where_its_driver_can(load_fake: LoadFake) -> None:
    fake = load_fake("preset mixed-ids-950", "callbacks on")
    fake.call("dcmiv2_init")
    told = Subscriber(fake, (-1,))
    fake.host.inject(0, CODE)

    assert (told.rc, told.next().deviceid) == (0, 2)


@pytest.mark.parametrize(
    ("wanted", "severities"),
    [
        ({"filter_flag": 0, "event_id": 1, "severity": 3}, [1, 2, 3]),
        ({"filter_flag": 2, "severity": 2}, [2, 3]),
        ({"filter_flag": 1, "event_id": CODE + 1}, []),
        ({"filter_flag": 4, "node_type": 64}, [1, 2, 3]),
        ({"filter_flag": 4, "node_type": 65}, []),
    ],
)
def test_the_filter_given_by_value_is_honoured(
    fake: Loaded, wanted: dict[str, int], severities: list[int]
) -> None:
    """Were it passed as a pointer, its bits would be an address."""
    told = Subscriber(fake, wanted=wanted)
    for severity in (1, 2, 3):
        fake.host.inject(5, CODE, severity=severity)
    fake.host.inject(5, CODE + 1, severity=3, node=64)

    seen: list[int] = []
    while len(seen) < len(severities):
        seen.append(told.next().severity)

    assert seen == severities


def test_a_burst_arrives_whole_and_in_order(fake: Loaded) -> None:
    told = Subscriber(fake)
    injected = fake.host.burst(5, CODE, 3000)

    assertions = [told.next().assertion for _ in range(3000)]

    assert assertions == [1, 0] * 1500
    assert injected.last_ns > injected.first_ns


def test_a_storm_goes_on_by_itself_until_it_is_ended(fake: Loaded) -> None:
    told = Subscriber(fake)
    fake.host.storm(5, CODE, every_us=500)
    during = [told.next().assertion for _ in range(50)]
    fake.host.storm(5, CODE, every_us=0)
    fake.host.inject(0, CODE + 1, assertion=2)
    rest = []
    while (event := told.next()).event_id == CODE:
        rest.append(event.assertion)

    assert during == [1, 0] * 25
    assert rest == ([1, 0] * len(rest))[: len(rest)]
    assert told.empty()


def test_a_storm_does_not_blur_when_a_fault_was_raised(fake: Loaded) -> None:
    """Benchmarks measure from that moment on."""
    told = Subscriber(fake)
    fake.host.storm(5, CODE, every_us=100)
    for _ in range(100):
        told.next()
    injected = fake.host.inject(0, CODE)
    fake.host.storm(5, CODE, every_us=0)

    assert injected.first_ns == injected.last_ns > 0


def test_a_quiet_event_changes_nothing_that_stands(fake: Loaded) -> None:
    """A driver may tell a recovery while its code query still lists the code."""
    told = Subscriber(fake)
    fake.host.inject(5, CODE)
    fake.host.notify(5, CODE, assertion=0)

    assert [told.next().assertion for _ in range(2)] == [1, 0]
    assert fake.codes(9, 0)[2][0] == CODE


def test_one_chip_can_be_subscribed_alone(fake: Loaded) -> None:
    told = Subscriber(fake, (9, 0))
    fake.host.inject(0, CODE)
    fake.host.inject(5, CODE)

    assert told.next().deviceid == 1
    assert told.empty()


def pull(fake: Loaded, timeout_ms: int, done: Callable[[int, int], None]) -> None:
    """Wait for one event and hand over code and event id."""
    event = structure("dcmi_event")()
    wanted = structure("dcmi_event_filter")()
    rc = fake.call("dcmi_get_fault_event", -1, -1, timeout_ms, wanted, ctypes.byref(event))
    done(rc, event.event_t.dms_event.event_id)


def test_the_pull_sees_what_happens_while_it_waits(fake: Loaded) -> None:
    fake.host.inject(5, CODE)
    answers: SimpleQueue[tuple[int, int]] = SimpleQueue()
    waiting = threading.Thread(
        target=pull, args=(fake, 5000, lambda rc, code: answers.put((rc, code)))
    )
    waiting.start()
    while not next(iter(fake.host.statistics().values()))["in_flight"]:
        waiting.join(0.001)
    fake.host.inject(5, CODE + 1)

    assert answers.get(timeout=10) == (0, CODE + 1)


@pytest.mark.parametrize(("timeout_ms", "code"), [(5, -8006), (-2, -8001), (30001, -8001)])
def test_the_pull_ends_at_its_time_out(fake: Loaded, timeout_ms: int, code: int) -> None:
    answers: list[tuple[int, int]] = []
    pull(fake, timeout_ms, lambda *answer: answers.append(answer))

    assert answers == [(code, 0)]


def test_pull_and_subscription_exclude_each_other(fake: Loaded) -> None:
    Subscriber(fake)
    answers: list[tuple[int, int]] = []
    pull(fake, 5, lambda *answer: answers.append(answer))

    assert answers == [(-8020, 0)]


def test_standing_faults_can_be_asked_for_in_generation_2(load_fake: LoadFake) -> None:
    fake = load_fake("preset 950 1")
    fake.call("dcmiv2_init")
    fake.host.set_codes(0, [CODE, CODE + 1])
    events, count = (structure("dcmi_event") * 4)(), ctypes.c_int()
    name = "dcmiv2_get_device_current_fault_event"

    assert fake.call(name, 0, events, 4, ctypes.byref(count)) == 0
    assert [event.event_t.dms_event.event_id for event in events[: count.value]] == [CODE, CODE + 1]


def test_nothing_is_told_without_a_subscription(fake: Loaded) -> None:
    injected = fake.host.inject(5, CODE)
    told = Subscriber(fake)

    with pytest.raises(Empty):
        told._queue.get(timeout=0.02)
    assert injected.subscribers == 0
