import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ascend_agent.errors import BadMessageError
from ascend_agent.kubelet.wire import Kind, Shape, check, fields, format_field
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google

SHAPE: Shape = {1: Kind.TEXT, 2: {1: Kind.TEXT}, 3: Kind.NUMBER}


def test_fields_come_in_their_order_with_their_values() -> None:
    data = bytes.fromhex("0a01611896012101020304050607082d01020304")

    assert list(fields(data)) == [
        (1, b"a"),
        (3, 150),
        (4, bytes(range(1, 9))),
        (5, bytes(range(1, 5))),
    ]


@given(st.binary(max_size=300))
@example(b"x" * 127)
@example(b"x" * 128)  # from here on the length takes two bytes, and from 16,384 on three
@example(b"x" * 300)
@example(b"x" * 16_384)
def test_a_formatted_field_is_read_back(value: bytes) -> None:
    assert list(fields(format_field(1, value))) == [(1, value)]


@given(st.lists(st.text("a7-\u00e9\u4f60\U0001f916\0", max_size=40)))
def test_a_formatted_field_is_what_protobuf_writes(ids: list[str]) -> None:
    ours = b"".join(format_field(1, text.encode()) for text in ids)

    assert ours == google.ContainerAllocateRequest(devices_ids=ids).SerializeToString()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("0a05616263", "field 1 claims 5 bytes, 3 are left"),
        ("0a", "a number has no end"),
        ("0affffffffffffffffffffff", "a number has no end"),
        ("80", "a number has no end"),
        ("2101", "field 4 claims 8 bytes, 1 are left"),
        ("2d01", "field 5 claims 4 bytes, 1 are left"),
        ("0b0c", "field 1 has wire type 3"),
        ("0e", "field 1 has wire type 6"),
        ("0200", "no field can have the number 0"),
        ("8080808080010101", "no field can have the number"),
    ],
)
def test_what_is_no_protobuf_is_refused(data: str, text: str) -> None:
    """The generated decoder accepts a cut string short, and stray groups."""
    with pytest.raises(BadMessageError, match=text):
        list(fields(bytes.fromhex(data)))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        seen = check(data, SHAPE)
    except BadMessageError:
        return
    assert seen >= len(list(fields(data)))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("0801", "field 1 is no text"),
        ("0a02c328", "field 1 is no UTF-8"),
        ("1001", "field 2 is no message"),
        ("12020801", "field 1 is no text"),
        ("12030a0561", "field 1 claims 5 bytes"),
        ("1a0161", "field 3 is no number"),
    ],
)
def test_a_known_field_of_another_kind_is_refused(data: str, text: str) -> None:
    """The generated decoder puts whatever comes into the field."""
    with pytest.raises(BadMessageError, match=text):
        check(bytes.fromhex(data), SHAPE)


def test_a_field_of_a_newer_peer_may_be_anything() -> None:
    assert check(bytes.fromhex("0a01617a02c3287801"), SHAPE) == 3


def test_a_flood_of_fields_is_refused_wherever_it_is() -> None:
    """4 MiB of two-byte fields would hold up the loop for seconds."""
    flood = b"\x78\x00" * 20_001

    with pytest.raises(BadMessageError, match="more than 20000 fields"):
        check(flood, SHAPE)
    with pytest.raises(BadMessageError, match="more than 20000 fields"):
        check(format_field(2, flood), SHAPE)
    with pytest.raises(BadMessageError, match="more than 20000 fields"):
        check(format_field(2, flood[:16_000]) * 3, SHAPE)
