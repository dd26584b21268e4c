"""Memory, utilisation and processes of one NPU: ``UsageReader`` on the driver worker."""

from ascend_agent.driver.answers import Reply, address_args, format_place
from ascend_agent.driver.process import DriverWorker
from ascend_agent.model.npu import NpuAddress, NpuProcess, NpuUsage


class DriverUsage:
    """Asks the current worker."""

    def __init__(self, worker: DriverWorker) -> None:
        self._worker = worker

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        """Return memory and utilisation of the chip at *address*."""
        answer = await self._ask("usage", address)
        return NpuUsage(
            memory_mib=answer.number_or_none("memory_mib"),
            memory_used_mib=answer.number_or_none("memory_used_mib"),
            ai_core_percent=answer.number_or_none("ai_core_percent"),
            vector_percent=answer.number_or_none("vector_percent"),
            npu_percent=answer.number_or_none("npu_percent"),
        )

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        """Return the host processes that hold memory of the chip at *address*."""
        answer = await self._ask("processes", address)
        processes = []
        for row in answer.items("processes"):
            match row:
                case [int(pid), int(memory)]:
                    processes.append(NpuProcess(pid=pid, memory_bytes=memory))
                case _:
                    raise answer.malformed("processes")
        return tuple(processes)

    async def _ask(self, op: str, address: NpuAddress) -> Reply:
        fields = await self._worker.call(address.lane, op, *address_args(address))
        return Reply(fields, op=op, where=format_place(address))
