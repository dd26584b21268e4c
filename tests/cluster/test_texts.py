"""Foreign words are cut and stay on one line."""

import pytest

from ascend_agent.cluster.texts import shown


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("short", "short"),
        ("a\nb\x1b[2J", "a?b?[2J"),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 7 + "..."),
    ],
)
def test_a_text_is_one_line_of_limited_length(text: str, wanted: str) -> None:
    assert shown(text, limit=10) == wanted
