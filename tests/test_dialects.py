from ascend_agent.dialects import find_dialects
from tests.test_chips import files


def test_every_file_is_found_and_no_name_is_there_twice() -> None:
    """A new dialect is a new file: nothing else lists them. Four files serve them all."""
    dialects = find_dialects()

    assert "plain" in dialects
    serving = {"placement", "node_labels", "node_annotations", "dpu_report"}
    assert len(dialects) == len(files("dialects") - serving)
    assert all(dialect.name == name for name, dialect in dialects.items())
