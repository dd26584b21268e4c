import pytest

from ascend_agent.dialects import load_dialect
from ascend_agent.settings import DialectName


@pytest.mark.parametrize("name", DialectName)
def test_every_dialect_that_can_be_set_is_there(name: DialectName) -> None:
    assert load_dialect(name.value).name == name.value
