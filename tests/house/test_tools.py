"""The tools that write documents read what they should and say where they can't."""

from pathlib import Path

import pytest

from tools.docs.channels import channels
from tools.docs.messages import Call, calls, sections
from tools.docs.pages import block_names, fill, table

_PAGE = "before\n<!-- generated: one -->\nold\n<!-- end -->\nafter\n"


def test_a_block_is_replaced_and_the_prose_around_it_stays() -> None:
    filled = fill(_PAGE, {"one": "new"})

    assert filled == "before\n<!-- generated: one -->\n\nnew\n\n<!-- end -->\nafter\n"
    assert fill(filled, {"one": "new"}) == filled
    assert block_names(filled) == ("one",)


def test_a_block_without_a_source_is_refused() -> None:
    with pytest.raises(KeyError, match="one"):
        fill(_PAGE, {})


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert table(("a",), [("x|y",)]).splitlines()[-1] == r"| x\|y |"


def test_log_calls_are_found_with_their_level_and_others_are_not(tmp_path: Path) -> None:
    """``parser.error`` is argparse's and ends the program; it is no log line."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package/module.py").write_text(
        'log.warning("card is late", extra={})\n'
        'self._log.exception("card is lost")\n'
        'log.error(f"card {number}")\n'
        'log.info("card is back")\n'
        'parser.error("no")\n'
    )

    assert list(calls(tmp_path / "package")) == [
        Call(phrase="card is late", level="warning", place="package/module.py:1"),
        Call(phrase="card is lost", level="error", place="package/module.py:2"),
        Call(phrase=None, level="error", place="package/module.py:3"),
    ]


def test_the_sentences_of_a_field_are_joined(tmp_path: Path) -> None:
    (tmp_path / "area.md").write_text(
        "### card is late\nLevel: warning\nMeaning: One.\nMeaning: Two.\nCheck: 3.\nAction: 4.\n"
    )

    (section,) = sections(tmp_path)

    assert section.phrase == "card is late"
    assert section.level == "warning"
    assert dict(section.fields)["Meaning"] == "One. Two."


@pytest.mark.parametrize(
    "body",
    [
        "Level: warning\nMeaning: One.\nCheck: Two.\n",
        "Meaning: One.\nLevel: warning\nCheck: Two.\nAction: Three.\n",
    ],
    ids=["a field is missing", "a field is misplaced"],
)
def test_a_section_without_its_four_fields_is_named(tmp_path: Path, body: str) -> None:
    (tmp_path / "area.md").write_text(f"### card is late\n{body}")

    with pytest.raises(ValueError, match=r"area\.md: card is late"):
        sections(tmp_path)


def test_every_channel_of_the_bus_is_read() -> None:
    found = {channel.name: channel for channel in channels()}

    assert found["faults"].kind == "Topic"
    assert found["faults"].carries == "FaultNotice"
    assert found["node"].kind == "Latest"
    assert found["node"].writer == "fold-health"
    assert found["serving"].each == "ResourceName"
