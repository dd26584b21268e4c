from ascend_agent.dialects import find_dialects
from tests.test_chips import files


def test_every_file_is_found_and_no_name_is_there_twice() -> None:
    """A new dialect is a new file: nothing else lists them. ``placement`` is none."""
    dialects = find_dialects()

    assert "plain" in dialects
    assert len(dialects) == len(files("dialects") - {"placement"})
    assert all(dialect.name == name for name, dialect in dialects.items())
