"""Whatever schedulers, kubelets, people and API servers do in whatever order: nobody loses by it.

A slot is given once and to its own container, a pod that nobody asked for is never failed, and a
lock that nobody needs is gone within a second where all is well, and soon after it is again.
"""

import asyncio
from collections.abc import Callable, Coroutine

import looptime
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ascend_agent.model.hami import HamiRules
from tests.fakes.hami_moments import Held, Moment
from tests.fakes.hami_play import Locks, hami_play
from tests.fakes.hami_storms import Layout, hami_storms

pytestmark = pytest.mark.slow  # many runs

Step = tuple[str, dict[str, object]]


def step(name: str, **values: st.SearchStrategy[object]) -> st.SearchStrategy[Step]:
    """Return calls of what the play calls so."""
    return st.tuples(st.just(name), st.fixed_dictionaries(values))


REQUESTS = st.sampled_from(["PATCH /api/v1/namespaces", "PATCH /api/v1/nodes", "GET /api/v1/", "/"])
KINDS = st.lists(st.sampled_from(["init", "sidecar", "app", "none"]), min_size=1, max_size=4)
BIND = step("bind", size=st.integers(1, 3), kinds=KINDS, again=st.booleans(), late=st.booleans())
ASK = step("ask", advised=st.booleans())
LOSE = step("lose", advised=st.booleans())
OTHERS = st.one_of(
    LOSE,
    step("ask", patience_s=st.sampled_from([0.001, 0.02, 0.5])),
    step("reject"),
    step("renew"),
    step("lock_in_vain"),
    step("delete", place=st.integers(0, 5), grace=st.booleans(), unseen=st.booleans()),
    step("touch"),
    step(
        "refuse",
        of=REQUESTS,
        code=st.sampled_from([403, 409, 410, 422, 429, 500, 503]),
        times=st.integers(1, 9),
    ),
    step(
        "lose_answers",
        of=REQUESTS,
        times=st.integers(1, 4),
        delay_s=st.sampled_from([0.0, 0.4, 30.0]),
    ),
    step("mute"),
    step("cut", compact=st.booleans()),
    step("recover"),
    step("wait", seconds=st.sampled_from([0.05, 2.0, 61.0])),
)
STEPS = st.lists(
    st.integers(0, 9).flatmap(lambda kind: BIND if kind < 3 else ASK if kind < 7 else OTHERS),
    min_size=10,
    max_size=40,
)


LASTING = ["take_over", "remake_node", "strip_node", "configure"]
PASSING = ["rebind", "vanish", "prepare", "end", "kill", "nothing"]
ABOUT_NPUS = ["ail", "blink"]
ABOUT_CALLS = ["hang_up", "begin_anew", "dismiss"]
RULES = st.builds(HamiRules, strict_lock=st.booleans(), refuse_unhealthy=st.booleans())
LAYOUTS = st.sampled_from(Layout)
HELD = st.sampled_from([*Held, Held.SOFT, Held.SOFT, Held.SOFT, Held.HARD])
AMID = step(
    "ask_amid",
    place=st.integers(0, 5),
    advised=st.booleans(),
    moment=st.sampled_from(Moment),
    change=st.sampled_from(LASTING + PASSING + ABOUT_NPUS + ABOUT_CALLS),
    held=HELD,
)
CHANGE = step("change", what=st.sampled_from(LASTING), held=HELD)
BETWEEN = st.one_of(
    step("restart", killed=st.booleans()),
    step("reject"),
    step("delete", place=st.integers(0, 5), grace=st.booleans(), unseen=st.booleans()),
    step("mute_one", of=st.sampled_from(["/nodes", "/pods"])),
    step("mute"),
    step("cut", compact=st.booleans()),
    step("recover"),
    step("wait", seconds=st.sampled_from([0.05, 2.0, 61.0, 301.0])),
)
MORE = st.one_of(
    LOSE,
    step("fall_sick", npus=st.lists(st.integers(0, 7), max_size=3, unique=True)),
    step("succeed", layout=LAYOUTS, locks=st.sampled_from(Locks)),
    step("set_clock", ahead_s=st.sampled_from([0, 3600, -3600, 31_536_000, -86_400])),
    step("outlive", again=st.booleans(), advised=st.booleans()),
    step("linger", late=st.booleans(), advised=st.booleans()),
    step("forge", place=st.integers(0, 5)),
    step("hurry", moment=st.sampled_from([Moment.MADE, Moment.PATCH, Moment.PATCHED])),
)
KINDS_OF_STEPS = [*[BIND] * 3, *[AMID] * 5, CHANGE, BETWEEN, MORE]
CHANGING = st.lists(
    st.sampled_from(KINDS_OF_STEPS).flatmap(lambda each: each), min_size=10, max_size=30
)


def run(play_all: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run in virtual time.

    The loop's end is in real time: its wait for threads, of 300 s, would be over at once.
    """
    loop = looptime.new_event_loop(_enabled=False)
    with asyncio.Runner(loop_factory=lambda: loop) as runner, loop.looptime_enabled():
        runner.run(play_all())


@pytest.mark.parametrize("locks", Locks)
@given(steps=STEPS, keeps_failed=st.booleans())
@settings(max_examples=15, phases=[Phase.generate])  # to make a find smaller would take minutes
def test_each_container_gets_its_own_and_no_lock_is_left(
    tmp_path_factory: pytest.TempPathFactory,
    locks: Locks,
    steps: list[Step],
    keeps_failed: bool,  # noqa: FBT001 -- hypothesis draws it
) -> None:
    async def play_all() -> None:
        folder = tmp_path_factory.getbasetemp()
        async with hami_play(folder, locks, keeps_failed=keeps_failed) as play:
            for name, values in steps:
                await getattr(play, name)(**values)
            await play.recover()

    run(play_all)


@pytest.mark.parametrize("locks", Locks)
@given(rules=RULES, layout=LAYOUTS, steps=CHANGING, keeps_failed=st.booleans())
@settings(max_examples=10, phases=[Phase.generate])
def test_whatever_changes_amid_an_allocate_nobody_gets_what_is_anothers(
    tmp_path_factory: pytest.TempPathFactory,
    locks: Locks,
    rules: HamiRules,
    layout: Layout,
    steps: list[Step],
    keeps_failed: bool,  # noqa: FBT001 -- hypothesis draws it
) -> None:
    """Locks taken over, namesakes, another configuration, another Node, another agent.

    And sick NPUs, a kubelet that hangs up, schedulers of other versions, pods that claim too much.
    """

    async def play_all() -> None:
        folder = tmp_path_factory.getbasetemp()
        async with hami_storms(folder, locks, rules, layout, keeps_failed=keeps_failed) as play:
            for name, values in steps:
                await getattr(play, name)(**values)
            await play.recover()

    run(play_all)
