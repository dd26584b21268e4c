"""Health value and standing codes of one NPU: ``HealthReader`` on the driver worker.

What is decided here: when a chip is lost, and when a query told nothing. What a value or a code
means for the NPU is decided in ``faults``. Source: DCMI API, health poll of a chip.
"""

from collections.abc import Mapping

from ascend_agent.driver.answers import (
    Reply,
    address_args,
    driver_error,
    format_place,
)
from ascend_agent.driver.dcmi.codes import INVALID_ANSWER, NOT_READY
from ascend_agent.driver.process import DriverWorker
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import NpuAddress

_NO_DEVICE = 0xFFFFFFFF
_CRITICAL = 3


class DriverHealth:
    """Asks the current worker."""

    def __init__(self, worker: DriverWorker) -> None:
        self._worker = worker

    async def read_health(self, address: NpuAddress) -> HealthAnswer:
        """Return health and codes of the chip at *address*."""
        fields = await self._worker.call(address.lane, "health", *address_args(address))
        return _parse_health(fields, where=format_place(address))


def _parse_health(fields: Mapping[str, object], *, where: str) -> HealthAnswer:
    answer = Reply(fields, op="health", where=where)
    codes_rc, health_rc = answer.number("codes_rc"), answer.number("health_rc")
    codes = _parse_codes(answer) if codes_rc == 0 else None
    health = answer.number("health") if health_rc == 0 else None
    whose = answer.number_or_none("phy")
    phy = None if whose is None else PhyId(whose)
    if health_rc == NOT_READY or health == _NO_DEVICE:
        rc = health_rc or NOT_READY
        return HealthAnswer(health=None, lost=True, codes=codes, rc=rc, phy=phy)
    if health is not None and not 0 <= health <= _CRITICAL:
        # The driver presets 4, "unknown": it could not read its own chip. That query has failed.
        health, health_rc = None, INVALID_ANSWER
    if health is None and codes is None:
        raise driver_error(health_rc, call="health", where=where, detail=f"codes: {codes_rc}")
    return HealthAnswer(health=health, lost=False, codes=codes, rc=codes_rc or health_rc, phy=phy)


def _parse_codes(answer: Reply) -> frozenset[FaultCode]:
    codes = set()
    for code in answer.items("codes"):
        if not isinstance(code, int):
            raise answer.malformed("codes")
        if code:  # Quirk: unused entries of the driver's list are zero
            codes.add(FaultCode(code))
    return frozenset(codes)
