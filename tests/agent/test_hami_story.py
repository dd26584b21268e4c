"""The default story of HAMi, played whole on virtual time: what a newcomer sees."""

import io
import json

import pytest

# What is loaded late for this dialect is loaded here: it would hold up a step of the loop.
import ascend_agent.cluster.connection
import ascend_agent.dialects.hami.dialect
import ascend_agent.sim.hami.cluster
import ascend_agent.sim.hami.meter
import ascend_agent.wiring.hami  # noqa: F401 -- as said
from ascend_agent.cli.arguments import parse
from ascend_agent.cli.compose import compose
from ascend_agent.driver.simulated.peer import spawn_in_loop
from ascend_agent.sim.play import Hall, play
from ascend_agent.sim.stories import story_of

pytestmark = pytest.mark.slow  # a whole cluster takes its time


async def told(*argv: str) -> list[dict[str, object]]:
    """Play to the end and return what was told."""
    settings, show = compose(parse(["sim", "--dialect", "hami", *argv], {}))
    stream = io.StringIO()
    await play(
        settings,
        story_of(settings, has_scenario=False, for_s=show.for_s),
        Hall(stream=stream, as_json=True, for_s=show.for_s),
        worker_environment={},
        spawn=spawn_in_loop,
    )
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def of(events: list[dict[str, object]], name: str, pod: str) -> dict[str, object]:
    (found,) = [one for one in events if one["event"] == name and one.get("pod") == pod]
    return found


async def test_slices_are_scheduled_locked_allocated_and_metered() -> None:
    events = await told()
    names = [str(event["event"]) for event in events]

    hard = of(events, "sliced", "default/notebook-0")
    assert (hard["npus"], hard["variables"]) == ([7], ["ASCEND_VNPU_SPECS=vir05_1c_16g"])
    pair = of(events, "scheduled", "default/training-0")
    assert of(events, "allocated", "default/training-0")["npus"] == sorted(pair["npus"])  # type: ignore[call-overload]
    soft = of(events, "sliced", "default/serving-0")
    assert soft["variables"] == ["NPU_MEM_QUOTA=28672", "NPU_PRIORITY=40"]
    metered = of(events, "metered", "default/serving-0")
    assert (metered["used_mib"], metered["limit_mib"]) == (21504, 28672)
    assert names.count("lock_taken") == names.count("lock_released") == 5
    assert "lock_waited_for" in names
    assert names.index("fault") < names.index("recovered")
    assert {"handshake_asked", "handshake_answered", "kubelet_restarted", "mode"} <= set(names)
    assert not {"admission_failed", "api_trouble", "denied", "node_dropped"} & set(names)


async def test_what_hami_does_not_know_is_not_offered() -> None:
    events = await told("--chip", "950", "--for", "5")

    assert "registered" not in {event["event"] for event in events}
