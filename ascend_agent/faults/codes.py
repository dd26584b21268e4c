"""Fault codes as text: what is one, and how it is written so that it can be compared.

Codes of chips are hex without a prefix and are matched as numbers, so that a leading zero or the
case of a digit never decides (D30); how they were spelled is kept beside them, for whoever shows
them. Codes of switches are texts of four parts. Which level a code has is decided in ``catalog``.
"""

import re
from typing import Final

from ascend_agent.model.fault import FaultCode

_CODE: Final = re.compile(r"[0-9A-Fa-f]{1,16}")
_HIGHEST: Final = 1 << 63
_PARTS: Final = 4
_LONGEST_SWITCH_TEXT: Final = 50
_ALARM: Final = re.compile(r"0[xX][0-9A-Fa-f]{1,8}")


def parse_code(text: str) -> FaultCode | None:
    """Return the code that *text* names in hex without a prefix, None where it names none."""
    if not _CODE.fullmatch(text):
        return None
    number = int(text, 16)
    return FaultCode(number) if 0 < number < _HIGHEST else None


def parse_switch_text(text: str) -> str | None:
    """Return *text* as the agent itself writes it, None where it is no text of a switch fault.

    ``[<alarm id>,<fault id>,<peer>,<port>]``, such as ``[0x08520003,na,L2,na]``. An alarm id in
    hex gets its eight digits in lower case, blanks around a part are dropped.
    """
    if len(text) > _LONGEST_SWITCH_TEXT or not (text.startswith("[") and text.endswith("]")):
        return None
    alarm, *rest = (part.strip() for part in text[1:-1].split(","))
    if len(rest) != _PARTS - 1:
        return None
    if _ALARM.fullmatch(alarm):
        alarm = f"0x{int(alarm, 16):08x}"
    return f"[{','.join((alarm, *rest))}]"
