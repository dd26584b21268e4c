"""Inventory → CDI specification file: what ``ascend-agent/npu=N`` means to the container runtime.

Only where containers get their NPUs by CDI. Written when the set of NPUs changes and looked over
slowly, since driver files on the host come and go without a sign; kept on exit, because running
pods may be restarted while the agent is away.
"""

import asyncio
import logging

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError
from ascend_agent.flows.offers import SpecOf
from ascend_agent.injection import cdi
from ascend_agent.injection.resolve import paths, resolve
from ascend_agent.interfaces import CdiWriter, HostFiles
from ascend_agent.model.allocation import Refused
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_CHECK_S = 30.0


class WriteCdiSpec:
    """Keeps the CDI specification current."""

    def __init__(self, *, bus: Bus, host: HostFiles, writer: CdiWriter, spec_of: SpecOf) -> None:
        self._bus = bus
        self._host = host
        self._writer = writer
        self._spec_of = spec_of
        self._trouble = ""

    async def run(self) -> None:
        """Follow the inventory for ever."""
        wakeup = Wakeup()
        self._bus.inventory.attach(wakeup)
        try:
            while True:
                inventory = await self._bus.inventory.first()
                if inventory.npus:
                    await self._write([(npu, self._spec_of(npu)) for npu in inventory.npus])
                await wakeup.wait(asyncio.get_running_loop().time() + _CHECK_S)
        finally:
            self._bus.inventory.detach(wakeup)

    async def _write(self, npus: list[tuple[Npu, ChipSpec]]) -> None:
        wants = cdi.common_wants(npus, base_mounts=await self._host.base_mounts())
        existing = await self._host.existing(paths(wants))
        entries = {want.path: await self._host.entries(want) for want in wants.directories}
        common = resolve(wants, existing=existing, entries=entries, npus=())
        if isinstance(common, Refused):
            self._report(common.detail)
            return
        try:
            written = await self._writer.write(cdi.document(npus, common))
        except HostError as error:
            self._report(str(error))
            return
        self._report("")
        if written:
            log.info("cdi specification written", extra={"npus": len(npus)})

    def _report(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("cdi specification not written", extra={"why": trouble})
        self._trouble = trouble
