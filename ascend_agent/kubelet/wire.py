"""Takes protobuf bytes apart without trusting them.

Decided here: whether bytes are well formed, and where one field ends. The generated decoder is
lenient (a cut string is accepted short, a wrong wire type lands in the field as it is), so what
comes from outside is checked against a shape first. What the fields mean is left to ``codec``.
"""

from collections.abc import Iterator, Mapping
from enum import Enum

from ascend_agent.errors import BadMessageError

_VARINT_BYTES = 10
_MOST_FIELDS = 20_000  # 4 MiB of the smallest fields would hold up the loop for seconds
_LARGEST_TAG = 2**32  # a field number has at most 29 bits, the wire type 3 more


class Kind(Enum):
    """How a scalar field travels."""

    NUMBER = "number"
    TEXT = "text"


Shape = Mapping[int, "Kind | Shape"]
"""The known fields of a message by number; a nested message has a shape of its own."""

_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield each field's number and value: an int for a varint, bytes for what has a length.

    Fixed-width values, which no message of the kubelet has, come as bytes as well.

    Raises:
        BadMessageError: the bytes are cut, or no protobuf.

    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if number == 0 or tag >= _LARGEST_TAG:
            raise BadMessageError(f"malformed protobuf: no field can have the number {number}")
        if wire_type == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if wire_type == _LENGTH:
            size, at = _read_varint(data, at)
        elif wire_type in {_FIXED_64, _FIXED_32}:
            size = 8 if wire_type == _FIXED_64 else 4
        else:
            raise BadMessageError(f"malformed protobuf: field {number} has wire type {wire_type}")
        if size > end - at:
            raise BadMessageError(
                f"malformed protobuf: field {number} claims {size} bytes, {end - at} are left"
            )
        yield number, data[at : at + size]
        at += size


def check(data: bytes, shape: Shape, *, most: int = _MOST_FIELDS) -> int:
    """Make sure that *data* is well formed and each known field is of its kind.

    Fields that *shape* does not name may be anything well formed: a newer peer may send them.
    Returns how many fields there are in all; more than *most* are not looked at.

    Raises:
        BadMessageError: something is not, or there are too many fields.

    """
    seen = 0
    for number, value in fields(data):
        seen += 1
        kind = shape.get(number)
        if isinstance(kind, Mapping):
            if not isinstance(value, bytes):
                raise BadMessageError(f"malformed protobuf: field {number} is no message")
            seen += check(value, kind, most=most - seen)
        elif kind is not None:
            _check_scalar(number, kind, value)
        if seen > most:
            raise BadMessageError(f"the message has more than {_MOST_FIELDS} fields")
    return seen


def format_field(number: int, value: bytes) -> bytes:
    """Return the bytes of one field with a length: tag, length, value."""
    if number < 0x10 and len(value) < 0x80:  # noqa: PLR2004 -- one byte each; nearly every field
        return bytes((number << 3 | _LENGTH, len(value))) + value
    return _format_varint(number << 3 | _LENGTH) + _format_varint(len(value)) + value


def _check_scalar(number: int, kind: Kind, value: int | bytes) -> None:
    if kind is Kind.NUMBER:
        if not isinstance(value, int):
            raise BadMessageError(f"malformed protobuf: field {number} is no number")
        return
    if not isinstance(value, bytes):
        raise BadMessageError(f"malformed protobuf: field {number} is no text")
    try:
        value.decode()
    except UnicodeDecodeError as error:
        raise BadMessageError(f"malformed protobuf: field {number} is no UTF-8") from error


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # noqa: PLR2004 -- the top bit says whether another byte follows
            return value, at + index + 1
    raise BadMessageError("malformed protobuf: a number has no end")


def _format_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:  # noqa: PLR2004 -- as above
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
