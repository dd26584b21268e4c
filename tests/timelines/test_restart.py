"""A restart of the agent, at whatever moment of whatever story, changes nothing about its end."""

import pytest

from ascend_agent.model.health import NpuView
from tests.timelines.bench import Bench, Story, Trace
from tests.timelines.stories import TALES, Tale

_AWAY_S = 0.1
_MOST_MOMENTS = 30


def ending(trace: Trace) -> list[tuple[object, ...]]:
    """Return how each NPU is in the end: all but since when, and because of which event."""
    return [_end(view) for view in trace.views[-1].view.npus]


def _end(view: NpuView) -> tuple[object, ...]:
    faults = [(fault.code, fault.level, fault.isolates, fault.lasting) for fault in view.faults]
    return view.state, view.reasons, view.level, view.network, view.upgrades, faults


def moments(tale: Tale) -> list[float]:
    """Return moments just before, at and after everything that happens or changes in a tale."""
    trace = Bench(tale.node).play(tale.story(), until_s=tale.until_s)
    events = {step.at_s for step in tale.story().steps} | {seen.at_s for seen in trace.views}
    around = sorted({max(at + by, 0.1) for at in events for by in (-0.3, 0.001, 0.7)})
    return around[:: max(1, len(around) // _MOST_MOMENTS)]


def restarted(tale: Tale, at_s: float) -> Story:
    """Return the story of *tale* in which the agent is restarted at a second as well."""
    return tale.story().restart(at_s, down_s=_AWAY_S)


@pytest.mark.parametrize("name", sorted(TALES))
def test_a_restart_at_any_moment_ends_in_the_same_state(name: str) -> None:
    tale = TALES[name]
    expected = ending(Bench(tale.node).play(tale.story(), until_s=tale.until_s))

    for at_s in moments(tale):
        trace = Bench(tale.node).play(restarted(tale, at_s), until_s=tale.until_s)
        assert ending(trace) == expected, f"restarted at {at_s} s"
