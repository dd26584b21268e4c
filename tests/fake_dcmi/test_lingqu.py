"""The fake library of the switches, called as the binding calls it (Lingqu switch interface)."""

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from ascend_agent.driver.dcmi.library import Library, callback_type, structure
from tests.fake_dcmi.control import FakeHost

pytestmark = pytest.mark.peer

DOWN = 0x08520003
NONE = 0xFFFFFFFF
SIZE = 112


class Switches:
    """The library on one host, and what it told; a callback lives as long as the process."""

    kept: list[object] = []  # noqa: RUF012 -- the library never gives a callback back

    def __init__(self, host: FakeHost, path: Path) -> None:
        self.host = host
        self.library = Library(str(path))
        self.told: SimpleQueue[bytes] = SimpleQueue()
        self.handler: Any = callback_type("void (*)(struct LqDcmiEvent *)")(self._take)
        self.kept.append(self.handler)

    def _take(self, address: int) -> None:
        self.told.put(ctypes.string_at(address, SIZE))

    def init(self) -> int:
        return self.library.call("lq_dcmi_init")

    def subscribe(self, handler: object = None, **wanted: int) -> int:
        everything = structure("lq_dcmi_event_filter")(**wanted)
        name = "lq_dcmi_subscribe_fault_event"
        # A null pointer is false, and is what gives a subscription back.
        return self.library.call(name, everything, self.handler if handler is None else handler)

    def unsubscribe(self) -> int:
        nobody = callback_type("void (*)(struct LqDcmiEvent *)")()
        return self.subscribe(nobody)

    def listed(self, size: int = 128) -> tuple[int, list[Any]]:
        count, entries = ctypes.c_uint(), (structure("LqDcmiEvent") * size)()
        rc = self.library.call("lq_dcmi_get_fault_info", size, ctypes.byref(count), entries)
        return rc, list(entries[: count.value])

    def next(self) -> Any:
        return structure("LqDcmiEvent").from_buffer_copy(self.told.get(timeout=10))


LoadSwitches = Callable[..., Switches]


@pytest.fixture
def load_switches(
    make_fake_host: Callable[..., FakeHost],
    fake_lingqu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> LoadSwitches:
    """Return a function that loads the library onto a host made of script lines."""

    def load(*model: str) -> Switches:
        host = make_fake_host(*(model or ("preset 910C 2",)))
        own = Path(shutil.copy(fake_lingqu, tmp_path / "liblingqu-dcmi.so"))
        for name, value in host.environment.items():
            monkeypatch.setenv(name, value)
        return Switches(host, own)

    return load


@pytest.fixture
def switches(load_switches: LoadSwitches) -> Switches:
    """Return the library after its init."""
    loaded = load_switches()
    assert loaded.init() == 0
    return loaded


def test_it_needs_an_init_and_no_more_than_one(load_switches: LoadSwitches) -> None:
    loaded = load_switches()

    assert (loaded.listed()[0], loaded.subscribe()) == (-8009, -8009)
    assert (loaded.init(), loaded.init()) == (0, -8017)
    assert loaded.listed() == (0, [])


@pytest.mark.parametrize("model", [("preset 910B3",), ("preset 910C", "switches off")])
def test_a_host_without_switches_has_no_device_for_them(
    load_switches: LoadSwitches, model: tuple[str, ...]
) -> None:
    assert load_switches(*model).init() == -8004


def test_a_fault_stands_until_it_recovers(switches: Switches) -> None:
    switches.host.inject_switch(DOWN, port=7, severity=1, time=1700000000000)
    switches.host.inject_switch(DOWN, port=7)
    switches.host.inject_switch(0x00F103B6, chip=1, port=0xFFFF, peer=0, sub=155909)
    switches.host.inject_switch(DOWN, port=9, assertion=2)

    rc, (link, whole) = switches.listed()
    assert rc == 0
    assert (link.eventType, link.subType, link.severity, link.assertion) == (DOWN, NONE, 1, 1)
    assert (link.peerportDevice, link.peerportId) == (2, 7)
    assert (link.switchChipid, link.switchPortid) == (0, 7)
    assert link.alarmRaisedTime == 1700000000000
    assert (whole.subType, whole.switchChipid, whole.switchPortid) == (155909, 1, 0xFFFF)

    switches.host.inject_switch(DOWN, port=7, assertion=0)
    assert [entry.eventType for entry in switches.listed()[1]] == [0x00F103B6]


def test_a_list_is_no_longer_than_there_is_room(switches: Switches) -> None:
    for port in range(5):
        switches.host.change_switch(DOWN, port=port)

    assert len(switches.listed(3)[1]) == 3
    assert len(switches.listed()[1]) == 5


def test_subscribers_are_told_on_another_thread_what_happens_from_then_on(
    switches: Switches,
) -> None:
    switches.host.inject_switch(DOWN, port=1)
    assert switches.subscribe() == 0
    injected = switches.host.inject_switch(DOWN, port=2)
    switches.host.change_switch(DOWN, port=3)
    switches.host.inject_switch(DOWN, port=2, assertion=0)

    told = [switches.next(), switches.next()]
    assert [(each.switchPortid, each.assertion) for each in told] == [(2, 1), (2, 0)]
    assert injected.subscribers == 1
    assert injected.first_ns <= injected.last_ns
    assert switches.told.empty()


@pytest.mark.parametrize(
    ("wanted", "ports"),
    [
        ({"filterFlag": 0, "severity": 3, "chipId": 9}, [1, 2]),
        ({"filterFlag": 1, "eventTypeId": DOWN}, [1, 2]),
        ({"filterFlag": 1, "eventTypeId": 7}, []),
        ({"filterFlag": 2, "eventId": 155912}, [2]),
        ({"filterFlag": 4, "severity": 1}, [1]),
        ({"filterFlag": 8, "chipId": 3}, [2]),
        ({"filterFlag": 12, "severity": 1, "chipId": 3}, []),
    ],
)
def test_the_filter_given_by_value_is_honoured(
    switches: Switches, wanted: dict[str, int], ports: list[int]
) -> None:
    """Twenty bytes: were it passed as a pointer, its bits would be an address."""
    assert switches.subscribe(**wanted) == 0
    switches.host.inject_switch(DOWN, port=1, severity=1)
    switches.host.inject_switch(DOWN, port=2, chip=3, sub=155912)
    assert switches.subscribe() == 0
    switches.host.inject_switch(DOWN, port=99)

    last = iter(lambda: switches.next().switchPortid, 99)
    assert list(last) == ports


def test_a_subscription_can_be_given_back_once(switches: Switches) -> None:
    assert switches.unsubscribe() == -8016
    assert switches.subscribe() == 0
    assert switches.unsubscribe() == 0
    assert switches.unsubscribe() == -8016


def test_odd_questions_are_refused(switches: Switches) -> None:
    assert switches.subscribe(filterFlag=16) == -8015
    assert [switches.subscribe() for _ in range(5)] == [0, 0, 0, 0, -8014]
    assert switches.library.call("lq_dcmi_get_fault_info", 128, None, None) == -8001


def test_a_call_can_be_scripted_like_any_other(switches: Switches) -> None:
    switches.host.answer("lq_dcmi_get_fault_info", -8013, times=1)

    assert switches.listed()[0] == -8013
    assert switches.listed()[0] == 0
    assert [each["calls"] for each in switches.host.statistics("liblingqu-dcmi.so").values()] == [3]


def test_both_libraries_of_a_process_live_on_one_host(
    switches: Switches, fake_dcmi: Path, tmp_path: Path
) -> None:
    """Each with a state and a socket of its own, as the vendor's."""
    driver = Library(str(shutil.copy(fake_dcmi, tmp_path / "libdcmi.so")))
    assert driver.call("dcmi_init") == 0
    assert switches.subscribe() == 0

    assert switches.host.inject(0, 0x80E01801).subscribers == 0
    assert switches.host.inject_switch(DOWN).subscribers == 1
    assert len(switches.listed()[1]) == 1
    assert len(switches.host.processes()) == 1
    assert [each["inits"] for each in switches.host.statistics().values()] == [1]
