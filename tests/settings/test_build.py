"""Given values become settings, or the whole list of what is wrong."""

import pytest

from ascend_agent.settings import DriverKind, Settings, build_settings


def test_text_is_as_good_as_a_value() -> None:
    """A flag, a variable and a file give text."""
    settings = build_settings({"shares": "4", "driver": "simulated", "driver_grace_s": "7.5"})

    assert isinstance(settings, Settings)
    assert (settings.shares, settings.driver, settings.driver_grace_s) == (
        4,
        DriverKind.SIMULATED,
        7.5,
    )


def test_nothing_given_is_a_working_agent() -> None:
    assert build_settings({}) == Settings()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"driver": "simulated", "library": "/x/libdcmi.so"}, "library"),
        ({"driver": "simulated", "library_path": "/x"}, "library_path"),
        ({"driver": "simulated", "allow_unsafe_library": "true"}, "allow_unsafe_library"),
        ({"driver": "dcmi", "simulated": {"chip": "910C"}}, "simulated"),
        ({"simulated": {}}, "simulated"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    given: dict[str, object], field: str
) -> None:
    problems = build_settings(given)

    assert isinstance(problems, tuple)
    assert [problem.where for problem in problems] == [(field,)]
    assert "--driver simulated" in problems[0].why


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({}, ["node_name"]),
        ({"node_name": ""}, ["node_name"]),
        ({"node_name": "n", "shares": "2"}, ["shares"]),
        ({"node_name": "n", "shares": 100}, ["shares"]),
        ({"shares": "4"}, ["node_name", "shares"]),
    ],
)
def test_hami_needs_the_nodes_name_and_divides_npus_itself(
    more: dict[str, object], fields: list[str]
) -> None:
    problems = build_settings({"dialect": "hami", **more})

    assert isinstance(problems, tuple)
    assert [problem.where[0] for problem in problems if not problem.value] == fields


@pytest.mark.parametrize("shares", ["1", 1])
def test_whole_npus_are_no_contradiction_to_hami(shares: object) -> None:
    built = build_settings({"dialect": "hami", "node_name": "n", "shares": shares})

    assert isinstance(built, Settings)


@pytest.mark.parametrize("value", ["false", "0", "no", False])
def test_what_is_switched_off_contradicts_nothing(value: object) -> None:
    settings = build_settings({"driver": "simulated", "allow_unsafe_library": value})

    assert isinstance(settings, Settings)


def test_contradictions_and_bad_values_are_told_together() -> None:
    problems = build_settings({"driver": "simulated", "library": "/x", "shares": "0"})

    assert isinstance(problems, tuple)
    assert [problem.where for problem in problems] == [("shares",), ("library",)]


def test_a_problem_of_the_simulated_node_is_told_with_its_path() -> None:
    problems = build_settings({"driver": "simulated", "simulated": {"npus": "99"}})

    assert isinstance(problems, tuple)
    assert [problem.where for problem in problems] == [("simulated", "npus")]
