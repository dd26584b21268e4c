"""A worker's answer, read with care: it comes from a process that runs foreign code.

What is decided here: which typed error a return code becomes, and that an answer of the wrong
shape is an error of the driver, never of ours. What the values mean is decided by the adapters.
"""

from collections.abc import Mapping, Sequence

from ascend_agent.driver.dcmi import codes
from ascend_agent.errors import DriverBusyError, DriverError, NotSupportedError, NpuLostError
from ascend_agent.model.npu import NpuAddress

_MALFORMED = -1
_SHOWN = 80

_UNPLACED = -1
"""Card and slot of a chip that is addressed by logic id alone."""


class Reply:
    """The fields of one answer, each read as the type it must have.

    Making one raises the error that the return code stands for; reading a field raises
    DriverError where it is missing or of another type.
    """

    def __init__(self, fields: Mapping[str, object], *, op: str, where: str) -> None:
        self._fields = fields
        self._op = op
        self._where = where
        code = self.number("rc")
        if code != 0:
            call, detail = fields.get("call"), fields.get("detail")
            raise driver_error(code, call=str(call or op), where=where, detail=str(detail or ""))

    def number(self, name: str) -> int:
        """Return a whole number."""
        value = self._fields.get(name)
        if not isinstance(value, int):
            raise self.malformed(name)
        return value

    def number_or_none(self, name: str) -> int | None:
        """Return a whole number, or None where the chip does not tell."""
        return None if self._fields.get(name) is None else self.number(name)

    def text(self, name: str) -> str:
        """Return a text."""
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise self.malformed(name)
        return value

    def text_or_none(self, name: str) -> str | None:
        """Return a text, or None where the chip does not tell."""
        return None if self._fields.get(name) is None else self.text(name)

    def items(self, name: str) -> Sequence[object]:
        """Return a list."""
        value = self._fields.get(name)
        if not isinstance(value, list):
            raise self.malformed(name)
        return value

    def malformed(self, name: str) -> DriverError:
        """Return the error for a field that isn't what it should be."""
        shown = repr(self._fields.get(name))[:_SHOWN]
        return DriverError(self._op, _MALFORMED, self._where, f"malformed {name}: {shown}")


def driver_error(code: int, *, call: str, where: str, detail: str = "") -> DriverError:
    """Return the error that says what a caller can do about return code *code*.

    Without a *detail* its text says in words what the code means: few know the numbers (IM-3).
    """
    kind = DriverError
    if code in codes.LOST:
        kind = NpuLostError
    elif code in codes.ABSENT:
        kind = NotSupportedError
    elif code in codes.BUSY:
        kind = DriverBusyError
    return kind(call, code, where, detail or codes.describe(code))


def format_place(address: NpuAddress) -> str:
    """Return how people find the chip again in the driver's own tools."""
    if address.card is None:
        return f"logic id {address.logic}"
    return f"card {address.card} chip {address.slot}"


def address_args(address: NpuAddress) -> tuple[int, int, int]:
    """Return the address as operations take it: card, slot, logic id."""
    card = _UNPLACED if address.card is None else address.card
    slot = _UNPLACED if address.slot is None else address.slot
    return card, slot, address.logic
