"""A trouble that many NPUs share is said once, and once that it is over."""

from ascend_agent.flows.troubles import Troubles
from ascend_agent.model.ids import PhyId

A, B = PhyId(0), PhyId(1)


def test_a_trouble_is_new_once_however_many_have_it() -> None:
    troubles = Troubles()

    assert troubles.began(A, "no tool")
    assert not troubles.began(B, "no tool")
    assert not troubles.began(A, "no tool")
    assert troubles.began(A, "no answer")


def test_it_is_over_when_the_last_one_has_none() -> None:
    """One NPU that answers beside fifteen that don't is no news."""
    troubles = Troubles()
    assert not troubles.ended(A)

    troubles.began(A, "no tool")
    troubles.began(B, "no tool")
    assert troubles.phys == {A, B}
    assert not troubles.ended(A)
    assert troubles.phys == {B}
    assert troubles.ended(B)
    assert not troubles.ended(B)
    assert troubles.began(A, "no tool")


def test_an_npu_that_is_gone_has_no_trouble() -> None:
    """It would else keep the others' trouble from ever being over, or new."""
    troubles = Troubles()
    troubles.began(A, "no answer")
    troubles.began(B, "no tool")

    troubles.keep({B})

    assert troubles.began(B, "no answer")
    assert troubles.ended(B)
