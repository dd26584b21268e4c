"""The simulated driver inside the worker: real time, real threads, real hangs.

What a call answers is decided in ``session``; here it waits, blocks its lane, and dies when the
scenario says so. ``driver`` plays the same node in the agent's process on loop time.
"""

import os
import threading
import time
from collections.abc import Callable

from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.scenario import DIE, UnplayableError
from ascend_agent.driver.simulated.session import REFUSED, Answer, Session, refuse

CRASH_STATUS = 70
"""Exit status of a worker that the scenario lets die."""

_NS_PER_MS = 1_000_000


class SwitchOperations:
    """The operations of the switch library; *perform* answers each as any other."""

    def __init__(self, perform: Callable[[str], Answer]) -> None:
        self._perform = perform

    def open(self) -> Answer:
        """Make the library ready."""
        return self._perform("switches_open")

    def subscribe(self) -> Answer:
        """Have events of switches told from now on."""
        return self._perform("switches_subscribe")

    def read(self) -> Answer:
        """Return the faults of switches that stand."""
        return self._perform("switches_read")


class VnpuOperations:
    """The operations on vNPUs; *perform* answers each as any other."""

    def __init__(self, perform: Callable[..., Answer]) -> None:
        self._perform = perform

    def read(self, card: int, slot: int, logic: int) -> Answer:
        """Return the vNPUs of a chip."""
        return self._perform("vnpus_read", card, slot, logic)

    def destroy(self, card: int, slot: int, logic: int, vnpu: int) -> Answer:
        """Destroy one vNPU."""
        return self._perform("vnpus_destroy", card, slot, logic, vnpu)


class SimulatedBackend:
    """The operations of one worker on the node that *config* describes.

    Steps up to now have happened: they are seen in the answers, but neither told nor, where the
    worker should have died, repeated.
    """

    def __init__(self, config: dict[str, object], emit: Callable[[int, object], None]) -> None:
        self._config = config
        self._emit = emit
        started_ns = config.get("started_at_ns", 0)
        self._started_ns = started_ns if isinstance(started_ns, int) else 0
        self._born_ms = self._now_ms()
        self._session: Session | None = None
        self._pause = threading.Event()  # never set: waiting for it is how a thread sleeps
        self.switches = SwitchOperations(self._perform)
        self.vnpus = VnpuOperations(self._perform)

    def decode(self, raw: object) -> Answer:
        """Return the body of an event; it is one already."""
        assert isinstance(raw, dict)  # noqa: S101 -- what _play emitted
        return raw

    def open(self) -> Answer:
        """Make the node; a configuration that describes none is refused with a sentence."""
        if self._session is None:
            try:
                node = SimulatedNode(self._config)
            except UnplayableError as error:
                return refuse(error)
            wall_ms = time.time_ns() // _NS_PER_MS - self._now_ms()
            self._session = Session(node, wall_ms=wall_ms)
            threading.Thread(
                target=self._play, args=(self._session,), name="scenario", daemon=True
            ).start()
        return self._perform("open")

    def enumerate(self, reinitialise: int) -> Answer:
        """Return the list of chips, of a new snapshot if *reinitialise*."""
        return self._perform("enumerate", reinitialise)

    def subscribe(self) -> Answer:
        """Have events told from now on."""
        return self._perform("subscribe")

    def identity(self, card: int, slot: int, logic: int) -> Answer:
        """Return what a chip is."""
        return self._perform("identity", card, slot, logic)

    def health(self, card: int, slot: int, logic: int) -> Answer:
        """Return a chip's health value and standing codes."""
        return self._perform("health", card, slot, logic)

    def usage(self, card: int, slot: int, logic: int) -> Answer:
        """Return a chip's memory and utilisation."""
        return self._perform("usage", card, slot, logic)

    def processes(self, card: int, slot: int, logic: int) -> Answer:
        """Return the processes that use a chip."""
        return self._perform("processes", card, slot, logic)

    def share_read(self, card: int, slot: int, logic: int) -> Answer:
        """Return a chip's share flag."""
        return self._perform("share_read", card, slot, logic)

    def share_enable(self, card: int, slot: int, logic: int) -> Answer:
        """Switch a chip's share flag on and return it."""
        return self._perform("share_enable", card, slot, logic)

    def share_disable(self, card: int, slot: int, logic: int) -> Answer:
        """Switch a chip's share flag off and return it."""
        return self._perform("share_disable", card, slot, logic)

    def _perform(self, op: str, *args: int) -> Answer:
        session = self._session
        if session is None:
            return {"rc": REFUSED, "call": op, "detail": "open was not called or was refused"}
        card = session.card_of(args)
        while (until_ms := session.node.hangs_until(op, card, self._now_ms())) is not None:
            self._pause.wait((until_ms - self._now_ms()) / 1000)
        return session.answer(op, args, self._now_ms())

    def _play(self, session: Session) -> None:
        """Tell each step when its time has come."""
        at_ms = self._born_ms
        while (next_ms := session.node.next_step_at(at_ms)) is not None:
            while (rest_ms := next_ms - self._now_ms()) > 0:
                self._pause.wait(rest_ms / 1000)
            for step in session.node.steps_between(at_ms, next_ms):
                if step.kind == DIE:
                    os._exit(CRASH_STATUS)
                for body in session.told(step):
                    self._emit(time.monotonic_ns(), body)
            at_ms = next_ms

    def _now_ms(self) -> int:
        return (time.monotonic_ns() - self._started_ns) // _NS_PER_MS
