import pytest

from ascend_agent.driver.simulated.scenario import Step, UnplayableError, parse_steps

_CARDS = [[0, 1], [2, 3], [4]]


def _parse(*steps: object) -> list[Step]:
    return parse_steps(list(steps), cards=_CARDS)


def _shown(step: Step) -> tuple[object, ...]:
    return (step.kind, step.at_ms, step.card, step.npus, step.code, step.call, step.until_ms)


def test_a_process_takes_an_npu_and_is_gone_from_it() -> None:
    steps = _parse(
        {"at_s": 1, "npu": 3, "process": 4711, "memory_mib": 7, "gone": False, "pod": "a"},
        {"at_s": 2, "npu": 3, "process": 4711},
        {"at_s": 3, "npu": 3, "process": 4711, "gone": True},
    )

    assert [(step.kind, step.card, step.npus, step.process) for step in steps] == [
        ("process", 1, (3,), (4711, 7)),
        ("process", 1, (3,), (4711, 100)),
        ("gone", 1, (3,), (4711, 100)),
    ]


def test_a_vnpu_is_there_and_is_gone() -> None:
    steps = _parse(
        {"at_s": 1, "npu": 3, "vnpu": 101, "template": "vir04", "opened": True, "container": 7},
        {"at_s": 2, "npu": 3, "vnpu": 101, "gone": True},
    )

    assert [(step.kind, step.card, step.npus, step.vnpu) for step in steps] == [
        ("vnpu", 1, (3,), (101, "vir04", 1, 7)),
        ("vnpu-gone", 1, (3,), (101, "", 0, 0)),
    ]


def test_every_kind_of_step_is_understood() -> None:
    steps = _parse(
        {"at_s": 4, "npu": 3, "fault": "80E01801"},
        {"at_s": 8.25, "npu": 3, "recover": 0x80E01801},
        {"at_s": 9, "card": 0, "pulse": "0x80E01801"},
        {"at_s": 10, "card": 1, "drop": True},
        {"at_s": 12, "npu": 2, "drop": False},
        {"at_s": 13, "card": 1, "call": "health", "hang_s": 20},
        {"at_s": 14, "worker": "die"},
        {"at_s": 15, "call": "enumerate", "hang_s": 1.5},
    )

    assert [_shown(step) for step in steps] == [
        ("fault", 4000, 1, (3,), 0x80E01801, "", 0),
        ("recover", 8250, 1, (3,), 0x80E01801, "", 0),
        ("pulse", 9000, 0, (0, 1), 0x80E01801, "", 0),
        ("drop", 10000, 1, (2, 3), 0, "", 0),
        ("return", 12000, 1, (2, 3), 0, "", 0),
        ("hang", 13000, 1, (), 0, "health", 33000),
        ("die", 14000, None, (), 0, "", 0),
        ("hang", 15000, None, (), 0, "enumerate", 16500),
    ]


def test_a_step_may_be_about_a_switch() -> None:
    link = {"chip": 1, "port": [7, 8], "peer": "L2", "id": 155912, "severity": 1}
    steps = _parse(
        {"at_s": 1, "switch": link, "fault": 0x08520003},
        {"at_s": 2, "switch": {"chip": 0}, "pulse": "00f103b0"},
    )

    assert [_shown(step) for step in steps] == [
        ("fault", 1000, None, (), 0x08520003, "", 0),
        ("pulse", 2000, None, (), 0x00F103B0, "", 0),
    ]
    places = [step.switch for step in steps if step.switch is not None]
    assert [(p.chip, p.ports, p.peer, p.fault, p.severity) for p in places] == [
        (1, (7, 8), 2, 155912, 1),
        (0, (0xFFFF,), 0, 0xFFFFFFFF, 2),
    ]


def test_steps_are_played_in_the_order_of_their_times() -> None:
    """And those of one moment in the order in which they were written."""
    steps = _parse(
        {"at_s": 2, "worker": "die"},
        {"at_s": 1, "npu": 0, "fault": "1"},
        {"at_s": 1, "npu": 0, "recover": "1"},
    )

    assert [step.kind for step in steps] == ["fault", "recover", "die"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("drop it", "no mapping"),
        ({"npu": 3, "fault": "1"}, "at_s: None"),
        ({"at_s": -1, "npu": 3, "fault": "1"}, "at_s: -1"),
        ({"at_s": True, "npu": 3, "fault": "1"}, "at_s: True"),
        ({"at_s": 1, "npu": 5, "fault": "1"}, "npu: 5 does not exist"),
        ({"at_s": 1, "card": 3, "drop": True}, "card: 3 does not exist"),
        ({"at_s": 1, "fault": "1"}, "card: None does not exist"),
        ({"at_s": 1, "npu": 0}, "says nothing"),
        ({"at_s": 1, "npu": 0, "fault": "HBM"}, "'HBM' is no fault code"),
        ({"at_s": 1, "npu": 0, "fault": 0}, "0 is no fault code"),
        ({"at_s": 1, "npu": 0, "fault": 1.5}, "1.5 is no fault code"),
        ({"at_s": 1, "worker": "sleep"}, "'sleep' is not 'die'"),
        ({"at_s": 1, "card": 0, "call": "reset", "hang_s": 1}, "'reset' is none of"),
        ({"at_s": 1, "card": 0, "call": "health"}, "hang_s: None"),
        ({"at_s": 1, "call": "health", "hang_s": 1}, "card: None does not exist"),
        ({"at_s": 1, "process": 7}, "card: None does not exist"),
        ({"at_s": 1, "npu": 0, "vnpu": 0}, "vnpu: 0 is no number from 1 on"),
        ({"at_s": 1, "npu": 0, "vnpu": 101, "template": 4}, "template: 4 is no text"),
        ({"at_s": 1, "npu": 0, "vnpu": 101, "container": -1}, "container: -1 is no number"),
        ({"at_s": 1, "npu": 0, "process": 0}, "process: 0 is no number from 1 on"),
        ({"at_s": 1, "npu": 0, "process": True}, "process: True is no number"),
        ({"at_s": 1, "switch": 7, "fault": "1"}, "switch: 7 is no mapping"),
        ({"at_s": 1, "switch": {"chip": 0}}, "says nothing"),
        ({"at_s": 1, "switch": {}, "fault": "1"}, "chip: None is no number from 0 on"),
        ({"at_s": 1, "switch": {"chip": 0, "id": "a"}, "fault": "1"}, "id: 'a' is no number"),
        ({"at_s": 1, "switch": {"chip": 0, "port": 7}, "fault": "1"}, "port: 7 is no list"),
        ({"at_s": 1, "switch": {"chip": 0, "port": ["7"]}, "fault": "1"}, "port: ['7'] is no list"),
        ({"at_s": 1, "switch": {"chip": 0, "peer": "gpu"}, "fault": "1"}, "peer: 'gpu' is none of"),
        ({"at_s": 1, "npu": 0, "process": 7, "memory_mib": "1"}, "memory_mib: '1' is no number"),
    ],
)
def test_a_step_that_cannot_be_played_is_named(step: object, text: str) -> None:
    with pytest.raises(UnplayableError, match=r"^step 2: ") as caught:
        _parse({"at_s": 1, "worker": "die"}, step)
    assert text in str(caught.value)


def test_steps_must_be_a_list() -> None:
    with pytest.raises(UnplayableError, match="no list"):
        parse_steps({"at_s": 1}, cards=_CARDS)


def test_a_storm_is_a_fault_and_its_end_again_and_again() -> None:
    """The last event is an end, however the numbers come out."""
    events = _parse({"at_s": 2, "npu": 1, "storm": "80E01801", "per_s": 3, "for_s": 1})
    shortest = _parse({"at_s": 2, "npu": 1, "storm": "80E01801", "for_s": 0.001})

    assert [_shown(step) for step in events] == [
        ("fault", 2000, 0, (1,), 0x80E01801, "", 0),
        ("recover", 2333, 0, (1,), 0x80E01801, "", 0),
    ]
    assert [(step.kind, step.at_ms) for step in shortest] == [("fault", 2000), ("recover", 2001)]
    assert len(_parse({"at_s": 0, "npu": 1, "storm": 1, "for_s": 20})) == 20_000


def test_a_storm_without_end_is_refused() -> None:
    with pytest.raises(UnplayableError, match="a storm of 20001 events"):
        _parse({"at_s": 0, "npu": 1, "storm": 1, "for_s": 20.001})


def test_a_code_is_listed_until_its_step_says() -> None:
    (step,) = _parse({"at_s": 2, "npu": 1, "recover": 1, "listed_for_s": 1.5})

    assert (step.at_ms, step.until_ms) == (2000, 3500)
