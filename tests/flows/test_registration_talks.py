"""All that is due of all words is one edit; times are agent time in milliseconds."""

import dataclasses
from collections.abc import Mapping

from ascend_agent.dialects.hami.handshake import Cause
from ascend_agent.flows.registration_log import RegistrationLog
from ascend_agent.flows.registration_talks import Plan, Seen, Talks
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.hami import HamiRegistration, HamiState, RegistrationPhase
from ascend_agent.model.ids import Millis
from tests.fakes.hami import CHIP_910B3, node, node_view, state

SOFT = "hami-vnpu-core"
OLD, NEW = "Ascend910B3", "New"
RENAMED = state(dataclasses.replace(CHIP_910B3, word=NEW))
NONE = dataclasses.replace(state(), chip=None)


def register(word: str) -> str:
    return f"hami.io/node-register-{word}"


def handshake(word: str) -> str:
    return f"hami.io/node-handshake-{word}"


class Scene:
    """Talks about a node that looks as it was told to."""

    def __init__(self, annotations: Mapping[str, str] | None = None) -> None:
        self.talks = Talks(RegistrationLog())
        self.annotations = dict(annotations or {})
        self.now = 0

    @property
    def node(self) -> NodeObject:
        return node(self.annotations)

    def seen(self, known: HamiState, *, count: int = 1, unknown: bool = False) -> Seen:
        return Seen(
            view=node_view(count),
            state=known,
            node=None if unknown else self.node,
            now=Millis(self.now),
            wait_ms=30_000,
            offset_s=1,
        )

    def say(self, known: HamiState) -> Plan:
        """Have what is due acknowledged."""
        plan = self.talks.plan(self.seen(known))
        if plan.edit is not None:
            self.talks.saying(plan)
            for key, to in plan.edit.annotations.items():
                self.annotations.pop(key, None)
                if to is not None:
                    self.annotations[key] = to
            self.talks.note(plan, Millis(self.now))
        return plan


def test_a_new_word_and_the_end_of_the_old_one_begin_with_one_edit() -> None:
    scene = Scene()
    scene.say(state())
    plan = scene.say(RENAMED)

    assert plan.edit
    assert plan.edit.annotations.keys() == {SOFT, register(NEW), handshake(NEW), handshake(OLD)}
    assert plan.edit.annotations[handshake(OLD)] == "Requesting_2000-01-01 00:00:00"
    assert plan.edit.answered == {handshake(NEW), handshake(OLD)}
    assert scene.talks.leaving == (OLD,)
    assert scene.talks.plan(scene.seen(RENAMED)).wake_at == 90_000

    scene.annotations[handshake(OLD)] = "Deleted"
    plan = scene.say(RENAMED)
    assert plan.edit
    assert plan.edit.annotations == {register(OLD): None, handshake(OLD): None}
    assert not scene.talks.leaving
    assert scene.talks.plan(scene.seen(RENAMED)) == Plan(
        listing=plan.listing, due=scene.talks.plan(scene.seen(RENAMED)).due
    )


def test_a_plan_is_the_same_while_only_the_time_in_its_report_differs() -> None:
    scene = Scene()
    first = scene.talks.plan(scene.seen(state()))
    scene.now = 5000
    later = scene.talks.plan(scene.seen(state()))

    assert first.edit != later.edit
    assert first.essence == later.essence
    assert first.essence != scene.talks.plan(scene.seen(state(shares=1))).essence


def test_an_answer_is_the_same_whatever_the_list_is_by_then() -> None:
    one = Plan(listing=None)
    scene = Scene()
    scene.say(state())
    scene.annotations[handshake(OLD)] = "Deleted"
    plan = scene.talks.plan(scene.seen(state()))

    assert plan.due.cause is Cause.ANSWER
    assert plan.essence != one.essence
    assert plan.essence == dataclasses.replace(plan, listing=None).essence


def test_nothing_is_planned_before_an_npu_is_known() -> None:
    assert Scene().talks.plan(Scene().seen(state(), count=0)) == Plan()


def test_what_others_must_not_write_is_list_and_mode() -> None:
    scene = Scene()
    assert scene.talks.keys == frozenset()
    scene.say(state())

    assert scene.talks.keys == {SOFT, register(OLD)}


def test_what_was_taken_away_by_others_needs_no_taking_back() -> None:
    scene = Scene()
    scene.say(state())
    scene.annotations.clear()

    assert scene.say(NONE) == Plan()
    assert not scene.talks.leaving


def test_of_a_node_that_was_never_seen_nothing_is_taken_back() -> None:
    scene = Scene()
    scene.say(state())

    assert scene.talks.plan(scene.seen(NONE, unknown=True)).steps == ()
    assert scene.talks.leaving == (OLD,)


def test_a_step_for_a_word_that_is_back_meanwhile_counts_for_nothing() -> None:
    scene = Scene()
    scene.say(state())
    plan = scene.talks.plan(scene.seen(NONE))
    scene.talks.plan(scene.seen(state()))
    scene.talks.note(plan, Millis(0))

    assert not scene.talks.leaving


def test_it_can_be_read_when_the_scheduler_was_told_last() -> None:
    """An answer counts too: it is by the time of the last that an agent that is stuck is seen."""
    scene = Scene()
    scene.say(state())
    scene.annotations[handshake(OLD)] = "Requesting_2026-01-01 00:00:12"
    scene.say(state())
    scene.now = 40_000
    assert scene.say(state()).edit is not None

    told = scene.talks.registration(scene.node, "")

    assert (told.phase, told.told_at_ms) == (RegistrationPhase.REPORTED, 40_000)


def test_a_word_is_taken_back_though_nobody_said_that_it_was_written() -> None:
    """An answer that is lost with the word's last edit left the list on the Node for ever."""
    scene = Scene()
    scene.talks.saying(scene.talks.plan(scene.seen(state())))
    scene.annotations = {register(OLD): "[1]", handshake(OLD): "Reported_2026.01.01 00:00:01"}

    assert scene.say(NONE).edit
    assert scene.talks.leaving == (OLD,)


def test_a_word_that_comes_back_within_a_second_is_dated_apart() -> None:
    """By the same text the scheduler would not know that the list is another one."""
    scene = Scene()
    first = scene.say(state())
    scene.talks.plan(scene.seen(NONE))
    second = scene.say(state(shares=1))

    assert first.edit
    assert second.edit
    assert first.edit.annotations[handshake(OLD)] == "Reported_1970.01.01 00:00:01"
    assert second.edit.annotations[handshake(OLD)] == "Reported_1970.01.01 00:00:02"


def test_a_word_is_taken_back_though_the_node_does_not_show_yet_that_it_was_written() -> None:
    """What is shown may be older than the edit whose answer was lost."""
    scene = Scene()
    scene.talks.saying(scene.talks.plan(scene.seen(state())))

    plan = scene.say(NONE)
    assert plan.edit
    assert plan.edit.annotations == {handshake(OLD): "Requesting_2000-01-01 00:00:00"}
    scene.annotations[register(OLD)] = "[1]"
    scene.annotations[handshake(OLD)] = "Deleted"
    scene.say(NONE)
    assert not scene.annotations
    assert not scene.talks.leaving


def test_how_it_stands_can_be_read() -> None:
    scene = Scene()
    assert scene.talks.registration(None, "why") == HamiRegistration(
        phase=RegistrationPhase.WAITING, detail="why"
    )
    scene.say(state())
    told = scene.talks.registration(scene.node, "")
    assert (told.phase, told.word) == (RegistrationPhase.REPORTED, OLD)
    assert told.devices == scene.annotations[register(OLD)]
    assert told.handshake == scene.annotations[handshake(OLD)]

    assert (list(told.counts.values()), told.told_at_ms) == ([state().shares], 0)

    scene.annotations[handshake(OLD)] = "Requesting"
    asked = scene.talks.registration(scene.node, "")
    assert asked.phase is RegistrationPhase.ASKED
    assert asked.told_at_ms == 0
    assert scene.talks.registration(None, "").handshake == ""
    scene.talks.plan(scene.seen(NONE))
    assert scene.talks.registration(scene.node, "").phase is RegistrationPhase.LEAVING


def test_while_the_host_is_prepared_the_mode_stands_that_the_node_says() -> None:
    """SC-1: an agent that starts again on a soft node is not noticed."""
    soft = state(soft=True)
    pending = dataclasses.replace(soft, soft=False, soft_pending=True)
    withdrawn = dataclasses.replace(pending, soft_pending=False)
    scene = Scene()
    scene.say(soft)
    scene.talks = Talks(RegistrationLog())

    assert scene.say(pending).edit is None
    plan = scene.say(withdrawn)
    assert plan.edit
    assert plan.edit.annotations[SOFT] == "false"
    assert scene.say(pending).edit is None
    assert scene.say(soft).edit
    assert scene.annotations[SOFT] == "true"
