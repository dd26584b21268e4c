from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.session import Answer, Session

_DOWN = 0x08520003
_NONE = 0xFFFFFFFF
_WALL_MS = 1_700_000_000_000
_LINK = {"chip": 0, "port": [7], "peer": "L2"}


def _session(*steps: object, chip: str = "910C") -> Session:
    node = SimulatedNode({"chip": chip, "npus": 2, "seed": 7, "steps": list(steps)})
    return Session(node, wall_ms=_WALL_MS)


def _ask(session: Session, op: str, now_ms: int = 0) -> Answer:
    return session.answer(op, (), now_ms)


def _record(port: int, *, assertion: int = 1, at_ms: int = 1000) -> list[int]:
    return [_DOWN, _NONE, 2, port, 0, port, 2, assertion, _WALL_MS + at_ms]


def test_a_node_without_switches_has_no_library_for_them() -> None:
    answer = _ask(_session(chip="910B3"), "switches_open")

    assert (answer["rc"], answer["kind"]) == (-99999, "missing")


def test_the_switch_library_needs_no_driver_but_an_init_of_its_own() -> None:
    session = _session()

    assert _ask(session, "switches_read")["rc"] == -8009
    assert _ask(session, "switches_open") == {"rc": 0, "library": "simulated"}
    assert _ask(session, "switches_read") == {"rc": 0, "faults": []}


def test_faults_stand_until_they_recover_and_a_pulse_does_not() -> None:
    session = _session(
        {"at_s": 1, "switch": {**_LINK, "port": [7, 8]}, "fault": _DOWN},
        {"at_s": 2, "switch": _LINK, "fault": _DOWN},
        {"at_s": 3, "switch": _LINK, "recover": _DOWN},
        {"at_s": 4, "switch": {**_LINK, "port": [9]}, "pulse": _DOWN},
    )
    _ask(session, "switches_open")

    assert _ask(session, "switches_read", 2500)["faults"] == [_record(7), _record(8)]
    assert _ask(session, "switches_read", 9000)["faults"] == [_record(8)]


def test_what_happens_to_a_switch_is_told_to_who_subscribed_to_that() -> None:
    """The subscriptions of the two libraries have nothing to do with each other."""
    session = _session(
        {"at_s": 1, "switch": _LINK, "pulse": _DOWN}, {"at_s": 1, "npu": 0, "fault": "80E01801"}
    )
    _ask(session, "open")
    _ask(session, "switches_open")
    link, npu = session.node.steps_between(0, 1000)
    assert session.told(link) == session.told(npu) == []

    assert _ask(session, "switches_subscribe") == {"rc": 0}
    assert session.told(link) == [{"switch": _record(7, assertion=2)}]
    assert session.told(npu) == []

    _ask(session, "subscribe")
    assert [body["code"] for body in session.told(npu)] == [0x80E01801]


def test_a_fault_of_a_switch_is_none_of_an_npu() -> None:
    session = _session({"at_s": 1, "switch": _LINK, "fault": _DOWN})
    _ask(session, "open")

    assert session.node.codes(0, 2000) == []
    assert session.node.hangs_until("health", 0, 2000) is None
