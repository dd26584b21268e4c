"""The fault table that is shipped has the form its schema gives, since the agent trusts it."""

import json

import pytest
from pydantic import ValidationError

from tools.docs import fault_table
from tools.docs.fault_table import FILE, SCHEMA, FaultTable


def test_the_shipped_table_has_its_form() -> None:
    table = fault_table.read()

    assert table.schema_ == SCHEMA.name
    assert len(table.levels) == 8


def test_the_schema_is_the_one_of_today() -> None:
    assert SCHEMA.read_text() == fault_table.render(), "run `python -m tools.docs`"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("levels", {"RestartNPU": ["80e18005"]}),  # compared as text by others: upper case
        ("levels", {"RestartNpu": []}),
        ("roles", {"card-drop": "0x40F84E00"}),
        ("switches", {"Separate": ["[0x08520003,na,L2]"]}),
        ("duration", [{"codes": [], "fault_timeout_s": 1, "recover_timeout_s": 1}]),
        ("frequency", "none"),
        ("surprise", 1),
    ],
)
def test_another_form_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        FaultTable.model_validate_json(json.dumps(json.loads(FILE.read_text()) | {key: value}))
