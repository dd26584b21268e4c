"""The switch library behind the worker's operations (Lingqu switch interface)."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.lingqu import decode
from tests.fake_dcmi.control import FakeHost

DOWN = 0x08520003
NONE = 0xFFFFFFFF
AT = 1_700_000_000_000


class Switches:
    """A backend with the switch library of one host, and what that told."""

    def __init__(self, host: FakeHost, library: Path) -> None:
        self.host = host
        self.library = library
        self.pauses_s: list[float] = []
        self.told: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self.threads: set[int] = set()
        self.backend = self.make_backend()

    def make_backend(self, **config: object) -> DcmiBackend:
        usual = {"switch_library": str(self.library), "allow_unsafe_library": True}
        return DcmiBackend({**usual, **config}, self._take, pause=self.pauses_s.append)

    def _take(self, seen_ns: int, raw: bytes) -> None:
        self.threads.add(threading.get_ident())
        self.told.put((seen_ns, raw))

    def next(self) -> dict[str, object]:
        return self.backend.decode(self.told.get(timeout=10)[1])

    def calls(self, symbol: str) -> int:
        return len([call for call in self.host.trace() if call.symbol == symbol])


MakeSwitches = Callable[..., Switches]


@pytest.fixture
def make_switches(
    make_fake_host: Callable[..., FakeHost],
    fake_lingqu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> MakeSwitches:
    """Return a function that makes a backend on a host made of script lines."""

    def make(*model: str) -> Switches:
        host = make_fake_host(*(model or ("preset 910C 2",)), "trace on")
        own = Path(shutil.copy(fake_lingqu, tmp_path / "liblingqu-dcmi.so"))
        for name, value in host.environment.items():
            monkeypatch.setenv(name, value)
        return Switches(host, own)

    return make


@pytest.fixture
def switches(make_switches: MakeSwitches) -> Switches:
    """Return the operations of a library that is open."""
    made = make_switches()
    assert made.backend.switches.open()["rc"] == 0
    return made


def test_it_is_opened_once_and_without_the_drivers_library(switches: Switches) -> None:
    """It needs no dcmi_init."""
    again = switches.backend.switches.open()

    assert again == {"rc": 0, "library": str(switches.library.resolve())}
    assert switches.calls("lq_dcmi_init") == 1


def test_a_library_that_somebody_initialised_is_as_good(switches: Switches) -> None:
    """-8017: a second init in one process."""
    assert switches.make_backend().switches.open()["rc"] == 0
    assert switches.calls("lq_dcmi_init") == 2


def test_an_init_that_fails_says_why_and_is_tried_again(make_switches: MakeSwitches) -> None:
    """Its numbers are not those of the driver's library: -8012 is no lost chip here."""
    made = make_switches("preset 910C 2", "switches off", "rc lq_dcmi_init * -8010 times=1")

    crowded = made.backend.switches.open()
    assert (crowded["rc"], crowded["call"]) == (-8010, "lq_dcmi_init")
    assert "too many processes use it" in str(crowded["detail"])
    absent = made.backend.switches.open()
    assert "/dev/lqdcmi_pcidev can't be opened" in str(absent["detail"])

    made.host.run("switches on")
    assert made.backend.switches.open()["rc"] == 0


def test_an_unknown_code_is_told_as_such(make_switches: MakeSwitches) -> None:
    made = make_switches("preset 910C 2", "rc lq_dcmi_init * -8099")

    assert "unknown error code of the switch library" in str(made.backend.switches.open()["detail"])


def test_a_library_that_is_not_there_is_missing(make_switches: MakeSwitches) -> None:
    made = make_switches()
    made.library.unlink()

    opened = made.backend.switches.open()

    assert (opened["rc"], opened["kind"]) == (-99999, "missing")
    assert "correct --switch-library" in str(opened["detail"])


def test_a_library_that_others_may_write_is_refused(make_switches: MakeSwitches) -> None:
    """The checks are those of the driver's own library."""
    made = make_switches()
    made.library.chmod(0o777)

    opened = made.make_backend(allow_unsafe_library=False).switches.open()

    assert (opened["rc"], opened["kind"]) == (-99999, "refused")


def test_it_is_searched_for_where_the_drivers_library_is(make_switches: MakeSwitches) -> None:
    made = make_switches()
    folder = str(made.library.parent)

    found = made.make_backend(switch_library=None, library_path=folder).switches.open()
    assert found["library"] == str(made.library.resolve())
    lost = made.make_backend(switch_library=None, library_path="/nowhere").switches.open()
    assert "liblingqu-dcmi.so was not found." in str(lost["detail"])
    assert "or the file with --switch-library." in str(lost["detail"])


def test_a_library_of_another_kind_has_no_such_function(
    make_switches: MakeSwitches, fake_dcmi: Path
) -> None:
    made = make_switches()

    opened = made.make_backend(switch_library=str(fake_dcmi)).switches.open()

    assert (opened["rc"], opened["call"]) == (-99998, "lq_dcmi_init")
    assert "install a newer Ascend driver" in str(opened["detail"])


def test_the_list_holds_what_stands_as_numbers(switches: Switches) -> None:
    switches.host.inject_switch(DOWN, port=7, severity=1, time=AT)
    switches.host.inject_switch(
        0x00F103B6, chip=3, port=0xFFFF, peer=0, sub=155909, peer_port=0, time=0
    )

    assert switches.backend.switches.read() == {
        "rc": 0,
        "faults": [
            [DOWN, NONE, 2, 7, 0, 7, 1, 1, AT],
            [0x00F103B6, 155909, 0, 0, 3, 0xFFFF, 2, 1, 0],
        ],
    }


def test_a_list_that_is_cut_short_is_a_list(switches: Switches) -> None:
    for port in range(130):
        switches.host.change_switch(DOWN, port=port)
    listed = switches.backend.switches.read()["faults"]

    assert isinstance(listed, list)
    assert [record[5] for record in listed] == list(range(128))


def test_a_list_that_fails_is_no_list(switches: Switches) -> None:
    switches.host.answer("lq_dcmi_get_fault_info", -8013)

    failed = switches.backend.switches.read()

    assert (failed["rc"], failed["call"]) == (-8013, "lq_dcmi_get_fault_info")
    assert "faults" not in failed


def test_events_come_as_the_same_numbers_from_the_librarys_own_thread(switches: Switches) -> None:
    """The event lies in a buffer of that thread, which is overwritten after the call."""
    assert switches.backend.switches.subscribe() == {"rc": 0}
    switches.host.inject_switch(DOWN, port=7, time=AT)
    switches.host.inject_switch(DOWN, port=7, time=AT, assertion=0)

    assert switches.next() == {"switch": [DOWN, NONE, 2, 7, 0, 7, 2, 1, AT]}
    assert switches.next() == {"switch": [DOWN, NONE, 2, 7, 0, 7, 2, 0, AT]}
    assert threading.get_ident() not in switches.threads


def test_a_subscription_is_made_once(switches: Switches) -> None:
    """A second one would tell everything twice."""
    assert switches.backend.switches.subscribe() == switches.backend.switches.subscribe()
    assert switches.calls("lq_dcmi_subscribe_fault_event") == 1


def test_a_refused_subscription_is_tried_three_times_a_second_apart(switches: Switches) -> None:
    switches.host.answer("lq_dcmi_subscribe_fault_event", -8014)

    refused = switches.backend.switches.subscribe()

    assert refused["rc"] == -8014
    assert "too many subscriptions" in str(refused["detail"])
    assert switches.calls("lq_dcmi_subscribe_fault_event") == 3
    assert switches.pauses_s == [1.0, 1.0]
    switches.host.clear()
    assert switches.backend.switches.subscribe() == {"rc": 0}


def test_nothing_is_asked_of_a_library_that_is_not_open(make_switches: MakeSwitches) -> None:
    made = make_switches()

    for operation in (made.backend.switches.subscribe, made.backend.switches.read):
        with pytest.raises(RuntimeError, match="switches_open comes first"):
            operation()


@pytest.mark.parametrize(("told", "read"), [(1_700_000_000, AT), (AT, AT), (0, 0)])
def test_a_time_counts_milliseconds_or_seconds(told: int, read: int) -> None:
    """The unit is not documented everywhere; no other reading of either makes sense."""
    raw = bytearray(112)
    raw[32:40] = told.to_bytes(8, "little")
    record = decode(bytes(raw))["switch"]

    assert isinstance(record, list)
    assert record[8] == read


def test_bytes_mean_what_the_structure_says() -> None:
    """Little-endian: alarm, fault id, peer, peer port, chip, port, severity, assertion."""
    raw = bytes.fromhex("0300520832050200 0200 0700 0100 1000 03 02".replace(" ", "")) + bytes(94)

    assert len(raw) == 112
    assert decode(raw) == {"switch": [DOWN, 132402, 2, 7, 1, 16, 3, 2, 0]}
