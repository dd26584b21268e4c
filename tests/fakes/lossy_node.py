"""The own Node of a server that refuses, loses and delays, as a watch shows it that may break off.

The truth is at the server. What is shown of it is never older than what was shown before, and an
answer lays what it tells over it, whether or not the watch stands.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping

from ascend_agent.errors import ForbiddenError
from ascend_agent.model.cluster import Edit, ForeignEdit, MetadataField, NodeEdit, NodeObject
from ascend_agent.model.ids import Millis, ObjectVersion
from tests.fakes.hami import node

_CALLS_AT_ONCE = 20
Annotations = Mapping[str, str | None]


class LossyNode:
    """``refused`` and ``unheard`` count edits that are yet to fail: before, or after they count.

    ``way_s``, ``lag_s`` and ``ack_s`` are how late an edit, a look and an answer arrive; while
    ``up`` is not set nobody answers. ``shown`` is what is known of the Node, None: nothing yet.
    ``sent`` is what we wrote, with the loop time, and all annotations after it.
    """

    def __init__(self) -> None:
        self.truth = node()
        self.shown: NodeObject | None = None
        self.up = asyncio.Event()
        self.up.set()
        self.refused = self.unheard = 0
        self.way_s = self.lag_s = self.ack_s = 0.0
        self.sent: list[tuple[float, Annotations, Mapping[str, str]]] = []
        self._show: Callable[[NodeObject], object] = lambda _: None
        self._tell: Callable[[ForeignEdit], object] = lambda _: None
        self._calls: list[float] = []
        self._live = False
        self._watch = 0
        self._wrote: dict[str, tuple[str | None, int]] = {}
        self._told: dict[str, str | None] = {}

    # --- the watch ---------------------------------------------------------------------------

    def connect(
        self, show: Callable[[NodeObject], object], tell: Callable[[ForeignEdit], object]
    ) -> None:
        """Have another agent see it, which has seen nothing yet."""
        self._show, self._tell = show, tell
        self.shown, self._live = None, False
        self._watch += 1
        self._wrote.clear()
        self._told.clear()

    def watch(self, *, live: bool) -> None:
        """Have the watch break, or show all there is and go on."""
        if live == self._live:
            return
        self._live = live
        self._watch += 1
        if live:
            self._take(self.truth)
        elif self.shown is not None:
            self._publish(self.shown)

    def list_once(self) -> None:
        """Have the Node read, before any watch stands."""
        self._take(self.truth)

    def _news(self) -> None:
        found, watch = self.truth, self._watch
        if not self._live:
            return
        if not self.lag_s:
            self._take(found)
            return

        def late() -> None:
            if watch == self._watch:
                self._take(found)

        asyncio.get_running_loop().call_later(self.lag_s, late)

    def _take(self, found: NodeObject) -> None:
        if self.shown is not None and int(self.shown.version) > int(found.version):
            found = self.shown
        for key, (wrote, version) in list(self._wrote.items()):
            to = found.annotations.get(key)
            if to == wrote:
                self._told.pop(key, None)
            elif int(found.version) > version and self._told.get(key, wrote) != to:
                self._told[key] = to
                self._tell(_foreign(key, wrote, to))
        self._publish(found)

    def _publish(self, found: NodeObject) -> None:
        self.shown = dataclasses.replace(found, live=self._live)
        self._show(self.shown)

    # --- what others write -------------------------------------------------------------------

    def read(self) -> Mapping[str, str]:
        """Return the annotations as they are."""
        return self.truth.annotations

    def write(self, annotations: Annotations) -> None:
        """Have others change annotations, None: away with it."""
        kept = {**self.truth.annotations, **annotations}
        self.truth = dataclasses.replace(
            self.truth,
            annotations={key: value for key, value in kept.items() if value is not None},
            version=ObjectVersion(str(int(self.truth.version) + 1)),
        )
        self._news()

    def recreate(self) -> None:
        """Have the Node deleted and made anew, without anything of ours."""
        version = ObjectVersion(str(int(self.truth.version) + 1))
        self.truth = dataclasses.replace(node(), uid=f"uid-{version}", version=version)
        self._wrote.clear()
        self._told.clear()
        self._news()

    # --- what the agent writes ---------------------------------------------------------------

    async def apply(self, edit: Edit) -> None:
        """Write what the Node is not known to say already."""
        assert isinstance(edit, NodeEdit)
        now = asyncio.get_running_loop().time()
        self._calls = [at for at in self._calls if at == now] + [now]
        assert len(self._calls) <= _CALLS_AT_ONCE, "it asks without end"
        if not self._missing(edit):
            self._remember(edit)
            return
        await asyncio.sleep(self.way_s)
        await self.up.wait()
        if self.refused:
            self.refused -= 1
            raise ForbiddenError("patch", "nodes/node-a", "not allowed")
        missing = self._missing(edit)
        if missing:
            self.write(missing)
            self.sent.append((asyncio.get_running_loop().time(), missing, self.truth.annotations))
        self._remember(edit)
        answer = self.truth
        if self.unheard:
            self.unheard -= 1
            raise ForbiddenError("patch", "nodes/node-a", "the answer was lost")
        if self.ack_s:
            await asyncio.sleep(self.ack_s)
        self._take(answer)

    def _missing(self, edit: NodeEdit) -> Annotations:
        known = self.shown.annotations if self.shown is not None and self._live else None
        return {
            key: to for key, to in edit.annotations.items() if known is None or known.get(key) != to
        }

    def _remember(self, edit: NodeEdit) -> None:
        ours = {key: to for key, to in edit.annotations.items() if key not in edit.answered}
        for key, to in ours.items():
            self._wrote[key] = (to, int(self.truth.version))
            self._told.pop(key, None)


def _foreign(key: str, wrote: str | None, found: str | None) -> ForeignEdit:
    field = MetadataField.ANNOTATIONS
    return ForeignEdit(pod=None, field=field, key=key, wrote=wrote, found=found, at_ms=Millis(0))
