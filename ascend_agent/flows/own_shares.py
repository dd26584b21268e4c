"""Device-share flags that this agent has switched on, and how they are taken back (HAMi E13).

Only those, and only of cards that nobody uses: a container would lose its NPU to the next one that
opens it. Who may use one is looked for in the pods' own grants: an account by NPU knows a card that
answers late only some seconds after it is here. When all this is due is decided in
``flows/enable_shares``.
"""

import asyncio
import logging
from collections.abc import Sequence

from ascend_agent.dialects.hami.grants import used
from ascend_agent.errors import DriverError, DriverUnavailableError, HostError
from ascend_agent.interfaces import ShareRecord, ShareSwitch, UsageReader
from ascend_agent.model.ids import CardId, DieId
from ascend_agent.model.npu import Inventory, Npu, NpuAddress
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.latest import Latest

log = logging.getLogger(__name__)


class OwnShares:
    """Keeps the record of our flags, and takes them back."""

    def __init__(self, *, switch: ShareSwitch, processes: UsageReader, record: ShareRecord) -> None:
        self.switch = switch
        self._processes = processes
        self._record = record
        self._dies: frozenset[DieId] = frozenset()
        self._recorded: frozenset[DieId] | None = None  # None: the record was not read yet
        self._turn = asyncio.Lock()
        self._trouble = ""
        self._tried = False
        self._refused: dict[DieId, str] = {}

    def begin(self) -> None:
        """Let a record that failed be tried again; between two of these it is not."""
        self._tried = False

    async def note(self, npu: Npu) -> None:
        """Note that sharing is about to be switched on for *npu*.

        Before it is: a crash in between must not leave a flag that nobody takes back. A record
        that can't be kept does not keep NPUs from being shared.
        """
        if npu.identity.die is not None:
            self._dies |= {npu.identity.die}
            await self._keep()

    async def release(self, inventory: Inventory, pods: Latest[Pods]) -> bool:
        """Take our flags back where nobody uses the NPU; return whether no listed one has any.

        Nobody does only by *pods* as they are: none yet, or an old view, say nothing.
        """
        await self._keep()
        left = False
        for npu in inventory.npus:
            die = npu.identity.die
            if die is None or die not in self._dies or npu.address is None:
                continue
            if await self._taken_back(npu, npu.address, inventory, pods):
                self._dies -= {die}
            else:
                left = True
        await self._keep()
        return not left

    async def _taken_back(
        self, npu: Npu, address: NpuAddress, inventory: Inventory, pods: Latest[Pods]
    ) -> bool:
        """Switch sharing off unless somebody uses the card, all of it; return whether it is off."""
        card = _card_of(npu, inventory.npus)
        if address.card in _unclear_cards(inventory) or _may_use(pods.value, card):
            return False
        try:
            for each in card:
                if each.address and await self._processes.read_processes(each.address):
                    return False
            # A driver may take seconds for that: by now somebody may have been given the card.
            if _may_use(pods.value, card):
                return False
            await self.switch.disable_share(address)
        except DriverUnavailableError:
            return False  # said where the worker is kept
        except DriverError as error:
            self._complain(npu, str(error))
            return False
        self._complain(npu, "")
        log.info("device share switched off", extra=npu.names)
        return True

    async def _keep(self) -> None:
        """Have the record say what we know, once it has told what earlier agents knew."""
        async with self._turn:
            if self._recorded == self._dies or self._tried:
                return
            try:
                if self._recorded is None:
                    self._recorded = await self._record.read()
                    self._dies |= self._recorded
                if self._recorded != self._dies:
                    dies = self._dies
                    await self._record.write(dies)
                    self._recorded = dies
            except HostError as error:
                self._tried = True
                if str(error) != self._trouble:
                    log.warning("share record not kept", extra={"why": str(error)})
                self._trouble = str(error)
                return
            if self._trouble:
                log.info("share record kept again")
            self._trouble = ""

    def _complain(self, npu: Npu, why: str) -> None:
        """Log what keeps a flag from being taken back when it starts or changes."""
        die = npu.identity.die
        if die is None or self._refused.get(die, "") == why:
            return
        self._refused[die] = why
        if why:
            log.warning("device share not switched off", extra={**npu.names, "why": why})


def _card_of(npu: Npu, npus: Sequence[Npu]) -> Sequence[Npu]:
    """Return the NPUs of *npu*'s card: the driver has one flag for the dies of a card."""
    card = _place_of(npu).card
    if card is None:
        return (npu,)
    return [each for each in npus if _place_of(each).card == card]


def _may_use(pods: Pods | None, card: Sequence[Npu]) -> bool:
    """Return whether one of *pods* may have an NPU of *card*; True where that can't be told."""
    dies = [each.identity.die for each in card if each.identity.die is not None]
    if pods is None or not pods.live or len(dies) < len(card):
        return True
    return bool(used(pods.pods, dies))


def _unclear_cards(inventory: Inventory) -> frozenset[CardId]:
    """Return the cards with a die of which nobody can tell who has it: hidden, or not read yet."""
    places = [each.address for each in inventory.hidden]
    places += [each.address for each in inventory.unread]
    return frozenset(place.card for place in places if place.card is not None)


def _place_of(npu: Npu) -> NpuAddress:
    """Return where *npu* is; while it is not listed, its last place counts."""
    return npu.address or npu.identity.address
