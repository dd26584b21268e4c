import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.driver.frames import LIMIT, BrokenFrameError, Splitter, pack

_TEXTS = st.text('a0 "\\\n{\u00e9\U0001f600', max_size=8)
_VALUES = st.none() | st.integers() | _TEXTS | st.lists(st.integers(), max_size=3)


@settings(database=None, deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(_TEXTS, _VALUES, max_size=4), max_size=5), st.integers(1, 40))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    frames: list[dict[str, object]], piece: int
) -> None:
    stream = b"".join(pack(frame) for frame in frames)
    splitter = Splitter()

    found = []
    for at in range(0, len(stream), piece):
        found += splitter.feed(stream[at : at + piece])

    assert found == frames


def test_a_frame_is_its_length_and_compact_json() -> None:
    """The wire is fixed: another program may stand at either end."""
    assert pack({"id": 7, "args": [1, None]}) == b'\x00\x00\x00\x18{"id":7,"args":[1,null]}'


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack(">I", LIMIT + 1),
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x02{]",
        b"\x00\x00\x00\x01\xff",
        struct.pack(">I", 100_000) + b"[" * 100_000,
        struct.pack(">I", 9_999) + b"1" * 9_999,
    ],
    ids=["too long", "a list", "no json", "no text", "nested too deeply", "an endless number"],
)
def test_what_is_no_frame_is_refused(stream: bytes) -> None:
    """The worker runs foreign code: whatever comes must end in one known error."""
    with pytest.raises(BrokenFrameError):
        Splitter().feed(stream)


def test_an_oversize_frame_is_refused_before_its_body_is_read() -> None:
    """A length of gigabytes must not make the agent collect gigabytes."""
    with pytest.raises(BrokenFrameError, match="at most"):
        Splitter().feed(b"\xff\xff\xff\xff")
