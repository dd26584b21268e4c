from ascend_agent.kubelet.texts import shown


def test_a_short_text_is_shown_as_it_is() -> None:
    assert shown("Ascend910-7") == "Ascend910-7"
    assert shown("x" * 80) == "x" * 80


def test_a_long_text_is_cut_and_shows_it() -> None:
    """Ids and names come from outside and end up in pod events."""
    assert shown("x" * 81) == "x" * 77 + "..."
    assert shown("abcdefgh", limit=5) == "ab..."


def test_nothing_shown_breaks_a_line_or_moves_a_cursor() -> None:
    assert shown("a\nb\x1b[2Jc\x00") == "a?b?[2Jc?"
