import pytest

from ascend_agent.driver.news import NewsQueue
from ascend_agent.driver.switches import DriverSwitches
from ascend_agent.driver.turns import Answer, Lane
from ascend_agent.errors import DriverError, NotSupportedError, NpuLostError
from ascend_agent.interfaces import SwitchReader
from ascend_agent.model.fault import Assertion
from ascend_agent.model.ids import Millis
from ascend_agent.model.surroundings import SwitchFault

RECORD = [0x08520003, 0xFFFFFFFF, 2, 7, 0, 7, 2, 1, 1_700_000_000_000]
FAULT = SwitchFault(
    event_type=0x08520003,
    sub_type=0xFFFFFFFF,
    peer=2,
    peer_port=7,
    chip=0,
    port=7,
    severity=2,
    assertion=Assertion.OCCURRED,
    raised_ms=Millis(1_700_000_000_000),
)


class Source:
    """A worker with one answer."""

    def __init__(self, answer: Answer) -> None:
        self.switch_news: NewsQueue[SwitchFault] = NewsQueue()
        self.asked: list[tuple[Lane, str]] = []
        self._answer = answer

    async def call(self, lane: Lane, op: str, *args: int) -> Answer:
        assert args == ()
        self.asked.append((lane, op))
        return self._answer


async def test_each_question_goes_to_the_lane_of_the_switch_library() -> None:
    """All its calls must come from one thread."""
    source = Source({"rc": 0, "faults": [RECORD]})
    switches: SwitchReader = DriverSwitches(source)

    await switches.open_switches()
    await switches.subscribe_switches()

    assert await switches.read_switch_faults() == (FAULT,)
    assert source.asked == [
        ("switches", "switches_open"),
        ("switches", "switches_subscribe"),
        ("switches", "switches_read"),
    ]


async def test_a_library_that_is_not_there_is_not_supported() -> None:
    source = Source({"rc": -99999, "kind": "missing", "detail": "was not found."})

    with pytest.raises(NotSupportedError, match=r"was not found\."):
        await DriverSwitches(source).open_switches()


@pytest.mark.parametrize("rc", [-8008, -8010, -8012, -8017, -99998])
async def test_its_return_codes_are_not_those_of_the_driver(rc: int) -> None:
    """-8012 is a lost chip there; here it says nothing about any NPU."""
    answer = {"rc": rc, "call": "lq_dcmi_init", "detail": "/usr/lib/l.so: too many processes"}

    with pytest.raises(DriverError, match="too many processes") as caught:
        await DriverSwitches(Source(answer)).open_switches()

    assert not isinstance(caught.value, NpuLostError | NotSupportedError)
    assert (caught.value.call, caught.value.code) == ("lq_dcmi_init", rc)


@pytest.mark.parametrize(
    "fields", [{}, {"faults": 7}, {"faults": [7]}, {"faults": [RECORD[:8]]}, {"faults": ["x" * 9]}]
)
async def test_a_malformed_list_is_an_error_of_the_driver(fields: dict[str, object]) -> None:
    with pytest.raises(DriverError, match="malformed faults"):
        await DriverSwitches(Source({"rc": 0, **fields})).read_switch_faults()


async def test_a_code_that_is_no_number_is_an_error_all_the_same() -> None:
    with pytest.raises(DriverError):
        await DriverSwitches(Source({"rc": None})).open_switches()
