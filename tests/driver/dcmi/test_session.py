"""The memory of what a chip does not have, which is not asked for twice."""

import ctypes

import pytest

from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.session import Session
from ascend_agent.driver.dcmi.v1 import V1
from ascend_agent.driver.dcmi.v2 import V2
from tests.driver.dcmi.conftest import MakeNode, Node

CALL = "dcmi_get_device_utilization_rate"
AI_CORE, VECTOR = 2, 12


@pytest.fixture
def node(make_node: MakeNode) -> Node:
    return make_node("preset 910B3", f"rc {CALL} 0 -8255", f"rc {CALL} 1 -8005", "trace on")


@pytest.fixture
def session(node: Node) -> Session:
    return Session(Library(str(node.opened["library"])), V1())


def ask(session: Session, chip: tuple[int, int, int], kind: int = AI_CORE) -> int:
    return session.ask("use", chip, kind, ctypes.byref(ctypes.c_uint()), variant=kind)


def test_minus_8255_is_remembered_by_chip_and_question(node: Node, session: Session) -> None:
    """Another chip, or another question to the same function, is asked all the same."""
    asked = [(0, AI_CORE), (0, AI_CORE), (0, VECTOR), (2, AI_CORE)]

    answers = [ask(session, (card, 0, card), kind) for card, kind in asked]

    assert answers == [-8255, -8255, -8255, 0]
    assert [call.first for call in node.calls(CALL)] == [0, 0, 2]


def test_any_other_failure_is_not_remembered(node: Node, session: Session) -> None:
    assert [ask(session, (1, 0, 1)) for _ in range(2)] == [-8005, -8005]
    assert len(node.calls(CALL)) == 2


def test_what_was_remembered_can_be_forgotten(node: Node, session: Session) -> None:
    ask(session, (0, 0, 0))

    session.forget()
    ask(session, (0, 0, 0))

    assert len(node.calls(CALL)) == 2


def test_what_must_be_known_is_always_asked(node: Node, session: Session) -> None:
    chip, rate = (0, 0, 0), ctypes.c_uint()

    for _ in range(2):
        session.ask_always("use", chip, AI_CORE, ctypes.byref(rate))

    assert len(node.calls(CALL)) == 2


def test_what_a_generation_can_not_tell_is_not_asked(node: Node) -> None:
    session = Session(Library(str(node.opened["library"])), V2())

    assert session.ask("product", (-1, -1, 0)) == -8255
    assert session.name("product") == "product"
    assert node.calls("dcmi_get_product_type") == []
