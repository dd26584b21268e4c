"""What the embedded kubelet tells: values, each with its time."""

import dataclasses
from typing import get_args

import pytest

from ascend_agent.sim.kubelet import Happening, Started


@pytest.mark.parametrize("kind", get_args(Happening))
def test_every_happening_says_when(kind: type[Happening]) -> None:
    """Latencies are differences of these."""
    assert "at_ns" in {field.name for field in dataclasses.fields(kind)}


def test_a_happening_does_not_change_after_the_fact() -> None:
    """Several readers get the same object."""
    started = Started(starts=1, at_ns=5)

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(started, "at_ns", 6)  # noqa: B010 -- a plain assignment is what mypy forbids
