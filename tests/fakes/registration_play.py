"""An agent, a scheduler, strangers and an API server that play on one node's registration.

The play knows what the Node should say at each moment; the agent is told no more than a real one.
"""

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.register import Listing, listing
from ascend_agent.flows.register_node import Cadence, RegisterNode
from ascend_agent.model.cluster import ApiPhase, ApiState, NodeObject
from ascend_agent.model.hami import HamiConfig, HamiRegistration, HamiState, RegistrationPhase
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.npu import HiddenNpu, Inventory
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from tests.fakes.hami import CHIP_910B3, node_view, state
from tests.fakes.hami_scheduler import TICK_S, Scheduler, Version
from tests.fakes.lossy_node import LossyNode
from tests.fakes.npus import address, inventory

SOFT = "hami-vnpu-core"
OLD, NEW = CHIP_910B3, dataclasses.replace(CHIP_910B3, word="New")
CHIPS = {chip.word: chip for chip in (OLD, NEW)}
_ALL_HIDDEN = dataclasses.replace(inventory(0), hidden=(HiddenNpu(address=address(0)),))
_ANSWERED_S = 33.0 + 6.0 + TICK_S  # at the latest, after a refusal, and until it is looked at
_TAKEN_BACK_S = 130.0  # and any question is answered by then
_STEPS = 15
_UNSEEN_S = 100.0  # two reports: the first shows a Node that was made anew
_PEACE_S = 300.0  # what others changed is left alone for so long at most


def register(word: str) -> str:
    """Return the key of the device list."""
    return f"hami.io/node-register-{word}"


def handshake(word: str) -> str:
    """Return the key of the handshake."""
    return f"hami.io/node-handshake-{word}"


async def settle() -> None:
    """Let the only flow there is take its few steps; each run settles often."""
    for _ in range(_STEPS):
        await asyncio.sleep(0)


class FixedClock(Clock):
    """Agent time that begins with the year."""

    def __init__(self) -> None:
        super().__init__()
        self._started_ms = Millis(1_767_225_600_000)


@dataclass(kw_only=True)
class Agent:
    """One life of the agent: what it knows, and what it says."""

    bus: Bus
    inventory: LatestWriter[Inventory]
    view: LatestWriter[NodeView]
    hami: LatestWriter[HamiState]
    instance: LatestWriter[InstanceState]
    api: LatestWriter[ApiState]
    task: asyncio.Task[None]


class Play:
    """One run; ``records`` is the log, from which people read what became of the node."""

    def __init__(self, version: Version, records: Sequence[logging.LogRecord]) -> None:
        self.records = records
        self.node = LossyNode()
        self.clock = FixedClock()
        self.schedulers = {
            word: Scheduler(version, self.node, word, now=self.clock.now) for word in CHIPS
        }
        self.version = version
        self._agent: Agent | None = None
        self._word: str | None = OLD.word
        self._npus, self._sick = 2, [False, False]
        self._soft = self._pending = self._hidden = False
        self._holds = True
        self._strange = False
        self._uid, self._made_anew = "", False
        self._ours: set[str] = set()  # told in this life, while the node was ours
        self._said: tuple[object, ...] | None = None
        self._texts: dict[tuple[str, str], str | None] = {}
        self._checked = self._heard = 0
        self._silent_since: float | None = None
        self._question, self._asked_at = "", 0.0
        self._well_at: float | None = None
        self._look_at = 12.0

    # --- what the agent is told --------------------------------------------------------------

    @property
    def _view(self) -> NodeView:
        sick = [phy for phy, is_so in enumerate(self._sick) if is_so]
        return node_view(0 if self._hidden else self._npus, sick=sick)

    @property
    def _hami(self) -> HamiState:
        known = state(CHIPS[self._word or OLD.word], soft=self._soft and not self._pending)
        return dataclasses.replace(
            known,
            config=HamiConfig(chips=tuple(CHIPS.values())),
            chip=None if self._word is None or self._hidden else known.chip,
            soft_pending=self._soft and self._pending,
        )

    async def _put(self, *, view_first: bool = False) -> None:
        """Tell the agent what there is: the NPUs first, and who works with them in turn."""
        assert self._agent is not None
        agent = self._agent
        agent.inventory.put(_ALL_HIDDEN if self._hidden else inventory(self._npus))
        if view_first:
            agent.view.put(self._view)
            await settle()
        agent.hami.put(self._hami)
        await settle()
        agent.view.put(self._view)
        for word, one in self.schedulers.items():
            offered = self._word == word and not self._hidden
            one.allocatable = 16 if offered else 0

    async def fall_sick(self, npu: int) -> None:
        """Have an NPU fall sick, or recover."""
        self._sick[npu] = not self._sick[npu]
        self._well_at = None
        await self._put()

    async def count(self, npus: int) -> None:
        """Have so many NPUs be known."""
        self._npus = npus
        self._well_at = None
        await self._put()

    async def call(self, word: str | None, *, view_first: bool = False) -> None:
        """Have the chip be called otherwise, None: be none that is configured."""
        self._word = word
        self._forget_said()
        await self._put(view_first=view_first)

    async def hide(self, *, hidden: bool, view_first: bool = False) -> None:
        """Have the operator hide every NPU, or none."""
        self._hidden = hidden
        self._forget_said()
        await self._put(view_first=view_first)

    async def divide(self, *, soft: bool, pending: bool) -> None:
        """Have soft slices be wanted, and the host be prepared or not yet."""
        self._soft, self._pending = soft, pending
        self._well_at = None
        await self._put()

    async def lock(self, *, holds: bool) -> None:
        """Have the agent lose the node to another one, or get it back."""
        assert self._agent is not None
        if self._holds and not holds:
            self._silent_since = self._now()
        elif holds:
            self._silent_since = None
        if holds != self._holds:
            self._forget_all()
        self._holds = holds
        phase = InstancePhase.HOLDING if holds else InstancePhase.WAITING
        self._agent.instance.put(InstanceState(phase=phase))

    # --- the agent's lives -------------------------------------------------------------------

    async def restart(self) -> None:
        """Have the agent end, and another begin that knows nothing."""
        await self.end()
        self._forget_all()
        bus = Bus([])
        registering = RegisterNode(
            editor=self.node,
            cadence=Cadence(answer_s=30, offset_s=1, spread=lambda: 1.1),
            bus=bus,
            registered=bus.registered.claim("test"),
            clock=self.clock,
        )
        own_node = bus.own_node.claim("test")

        def show(node: NodeObject) -> None:
            if node.uid != self._uid:
                self._forget_said()
                self._uid = node.uid
            own_node.put(node)

        self.node.connect(show, bus.foreign.claim("test").publish)
        self._agent = Agent(
            bus=bus,
            inventory=bus.inventory.claim("test"),
            view=bus.node.claim("test"),
            hami=bus.hami.claim("test"),
            instance=bus.instance.claim("test"),
            api=bus.api.claim("test"),
            task=asyncio.get_running_loop().create_task(registering.run()),
        )
        await self.lock(holds=self._holds)
        await self._put()
        self._put_api()

    async def end(self) -> None:
        """End the agent."""
        if self._agent is not None:
            self._agent.task.cancel()
            await asyncio.wait({self._agent.task})
            assert self._agent.task.cancelled(), self._agent.task.exception()
            self._agent = None

    # --- the API server ----------------------------------------------------------------------

    async def see(self) -> None:
        """Have the Node read, before any watch stands."""
        if self.node.shown is None:
            self.node.list_once()

    async def watch(self, *, live: bool) -> None:
        """Have the watch break, or stand again."""
        self.node.watch(live=live)

    async def refuse(self, times: int) -> None:
        """Have the next edits refused."""
        self.node.refused = times

    async def lose(self, times: int) -> None:
        """Have the next edits carried out, and fail."""
        self.node.unheard = times

    async def delay(self, way_s: float, lag_s: float, ack_s: float) -> None:
        """Have edits, looks and answers take so long."""
        self.node.way_s, self.node.lag_s, self.node.ack_s = way_s, lag_s, ack_s

    async def reach(self, *, up: bool) -> None:
        """Have nobody answer, or somebody again."""
        if up:
            self.node.up.set()
        else:
            self.node.up.clear()
        self._put_api()

    def _put_api(self) -> None:
        assert self._agent is not None
        up = self.node.up.is_set()
        phase = ApiPhase.READY if up else ApiPhase.UNREACHABLE
        detail = "" if up else "nobody answers"
        self._agent.api.put(ApiState(phase=phase, since_ms=Millis(0), detail=detail))

    async def recreate(self) -> None:
        """Have the Node made anew."""
        self._made_anew = True
        self._well_at = None
        self.node.recreate()

    async def meddle(self, what: str, to: str | None) -> None:
        """Have somebody write what is ours."""
        word = self._word or OLD.word
        key = {"soft": SOFT, "list": register(word), "handshake": handshake(word)}[what]
        if what == "list" and self._told_word is None:
            return  # of a word that we don't register nothing is ours
        self._strange = True
        self.node.write({key: to})

    # --- time, and what holds in it ----------------------------------------------------------

    async def wait(self, seconds: float) -> None:
        """Have the scheduler look in between, four times a minute."""
        await settle()
        end = self._now() + seconds
        while self._look_at <= end:
            await asyncio.sleep(self._look_at - self._now())
            self._look_at += TICK_S
            for one in self.schedulers.values():
                one.look()
            self._hold()
        await asyncio.sleep(end - self._now())
        await settle()
        self._hold()
        self._expect_known()

    def _expect_known(self) -> None:
        """Make sure that everybody can read what the agent itself sees."""
        registered, shown = self._registered, self.node.shown
        if registered.word and shown is not None:
            seen = shown.annotations.get(handshake(registered.word), "")
            assert registered.handshake == seen
            asked = "Requesting" in seen or "Deleted" in seen
            assert (registered.phase is RegistrationPhase.ASKED) is asked

    def _hold(self) -> None:
        """Make sure of what is always so."""
        self._listen()
        self._hold_sent()
        registered = self._registered
        if not self._holds:
            assert registered.phase is RegistrationPhase.WAITING
            assert registered.detail == "this agent does not serve the node yet"
        elif not self.node.up.is_set():
            assert registered.detail == "nobody answers", registered
        self._expect_answers()
        self._expect_told()

    def _expect_told(self) -> None:
        """Make sure that an agent that can write has done so, though it may see nothing."""
        wanted = self._listing()
        well = (
            self._holds
            and wanted is not None
            and self.node.up.is_set()
            and not (self.node.refused or self.node.unheard)
        )
        if not well:
            self._well_at = None
        elif self._well_at is None:
            self._well_at = self._now()
        elif self._now() - self._well_at > _UNSEEN_S and not self._strange:
            assert wanted is not None
            assert self.node.read().get(register(wanted.word)) == wanted.devices, "not told"

    def _hold_sent(self) -> None:
        """Make sure of what is so of each write."""
        new, self._checked = self.node.sent[self._checked :], len(self.node.sent)
        for at, edit, after in new:
            assert self._silent_since is None or at <= self._silent_since, "not ours to say"
            self._ours |= {word for word in CHIPS if edit.get(register(word))}
            for word in CHIPS:
                text = edit.get(handshake(word))
                if text and text.startswith("Reported"):
                    said = f"{after.get(register(word))} {after.get(SOFT)}"
                    assert self._texts.setdefault((word, text), said) == said, "the same text"

    def _expect_answers(self) -> None:
        """Make sure that no question stands for longer than it may."""
        node, word, now = self.node, self._told_word, self._now()
        asked = node.read().get(handshake(word), "") if word else ""
        well = (
            self._holds
            and register(word or "") in node.read()
            and node.shown is not None
            and node.up.is_set()
            and not (node.refused or node.unheard)
        )
        if not well or "Requesting" not in asked:
            self._question, self._asked_at = "", now
        elif asked != self._question:
            self._question, self._asked_at = asked, now
        else:
            slow_s = 2 * (node.way_s + node.lag_s + node.ack_s)
            assert now - self._asked_at <= _ANSWERED_S + slow_s, f"{asked} is not answered"

    async def quiet(self, *, lag_s: float = 0.0, ack_s: float = 0.0) -> None:
        """Have everything in order, and look at what became of it.

        An answer that comes a little later than the watch shows what it says is in order, too.
        """
        node = self.node
        node.refused = node.unheard = 0
        await self.delay(0.0, lag_s, ack_s)
        await self.reach(up=True)
        await self.lock(holds=True)
        node.watch(live=True)
        await self.wait(_TAKEN_BACK_S + (_PEACE_S if self._strange else 0))
        self._strange = False
        self._expect_said()
        told, asked = len(node.sent), {word: one.asked for word, one in self.schedulers.items()}
        await self.wait(120)
        self._expect_said()
        writes = node.sent[told:]
        word = self._told_word
        questions = self.schedulers[word].asked - asked[word] if word else 0
        assert len(writes) <= questions + 1, (questions, writes)
        assert all(edit.keys() == {handshake(word or "")} for _, edit, _ in writes), writes
        if writes:
            told_at = self._registered.told_at_ms
            known_at = self.clock.loop_time(told_at)
            assert known_at is not None
            assert abs(known_at - writes[-1][0]) < 1, "it is known when"

    @property
    def _registered(self) -> HamiRegistration:
        assert self._agent is not None
        found = self._agent.bus.registered.value
        assert found is not None
        return found

    @property
    def _told_word(self) -> str | None:
        return None if self._hidden else self._word

    def _listing(self) -> Listing | None:
        known = self._hami
        if known.soft_pending and self.node.read().get(SOFT) == "true":
            known = dataclasses.replace(known, soft=True)
        return listing(self._view, known)

    def _expect_said(self) -> None:
        """Make sure that the Node says what it should, and everybody knows."""
        said, wanted, registered = self.node.read(), self._listing(), self._registered
        for word in CHIPS:
            if word != self._told_word and (self._word or self._hidden or word in self._ours):
                assert register(word) not in said, f"{word} is left"
        if wanted is None:
            assert registered.phase is RegistrationPhase.WAITING
            return
        assert said.items() >= wanted.annotations.items()
        assert registered.devices == wanted.devices
        assert (registered.word, registered.detail) == (wanted.word, "")
        known = self.schedulers[wanted.word].devices
        assert known.keys() >= wanted.counts.keys()
        if not self.version.merges:
            counts = {id_: each.get("count", 0) for id_, each in known.items()}
            assert counts == wanted.counts

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # --- the log -----------------------------------------------------------------------------

    def _forget_all(self) -> None:
        self._forget_said()
        self._hold_sent()
        self._ours.clear()
        self._texts.clear()

    def _forget_said(self) -> None:
        self._listen()
        self._said = None
        self._well_at = None

    def _listen(self) -> None:
        """Make sure that nothing is said twice."""
        new, self._heard = self.records[self._heard :], len(self.records)
        for record in new:
            facts = vars(record)
            if record.getMessage() == "node registered":
                said = (facts["word"], facts["soft"])
                if said == self._said and self._made_anew:
                    self._made_anew = False  # half of it went to the Node of before
                    continue
                assert said != self._said, "registered once"
                self._said = said
            elif record.getMessage() == "registration taken back" and self._said:
                self._said = None if facts["word"] == self._said[0] else self._said


class _Records(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(level=logging.INFO)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@asynccontextmanager
async def registration_play(version: Version) -> AsyncIterator[Play]:
    """Give a play on a Node that says nothing yet, to an agent that has not seen it."""
    heard = _Records()
    play = Play(version, heard.records)
    log = logging.getLogger("ascend_agent.flows.registration_log")
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(heard)
    try:
        await play.restart()
        yield play
    finally:
        log.removeHandler(heard)
        log.setLevel(level)
        with contextlib.suppress(asyncio.CancelledError):
            await play.end()
