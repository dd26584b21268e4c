"""The worker's threads for driver calls: one a lane, the gate between them, the change lock.

What is decided here: which calls may run at the same time. Deadlines are the agent's: a call that
hangs in C can't be ended from within this process.
"""

import threading
from _queue import SimpleQueue
from collections.abc import Callable
from operator import attrgetter

from ascend_agent.driver.frames import (
    ALONE,
    BESIDE,
    CHANGES,
    OPERATIONS,
    RC_OCCUPIED,
    RC_PROGRAM_ERROR,
    WITHIN,
)

Answer = dict[str, object]
Reply = Callable[[int, Answer], None]
Call = tuple[int, str, list[object]]

_HOLD_BACK_S = 1.0
_CHANGE_WAIT_S = 2.0


class Gate:
    """Many calls at once, or one alone; the one that wants to be alone has the right of way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._alone = False

    def enter(self, *, alone: bool) -> bool:
        """Wait for the right to call; False where a hung call kept *alone* from it.

        New calls are held back while one waits to be alone, but not for longer than a second: a
        card that hangs in C must not take the others with it.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            if not alone:
                self._running += 1
                return True
            self._alone = True
            if self._changed.wait_for(lambda: not self._running, _HOLD_BACK_S):
                return True
            self._alone = False
            self._changed.notify_all()
            return False

    def leave(self, *, alone: bool) -> None:
        """Give the right back."""
        with self._changed:
            if alone:
                self._alone = False
            else:
                self._running -= 1
            self._changed.notify_all()


class Lanes:
    """Takes requests and runs each on the thread of its lane; threads are made on demand."""

    def __init__(self, *, backend: object, reply: Reply) -> None:
        self._backend = backend
        self._reply = reply
        self._gate = Gate()
        self._change = threading.Lock()
        self._queues: dict[object, SimpleQueue[Call | None]] = {}

    def put(self, request: int, lane: object, op: str, args: list[object]) -> None:
        """Queue a call; never waits."""
        queue = self._queues.get(lane)
        if queue is None:
            queue = SimpleQueue()
            try:
                threading.Thread(
                    target=self._serve, args=(queue,), name=f"lane-{lane}", daemon=True
                ).start()
            except RuntimeError as error:
                # The other lanes go on; this one is tried again with its next call.
                detail = f"{error}: raise the limit of processes (pids) of the agent's pod"
                self._reply(request, {"rc": RC_OCCUPIED, "call": op, "detail": detail})
                return
            self._queues[lane] = queue
        queue.put((request, op, args))

    def stop(self) -> None:
        """Let each thread end once it has answered what it was given."""
        for queue in self._queues.values():
            queue.put(None)

    def _serve(self, queue: "SimpleQueue[Call | None]") -> None:
        while (call := queue.get()) is not None:
            request, op, args = call
            self._reply(request, self._perform(op, args))

    def _perform(self, op: str, args: list[object]) -> Answer:
        if op not in OPERATIONS:
            return {"rc": RC_PROGRAM_ERROR, "call": op, "detail": "no such operation"}
        if op in BESIDE:
            return self._call(op, args)
        if op not in CHANGES:
            return self._pass_gate(op, args)
        # Before the gate, so that a change that waits for another holds back nobody else.
        if not self._change.acquire(timeout=_CHANGE_WAIT_S):
            return {"rc": RC_OCCUPIED, "call": op, "detail": "another change has not ended yet"}
        try:
            return self._pass_gate(op, args)
        finally:
            self._change.release()

    def _pass_gate(self, op: str, args: list[object]) -> Answer:
        alone = op in ALONE
        if not self._gate.enter(alone=alone):
            detail = "a call of a lane has not ended, and this one must run alone"
            return {"rc": RC_OCCUPIED, "call": op, "kind": "blocked", "detail": detail}
        try:
            return self._call(op, args)
        finally:
            self._gate.leave(alone=alone)

    def _call(self, op: str, args: list[object]) -> Answer:
        place = op.replace("_", ".", 1) if op in WITHIN else op
        try:
            answer: Answer = attrgetter(place)(self._backend)(*args)
        except Exception as error:  # noqa: BLE001 -- the worker's edge: the agent gets the reason
            return {"rc": RC_PROGRAM_ERROR, "call": op, "detail": repr(error)}
        return answer
