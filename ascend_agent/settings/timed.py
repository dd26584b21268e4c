"""What every step of a scenario, and every expectation, has in common: a time, codes, NPUs."""

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

LONGEST_S = 1_000_000

_CODE = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,9})")
_LARGEST_CODE = 0xF_FFFF_FFFF  # nine hex digits: the vendor's synthetic codes exceed 32 bits


def _parse_code(value: object) -> int:
    """Return a fault code from hex text as the vendor's documents print it, or from a number."""
    if isinstance(value, str) and (match := _CODE.fullmatch(value.strip())):
        value = int(match[1], 16)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_CODE:
        return value
    raise PydanticCustomError(
        "fault_code", "is no fault code; write one to nine hex digits, such as 80E01801"
    )


Code = Annotated[int, BeforeValidator(_parse_code)]
Index = Annotated[int, Field(ge=0)]


class Timed(BaseModel):
    """One entry of a scenario."""

    # Built when the first entry is read: an agent on real NPUs reads none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    at_s: float = Field(ge=0, le=LONGEST_S, description="seconds after the node's start instant")


def require_one(entry: BaseModel, choice: tuple[str, ...]) -> None:
    """Refuse *entry* unless exactly one of these keys is given."""
    if sum(getattr(entry, name) is not None for name in choice) != 1:
        raise PydanticCustomError(
            "scenario", "must have exactly one of {names}; keep one", {"names": ", ".join(choice)}
        )
