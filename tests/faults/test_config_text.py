import json

import pytest

from ascend_agent.faults.config_text import (
    Problems,
    name_unknown,
    read_object,
    shown,
    take_list,
    take_texts,
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1 column 1"),
        ('{"a":\n nope}', "line 2 column 2"),
        ("[]", "no JSON object but list"),
        ("null", "no JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "too long"),
    ],
)
def test_what_is_no_object_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_object(text)


def test_what_is_too_deep_to_be_written_is_named_by_its_type() -> None:
    """It takes a little more depth to write a value than to read it: that is no surprise then."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]

    assert shown(value) == "list of great depth"


def test_an_object_is_returned() -> None:
    assert read_object('{"a": [1]}') == {"a": [1]}


def test_an_absent_list_is_none_and_so_is_null() -> None:
    """The peer can't tell the two apart either."""
    assert take_texts({}, "a") is None
    assert take_texts({"a": None}, "a") is None
    assert take_texts({"a": []}, "a") == []


@pytest.mark.parametrize("value", ["text", {"a": 1}, 7])
def test_another_type_than_a_list_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="a is no list"):
        take_list({"a": value}, "a")


def test_a_list_of_something_else_than_texts_is_refused() -> None:
    with pytest.raises(ValueError, match="something else than texts"):
        take_texts({"a": ["80E18005", 5]}, "a")


def test_a_list_that_is_too_long_is_refused() -> None:
    assert take_list({"a": ["1"] * 20_000}, "a")
    with pytest.raises(ValueError, match="more than 20000 entries"):
        take_list({"a": ["1"] * 20_001}, "a")


def test_problems_beyond_a_bound_are_counted() -> None:
    """Anybody who may write a ConfigMap could else fill the log."""
    problems = Problems()
    for number in range(1000):
        problems.add(str(number))

    assert problems.told() == (*map(str, range(20)), "and 980 entries more")


def test_what_a_problem_repeats_is_short_and_plain() -> None:
    assert shown("\x1b[31m") == r"'\x1b[31m'"
    assert len(shown("a" * 1000)) == 80


def test_a_key_without_meaning_is_named() -> None:
    problems = Problems()

    name_unknown(json.loads('{"RestartNPUCode": []}'), ("RestartNPUCodes",), problems)

    assert problems.told() == ("key 'RestartNPUCode' has no meaning; the keys are RestartNPUCodes",)
