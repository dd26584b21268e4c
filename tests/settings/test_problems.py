"""How a violation is told."""

import pytest
from pydantic import ValidationError

from ascend_agent.settings.agent import Settings
from ascend_agent.settings.problems import Problem, describe, shown


def problems(**given: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(given)
    found = describe(caught.value, known={"": ("shares", "http")})
    return [problem.text(".".join(map(str, problem.where))) for problem in found]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("shares", "200", "shares: '200' is too large; give 100 or less"),
        ("shares", 0, "shares: 0 is too small; give 1 or more"),
        ("shares", "two", "shares: 'two' is no whole number; give one"),
        ("shares", 1.5, "shares: 1.5 is no whole number; give one"),
        ("query_deadline_s", "x", "query_deadline_s: 'x' is no number; give one"),
        ("query_deadline_s", "nan", "query_deadline_s: 'nan' is no number; give one"),
        (
            "docker_runtime",
            "perhaps",
            "docker_runtime: 'perhaps' is neither true nor false; give one of them",
        ),
        (
            "log_style",
            "loud",
            "log_style: 'loud' is not allowed; use one of 'json', 'console'",
        ),
        ("cdi_dir", "x", "cdi_dir: 'x' is no absolute path; start it with /"),
        ("share", 3, "share is no known key; remove it or use one of shares, http"),
        (
            "library",
            3,
            "library: 3 is no path; give one",
        ),
    ],
)
def test_a_problem_names_thing_value_and_remedy(field: str, value: object, text: str) -> None:
    assert problems(**{field: value}) == [text]


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(shares=0, http="x", cdi_dir="x", unheard="x")) == 4


def test_what_derives_from_a_wrong_setting_is_no_problem_of_its_own() -> None:
    """The socket's default can't be made without its directory; one violation, one line."""
    assert problems(device_plugin_dir="x", kubelet_dir="y") == [
        "kubelet_dir: 'y' is no absolute path; start it with /",
        "device_plugin_dir: 'x' is no absolute path; start it with /",
    ]


def test_a_missing_value_has_no_value_to_show() -> None:
    problem = Problem(where=("at_s",), value="", why="is missing; add it")

    assert problem.text("at_s") == "at_s is missing; add it"


def test_a_long_value_is_cut() -> None:
    """Texts of untrusted origin stay under a line's length."""
    assert shown("x" * 500) == "'" + "x" * 79 + "..."
    assert shown(7) == "7"


def test_a_value_too_deep_to_be_written_is_named_by_its_type() -> None:
    """A file could be just not too deep to be read; the message about it must not fail then."""
    value: object = {}
    for _ in range(200_000):
        value = {"a": value}
    assert shown(value) == "dict of great depth"
