"""The driver's device-share flag of one NPU: ``DeviceShare`` on the driver worker."""

from ascend_agent.driver.answers import Reply, address_args, format_place
from ascend_agent.driver.dcmi.codes import NOT_SUPPORTED, OK
from ascend_agent.driver.process import DriverWorker
from ascend_agent.model.npu import NpuAddress


class DriverShares:
    """Asks the current worker, which reads the flag back after it set it.

    A flag that is on already is only read: changes take turns on the whole node, so a card that
    hangs in its own would else keep all the others from being found shareable.
    """

    def __init__(self, worker: DriverWorker) -> None:
        self._worker = worker

    async def enable_share(self, address: NpuAddress) -> bool:
        """Return whether several containers can open the chip at *address* now."""
        fields = await self._worker.call(address.lane, "share_read", *address_args(address))
        if fields["rc"] == OK and fields.get("enabled") == 1:
            return True
        fields = await self._worker.call(address.lane, "share_enable", *address_args(address))
        if fields["rc"] == NOT_SUPPORTED:
            return True  # a chip that knows no such flag needs none
        answer = Reply(fields, op="share_enable", where=format_place(address))
        return answer.number("enabled") != 0

    async def read_share(self, address: NpuAddress) -> bool:
        """Return whether several containers can open the chip at *address*; see ``ShareSwitch``."""
        fields = await self._worker.call(address.lane, "share_read", *address_args(address))
        answer = Reply(fields, op="share_read", where=format_place(address))
        return answer.number("enabled") != 0

    async def disable_share(self, address: NpuAddress) -> None:
        """Let one container at a time open the chip at *address*."""
        fields = await self._worker.call(address.lane, "share_disable", *address_args(address))
        if fields["rc"] != NOT_SUPPORTED:
            Reply(fields, op="share_disable", where=format_place(address))
