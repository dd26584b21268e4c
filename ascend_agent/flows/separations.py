"""What is published of isolation, and what others do to it; one part of ``update_annotations``.

Decided here: when isolation may be published at all, and when an edit is an operator's. Nothing is
published before what an earlier agent left, in its file and on the Node, was held against each
other; else the first report would undo what operators did while no agent looked. And nothing is
while the node's health has not yet followed an edit; else the report would take it back.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ascend_agent.bus import Bus
from ascend_agent.errors import LaggedError, StaleEditError
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.published import separated
from ascend_agent.faults.recall import recall, released, texts
from ascend_agent.interfaces import SchedulerDialect
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import Edit, ForeignEdit, MetadataField, NodeEdit, NodeObject
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import DeviceName, Millis, PhyId, format_device_name
from ascend_agent.model.isolation import (
    Isolation,
    IsolationTexts,
    OperatorEdit,
    PublishedIsolation,
    Restored,
)
from ascend_agent.model.npu import Npu
from ascend_agent.model.versions import is_newer
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_FOLLOW_MS = 1_000
"""Health follows within milliseconds; what it does not take up at all is given up after this."""
_STALE_MS = 60_000
"""A view of the Node that stays so long behind what was seen before is no view that is late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Awaited:
    """What the isolation must show before it may be published; waited for *until* then."""

    released: frozenset[PhyId] = frozenset()
    restored: frozenset[PhyId] = frozenset()
    until: Millis

    def shown_by(self, isolation: Isolation) -> bool:
        return not (self.released & separated(isolation)) and (
            self.restored <= isolation.npus.keys()
        )


class Separations:
    """Knows what is to be published of isolation, and tells what operators released."""

    def __init__(
        self,
        *,
        dialect: SchedulerDialect,
        specs: Mapping[str, ChipSpec],
        bus: Bus,
        operator: Publisher[OperatorEdit | Restored],
        published: LatestWriter[PublishedIsolation],
        wakeup: Wakeup,
    ) -> None:
        self._dialect = dialect
        self._specs = specs
        self._bus = bus
        self._operator = operator
        self._published = published
        self._restored = bus.restored.subscribe(wakeup)
        self._inputs = (bus.isolation, bus.fault_config)
        for channel in self._inputs:
            channel.attach(wakeup)
        self._remembered: Restored | None = None
        self._compared = False
        self._compared_with: PublishedIsolation | None = None
        self._stale_until: Millis | None = None
        self._awaited: _Awaited | None = None
        self._shown: PublishedIsolation | None = None

    @property
    def version(self) -> int:
        """What changes with the inputs that are not in the view."""
        return sum(channel.version for channel in self._inputs) + self._bus.restored.published

    def take(self, edit: ForeignEdit, now: Millis) -> bool:
        """Return whether somebody released NPUs by *edit*, having told so."""
        if not self._dialect.is_release(edit):
            return False
        npus = released(wrote=edit.wrote or "", found=edit.found or "")
        self._release(npus, now, "edited")
        return bool(npus)

    def overtaken(self, edit: Edit, stale: StaleEditError, now: Millis) -> None:
        """Take in that somebody changed a key before *edit* was written; it may be a release."""
        if not isinstance(edit, NodeEdit):
            return
        before = ForeignEdit(
            pod=None,
            field=MetadataField.ANNOTATIONS,
            key=stale.key,
            wrote=edit.expects.get(stale.key),
            found=stale.found,
            at_ms=now,
        )
        self.take(before, now)

    def acknowledged(self, edit: Edit) -> None:
        """Take in that *edit* was written: from then on others' changes are told to us."""
        if isinstance(edit, NodeEdit) and edit.expects:
            self._compared_with = None

    def compare(self, node: NodeObject, now: Millis) -> None:
        """Hold what an earlier agent remembered against the Node, once for each memory."""
        self._hear()
        remembered = self._remembered
        if remembered is None:
            return
        if self._compared:
            self._look_again(node, now)
            return
        said = self._dialect.isolation_said(node)
        before = remembered.published
        if before is not None and before.uid == said.uid and is_newer(before.version, said.version):
            if self._stale_until is None:
                self._stale_until = Millis(now + _STALE_MS)
            if now < self._stale_until:
                return
            remembered = replace(remembered, published=None)
        self._compared, self._stale_until = True, None
        self._compared_with = said
        recalled = recall(remembered, said, now=now)
        if recalled.passed_over:
            log.warning(
                "published isolation not understood", extra={"why": "; ".join(recalled.passed_over)}
            )
        if recalled.isolation.npus:
            npus = sorted(recalled.isolation.npus)
            log.info("isolation taken from the node object", extra={"npus": npus})
            self._operator.publish(Restored(isolation=recalled.isolation, source="node object"))
        restored = remembered.isolation.npus.keys() | recalled.isolation.npus.keys()
        self._awaited = _Awaited(
            restored=frozenset(restored - recalled.released), until=Millis(now + _FOLLOW_MS)
        )
        self._release(recalled.released, now, "edited while no agent ran")

    def wanted(
        self, view: NodeView, node: NodeObject, now: Millis
    ) -> tuple[IsolationTexts | None, Millis | None]:
        """Return what is to be published, None if nothing may be yet; and when to ask again."""
        isolation = self._bus.isolation.value
        if not self._compared or isolation is None or not view.npus:
            return None, self._stale_until
        awaited = self._awaited
        if awaited is not None and now < awaited.until and not awaited.shown_by(isolation):
            return None, awaited.until
        self._awaited = None
        said = self._dialect.isolation_said(node)
        config = self._bus.fault_config.value
        wanted = texts(
            isolation,
            names=self._names(view, isolation),
            catalog=config.rules.catalog if config else CATALOG,
            said=said.texts,
        )
        if said.texts == wanted:
            self._note_published(said)
        return wanted, None

    def _look_again(self, node: NodeObject, now: Millis) -> None:
        """Hear of an edit before our first report is acknowledged: nobody else tells of it yet.

        Names may go by that very report, too, or by an edit of which we were told as well.
        """
        before = self._compared_with
        if before is None:
            return
        said = self._dialect.isolation_said(node)
        if before.uid != said.uid:
            return
        self._compared_with = said
        gone = released(wrote=before.texts.separated, found=said.texts.separated)
        isolation = self._bus.isolation.value
        if isolation is not None:
            gone &= separated(isolation)
        if self._awaited is not None:
            gone -= self._awaited.released
        self._release(gone, now, "edited")

    def _hear(self) -> None:
        try:
            heard = self._restored.drain()
        except LaggedError:
            return  # some come at the start, and no more
        if heard:
            self._remembered, self._compared = heard[-1], False
            self._shown = self._shown or heard[-1].published

    def _release(self, npus: frozenset[PhyId], now: Millis, why: str) -> None:
        if not npus:
            return
        log.info("npus released by hand", extra={"npus": sorted(npus), "why": why})
        self._operator.publish(OperatorEdit(released=npus))
        awaited = self._awaited or _Awaited(until=now)
        self._awaited = replace(
            awaited, released=awaited.released | npus, until=Millis(now + _FOLLOW_MS)
        )

    def _names(self, view: NodeView, isolation: Isolation) -> Mapping[PhyId, str]:
        """Return the names of the isolated; one that is not seen yet has its neighbours' word."""
        phys = [phy for phy, kept in isolation.npus.items() if kept.upgrades]
        if not phys:
            return {}  # asked at each change of health: the usual case is cheap
        npus = {each.npu.phy: each.npu for each in view.npus}
        words = {phy: self._word(npus.get(phy, view.npus[0].npu)) for phy in phys}
        return {phy: format_device_name(DeviceName(words[phy], phy, None)) for phy in phys}

    def _word(self, npu: Npu) -> str:
        return self._dialect.word_of(npu, self._specs[npu.generation])

    def _note_published(self, said: PublishedIsolation) -> None:
        """Remember that the API server shows what it should; a mere new version is no news."""
        before = self._shown
        if before is None or replace(before, version=said.version) != said:
            self._shown = said
            self._published.put(said)
