import pytest

from ascend_agent.slicing import load_mode


@pytest.mark.parametrize("name", ["whole", "shared", "by-die"])
def test_a_mode_is_found_by_its_name(name: str) -> None:
    assert load_mode(name).name == name
