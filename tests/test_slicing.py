from ascend_agent.slicing import find_modes
from tests.test_chips import files


def test_every_file_is_found_and_no_name_is_there_twice() -> None:
    """A new mode is a new file: nothing else lists them."""
    modes = find_modes()

    assert {"whole", "shared"} <= modes.keys()
    assert len(modes) == len(files("slicing"))
    assert all(mode.name == name for name, mode in modes.items())
