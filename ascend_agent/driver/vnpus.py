"""The vNPUs of one NPU: ``VnpuReader`` and ``VnpuRemover`` on the driver worker."""

import asyncio

from ascend_agent.driver.answers import Reply, address_args, format_place
from ascend_agent.driver.dcmi.codes import ABSENT, NOT_PERMITTED
from ascend_agent.driver.process import DriverWorker
from ascend_agent.errors import DriverError
from ascend_agent.model.npu import NpuAddress
from ascend_agent.model.vnpu import Vnpu, VnpuId

_TRIES = 3
_PAUSE_S = 1.0


class DriverVnpus:
    """Asks the current worker.

    Health readings need no gate of their own: a change takes its turn with them on the lane of its
    card, and the deadline of a reading does not begin before its turn.
    """

    def __init__(self, worker: DriverWorker) -> None:
        self._worker = worker

    async def read_vnpus(self, address: NpuAddress) -> tuple[Vnpu, ...]:
        """Return the vNPUs of the chip at *address*; one that can't be cut has none."""
        fields = await self._worker.call(address.lane, "vnpus_read", *address_args(address))
        if fields["rc"] in ABSENT:
            return ()
        answer = Reply(fields, op="vnpus_read", where=format_place(address))
        found = []
        for row in answer.items("vnpus"):
            match row:
                case [int(vnpu), str(template), int(opened), int(container)]:
                    found.append(
                        Vnpu(
                            vnpu=VnpuId(vnpu),
                            template=template,
                            opened=opened != 0,
                            container=container,
                        )
                    )
                case _:
                    raise answer.malformed("vnpus")
        return tuple(sorted(found, key=lambda each: each.vnpu))

    async def destroy_vnpu(self, address: NpuAddress, vnpu: VnpuId) -> None:
        """Destroy one vNPU: up to three tries a second apart, between which the lane is free."""
        for left in reversed(range(_TRIES)):
            try:
                await self._destroy(address, vnpu)
            except DriverError as error:
                # In use by now, lost, hung, not supported, not permitted: no second try helps.
                if type(error) is not DriverError or error.code == NOT_PERMITTED or not left:
                    raise
                await asyncio.sleep(_PAUSE_S)
            else:
                return

    async def _destroy(self, address: NpuAddress, vnpu: VnpuId) -> None:
        args = (*address_args(address), int(vnpu))
        fields = await self._worker.call(address.lane, "vnpus_destroy", *args)
        Reply(fields, op="vnpus_destroy", where=format_place(address))
