"""Lines come out whole, however the stream was cut; one above the cap is thrown away (AP-4)."""

from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.cluster.lines import Lines


def test_a_line_may_come_in_pieces() -> None:
    lines = Lines(limit=100)

    assert lines.feed(b'{"a"') == []
    assert lines.feed(b":1}\n\n{") == [b'{"a":1}']
    assert lines.feed(b"}\n") == [b"{}"]


def test_a_line_above_the_cap_is_skipped_and_the_next_one_is_read() -> None:
    lines = Lines(limit=4)

    assert lines.feed(b"12345") == []
    assert lines.feed(b"678\n1234\n12345\nok\n") == [b"1234", b"ok"]
    assert lines.skipped == 2


@given(
    st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=8),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_how_the_stream_is_cut_changes_nothing(texts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(text + b"\n" for text in texts)
    lines, found, start = Lines(limit=8), list[bytes](), 0
    for cut in [*sorted(cuts), len(stream)]:
        found += lines.feed(stream[start:cut])
        start = max(start, cut)

    assert found == [text for text in texts if text and len(text) <= 8]
    assert lines.skipped == sum(len(text) > 8 for text in texts)
