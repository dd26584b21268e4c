"""Whatever schedulers, strangers and API servers do in whatever order: the Node tells the truth.

Once all is in order it says what the scheduler should know, no word that is left stays, nothing is
written but answers, and people read what is so. No question waits for longer than it may, and
nobody says a word whose turn it is not.
"""

import asyncio

import looptime
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.fakes.hami_scheduler import VERSIONS, Version
from tests.fakes.registration_play import NEW, OLD, registration_play

pytestmark = pytest.mark.slow  # many runs

Step = tuple[str, dict[str, object]]


def step(name: str, **values: st.SearchStrategy[object]) -> st.SearchStrategy[Step]:
    """Return calls of what the play calls so."""
    return st.tuples(st.just(name), st.fixed_dictionaries(values))


def mostly(said: bool) -> st.SearchStrategy[object]:  # noqa: FBT001 -- it is the value
    """Return that value two times of three."""
    return st.sampled_from([said, said, not said])


MOMENTS = st.sampled_from([0.0, 0.0, 0.2, 2.0])
WAIT = step("wait", seconds=st.sampled_from([0.0, 0.3, 1.1, 5.0, 16.0, 31.0, 47.0, 100.0]))
NPUS = st.one_of(
    step("fall_sick", npu=st.integers(0, 1)),
    step("fall_sick", npu=st.integers(0, 1)),
    step("count", npus=st.integers(1, 2)),
    step("call", word=st.sampled_from([OLD.word, NEW.word, None]), view_first=st.booleans()),
    step("hide", hidden=mostly(False), view_first=st.booleans()),
    step("divide", soft=st.booleans(), pending=mostly(False)),
)
OTHERS = st.one_of(
    step("watch", live=mostly(True)),
    step("watch", live=mostly(True)),
    step("see"),
    step("recreate"),
    step("refuse", times=st.sampled_from([1, 3, 30])),
    step("lose", times=st.integers(1, 3)),
    step("delay", way_s=MOMENTS, lag_s=MOMENTS, ack_s=MOMENTS),
    step("reach", up=mostly(True)),
    step("lock", holds=mostly(True)),
    step("restart"),
    step("meddle", what=st.just("soft"), to=st.sampled_from([None, "true", "false"])),
    step("meddle", what=st.just("list"), to=st.sampled_from([None, "[]"])),
    step(
        "meddle",
        what=st.just("handshake"),
        to=st.sampled_from([None, "hello", "Deleted", "Requesting"]),
    ),
    step("quiet", lag_s=st.sampled_from([0.0, 0.2]), ack_s=st.sampled_from([0.0, 0.1])),
)
STEPS = st.lists(
    st.integers(0, 9).flatmap(lambda kind: WAIT if kind < 3 else NPUS if kind < 6 else OTHERS),
    min_size=15,
    max_size=30,
)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@given(first=step("watch", live=mostly(True)), steps=STEPS)
@settings(max_examples=6, phases=[Phase.generate])  # to make a find smaller would take a while
def test_the_node_tells_the_truth_and_no_question_waits(
    version: Version, first: Step, steps: list[Step]
) -> None:
    async def play_all() -> None:
        async with registration_play(version) as play:
            for name, values in (first, *steps):
                await getattr(play, name)(**values)
            await play.quiet(ack_s=0.1)

    # The loop's end is in real time: from Python 3.12 on it waits for threads by a clock.
    loop = looptime.new_event_loop(_enabled=False)
    with asyncio.Runner(loop_factory=lambda: loop) as runner, loop.looptime_enabled():
        runner.run(play_all())
