"""Every shipped scenario comes to what it expects: played whole, on virtual time."""

import io
from collections.abc import Sequence
from pathlib import Path

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

FOLDER = Path(__file__).parents[2] / "examples" / "scenarios"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
_LONGEST_S = 33.0
"""Thirty seconds, and a moment to see the end: people watch them."""


def _example(path: Path) -> object:
    """A storm has thousands of events, and each takes its time; HAMi brings a whole cluster."""
    much = "storm: " in path.read_text() or path.stem.startswith("hami-")
    marks = [pytest.mark.slow] if much else []
    return pytest.param(path, id=path.stem, marks=marks)


async def _differences(path: Path, *, happens: bool = True) -> Sequence[str]:
    """Play a file to its end; return where it went otherwise than it expects."""
    dialect = ["--dialect", "hami"] if path.stem.startswith("hami-") else []
    settings, show = compose(parse(["sim", "--check", "--scenario", str(path), *dialect], {}))
    if not happens:
        nothing = settings.simulated.model_copy(update={"steps": (), "pods": ()})
        settings = settings.model_copy(update={"simulated": nothing})
    story = story_of(settings, has_scenario=True)
    assert story.ends_s <= _LONGEST_S
    return await play(
        settings,
        story,
        Hall(stream=io.StringIO(), as_json=True, for_s=show.for_s, check=True),
        worker_environment={},
        spawn=spawn_in_loop,
        patience_s=0,
    )


@pytest.mark.parametrize("path", [_example(path) for path in EXAMPLES])
async def test_an_example_comes_to_what_it_expects_to_the_moment(path: Path) -> None:
    """A new file is tested by being there."""
    assert list(await _differences(path)) == []


@pytest.mark.parametrize("path", [_example(path) for path in EXAMPLES])
async def test_an_example_expects_what_only_its_steps_bring_about(path: Path) -> None:
    """Else it would be met by an agent that sees nothing."""
    assert list(await _differences(path, happens=False)) != []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_in_the_list_of_examples(path: Path) -> None:
    """With what there is to see in it."""
    assert f"[{path.name}]({path.name})" in (FOLDER / "README.md").read_text()
