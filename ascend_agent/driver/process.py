"""Keeps one driver worker alive, and puts a second one in its place when a card hangs.

What is decided here: when a worker is started, replaced and given up, and what the agent knows of
the driver meanwhile. A worker's calls and their deadlines are ``link``'s, what an answer means is
the adapters'. Restarts are endless and outside any task's budget: a library that is missing or
broken today may be there tomorrow.
"""

import asyncio
import logging
from collections.abc import Mapping

from ascend_agent.driver.bring_up import (
    OpenedDriver,
    StartFailedError,
    Subscriber,
    Subscription,
    WorkerEndedError,
    open_driver,
)
from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.driver.deadlines import Deadlines
from ascend_agent.driver.launcher import Launcher
from ascend_agent.driver.link import BlockedError, WorkerLink
from ascend_agent.driver.news import ContinuityLost, News, NewsQueue
from ascend_agent.driver.state import PublishedState
from ascend_agent.driver.turns import Answer, Lane
from ascend_agent.errors import DriverError, DriverUnavailableError
from ascend_agent.model.fault import DriverFault
from ascend_agent.model.npu import DriverState
from ascend_agent.model.surroundings import SwitchFault
from ascend_agent.runtime.backoff import Backoff, jittered
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_BACKOFF = Backoff(delays_s=(0.0, 0.1, 0.5, 2.0, 10.0, 30.0), healthy_after_s=10.0, endless=True)


class DriverWorker:
    """The driver as the adapters ask it: whichever worker is the current one.

    ``driver`` names the backend, ``config`` is its own; *environment* is the worker's whole
    environment. With *subscribes* False no fault events are asked for.
    """

    def __init__(  # noqa: PLR0913 -- what a worker needs, and seams with a default each
        self,
        *,
        driver: str,
        config: Mapping[str, object],
        state: LatestWriter[DriverState],
        environment: Mapping[str, str],
        deadlines: Deadlines | None = None,
        backoff: Backoff = _BACKOFF,
        subscribes: bool = True,
        spawn: Spawn = spawn_worker,
    ) -> None:
        self.news: NewsQueue[DriverFault] = NewsQueue()
        self.switch_news: NewsQueue[SwitchFault] = NewsQueue(keeps=False)
        self._launcher = Launcher(
            driver=driver, config=config, environment=environment, spawn=spawn
        )
        self._state = PublishedState(state)
        self._deadlines = deadlines or Deadlines()
        self._backoff = backoff
        self._subscriber = Subscriber(wanted=subscribes, deadline_s=self._deadlines.subscribe_s)
        self._link: WorkerLink | None = None
        self._ready = asyncio.Event()
        self._wakeup = Wakeup()
        self._subscribe_at: float | None = None
        self._wanted: asyncio.Future[Answer] | None = None

    # --- what adapters ask -----------------------------------------------------------------

    async def call(self, lane: Lane, op: str, *args: int) -> Answer:
        """Return the worker's answer, whatever its return code says.

        Waits for a worker to be ready for as long as the call itself might take.

        Raises:
            NpuUnresponsiveError: the lane missed the deadline, or is parked.
            DriverUnavailableError: no worker is ready, or it ended.

        """
        deadline_s = self._deadlines.of(op)
        link = await self._ready_link(deadline_s)
        return await link.call(lane, op, args, deadline_s=deadline_s)

    async def enumerate(self, *, reinitialise: bool) -> Answer:
        """Return the driver's list of chips; past a hung lane a second worker makes it.

        Without *reinitialise* the list is a mere look-up: where it can't be asked for, the last
        one of this worker stands.

        Raises:
            DriverUnavailableError: no worker is ready, or the second one could not take over.

        """
        deadline_s = self._deadlines.alone_s
        link = await self._ready_link(deadline_s)
        try:
            answer = await link.list_chips(reinitialise=reinitialise, deadline_s=deadline_s)
        except BlockedError:
            if not reinitialise and link.listed is not None:
                return link.listed
        else:
            return answer
        if self._wanted is None:
            self._wanted = asyncio.get_running_loop().create_future()
            self._wakeup.set()
        return await asyncio.shield(self._wanted)

    async def _ready_link(self, patience_s: float) -> WorkerLink:
        if self._link is not None and self._ready.is_set():
            return self._link  # without a timer: most calls pass here
        try:
            async with asyncio.timeout(patience_s):
                await self._ready.wait()
        except TimeoutError:
            pass  # said below
        if self._link is None or not self._ready.is_set():
            raise DriverUnavailableError(self._state.now.detail or "no driver worker is ready yet")
        return self._link

    # --- the life of workers ---------------------------------------------------------------

    async def run(self) -> None:
        """Keep a worker alive until cancelled; leaves no process behind."""
        failures = 0
        while True:
            lasted_s = await self._live()
            if lasted_s >= self._backoff.healthy_after_s:
                failures = 0
            delay_s = self._backoff.delay_s(failures)
            failures += 1
            await asyncio.sleep(
                jittered(self._backoff.delays_s[-1] if delay_s is None else delay_s)
            )

    async def _live(self) -> float:
        """Run one worker, and those that take over from it, to the end; return for how long."""
        clock = asyncio.get_running_loop().time
        ready_at: float | None = None
        failure: StartFailedError | None = None
        try:
            self._link = await self._launch()
            await self._bring_up(self._link)
            ready_at = clock()
            await self._watch()
        except StartFailedError as error:
            failure = error
        finally:
            link = await self._leave()
        if ready_at is None:
            self._give_up(link, failure)
            return 0.0
        why = _describe_end(link)
        self._state.note_end(why)
        log.warning("driver worker ended", extra={"why": why})
        return clock() - ready_at

    async def _launch(self) -> WorkerLink:
        link = await self._launcher.launch(hear=self._hear, changed=self._note_change)
        self._state.note_launch()
        return link

    async def _bring_up(self, link: WorkerLink) -> None:
        opened = await open_driver(link, deadline_s=self._deadlines.alone_s)
        self._make_current(link, opened, await self._subscriber.begin(link))

    def _make_current(
        self, link: WorkerLink, opened: OpenedDriver, subscription: Subscription
    ) -> None:
        self._link = link
        self._state.note_ready(opened, subscription, parked=link.parked)
        self._plan_subscription(subscription)
        self._ready.set()
        # After the state: who reads everything again finds a worker that is ready.
        self._tell(ContinuityLost(lane=None, reason="a new driver worker"))
        facts = {"api": opened.api.value, "library": opened.library}
        log.info("driver ready", extra={**facts, "callbacks": self._state.now.callbacks})

    async def _watch(self) -> None:
        """Return when the current worker has ended; meanwhile do what concerns workers."""
        overdue = False
        while self._link is not None and self._link.ended is None:
            if self._wanted is not None:
                await self._take_over(self._link)
            elif self._subscribe_at is not None and overdue:
                overdue = False
                await self._subscribe_again(self._link)
            else:
                # Timers may fire a tick before their time, so the clock is not asked again.
                overdue = not await self._wakeup.wait(self._subscribe_at)

    async def _subscribe_again(self, link: WorkerLink) -> None:
        try:
            subscription = await self._subscriber.ask(link)
        except WorkerEndedError:
            return  # the caller sees that it ended
        self._state.note_subscription(subscription)
        self._plan_subscription(subscription)
        if subscription is Subscription.CALLBACKS:
            self.news.offer(ContinuityLost(lane=None, reason="fault events arrive from now on"))

    def _plan_subscription(self, subscription: Subscription) -> None:
        failed = subscription is Subscription.FAILED
        in_s = self._subscriber.again_in_s
        if failed and self._subscribe_at is None:
            log.warning("fault subscription failed", extra={"in_s": in_s})
        now = asyncio.get_running_loop().time()
        self._subscribe_at = now + in_s if failed else None

    async def _take_over(self, old: WorkerLink) -> None:
        """Bring up a second worker and put it in the place of *old*; answers who asked for it."""
        lanes = list(old.parked)
        try:
            second = await self._launch()
            try:
                answer = await self._take_place(second)
            finally:
                if self._link is not second:
                    await self._launcher.retire(second)
        except (StartFailedError, DriverError, DriverUnavailableError) as error:
            why = f"lanes {lanes} hang, and a second worker can't take over: {error}"
            log.warning("driver take-over failed", extra={"why": why})
            self._answer_take_over(DriverUnavailableError(why))
            return
        log.info("driver worker replaced", extra={"lanes": lanes})
        self._answer_take_over(answer)
        await self._launcher.retire(old)

    async def _take_place(self, second: WorkerLink) -> Answer:
        opened = await open_driver(second, deadline_s=self._deadlines.alone_s)
        answer = await second.list_chips(reinitialise=False, deadline_s=self._deadlines.alone_s)
        if answer["rc"] != 0:
            raise StartFailedError(f"{answer.get('call', 'enumerate')} answered {answer['rc']}")
        self._make_current(second, opened, await self._subscriber.begin(second))
        return answer

    def _answer_take_over(self, answer: Answer | DriverUnavailableError) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        if isinstance(answer, DriverUnavailableError):
            wanted.set_exception(answer)
            wanted.exception()  # counts as seen: who asked may have been cancelled
        else:
            wanted.set_result(answer)

    async def _leave(self) -> WorkerLink | None:
        """Let go of the current worker, whatever its state, and return it."""
        link, self._link = self._link, None
        self._ready.clear()
        self._subscribe_at = None
        self._state.note_end((link and link.ended) or "")
        self._answer_take_over(DriverUnavailableError("the driver worker ended"))
        if link is not None:
            await self._launcher.retire(link)
        return link

    def _give_up(self, link: WorkerLink | None, failure: StartFailedError | None) -> None:
        why = _describe_end(link) if isinstance(failure, WorkerEndedError) else str(failure)
        if self._state.note_unavailable(why):
            log.error("driver unavailable", extra={"why": why})

    # --- what links tell -------------------------------------------------------------------

    def _hear(self, link: WorkerLink, item: News) -> None:
        # A second worker is not listened to before it takes over: the first still tells.
        if link is self._link:
            self._tell(item)

    def _tell(self, item: News) -> None:
        if not isinstance(item, SwitchFault):
            self.news.offer(item)
        if isinstance(item, SwitchFault) or (
            isinstance(item, ContinuityLost) and item.lane is None
        ):
            self.switch_news.offer(item)

    def _note_change(self, link: WorkerLink) -> None:
        if link is not self._link:
            return
        if link.ended is not None:
            self._ready.clear()
        self._state.note_parked(link.parked)
        self._wakeup.set()


def _describe_end(link: WorkerLink | None) -> str:
    if link is None:
        return "no driver worker"
    return f"{link.ended} ({link.child.describe()})"
