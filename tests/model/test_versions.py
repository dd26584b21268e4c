"""Versions of one collection compare as integers, anything else only as equal or not."""

import pytest

from ascend_agent.model.ids import ObjectVersion
from ascend_agent.model.versions import is_newer


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("10", "9", True),
        ("9", "10", False),
        ("9", "9", False),
        ("a", "a", False),
        ("a", "9", None),
        ("9", "", None),
        ("\u0669", "9", None),
    ],
)
def test_the_newer_one_is_found(one: str, other: str, wanted: bool | None) -> None:  # noqa: FBT001 -- the expected value
    assert is_newer(ObjectVersion(one), ObjectVersion(other)) is wanted
