"""Turns given values into settings, or into the full list of what is wrong with them."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ascend_agent.settings.agent import DriverKind, Settings
from ascend_agent.settings.problems import Problem, describe

_KNOWN = {"": tuple(Settings.model_fields)}
_NOT_ASKED = frozenset({"", "none", "false", "no", "off", "0"})
_OF_THE_LIBRARY = ("library", "library_path", "allow_unsafe_library")


def build_settings(given: Mapping[str, object]) -> Settings | tuple[Problem, ...]:
    """Return the settings that *given* makes, or every violation in it.

    Values may be text as a user typed it. Absent settings take their default.
    """
    clashes = _contradictions(given)
    try:
        settings = Settings.model_validate(dict(given))
    except ValidationError as error:
        return (*describe(error, known=_KNOWN), *clashes)
    return tuple(clashes) or settings


def _contradictions(given: Mapping[str, object]) -> Sequence[Problem]:
    if given.get("driver") != DriverKind.SIMULATED:
        if "simulated" not in given:
            return ()
        return (_clash("simulated", "belongs to --driver simulated; add that or remove it"),)
    return [
        _clash(name, "has no meaning with --driver simulated; remove one of the two")
        for name in _OF_THE_LIBRARY
        if str(given.get(name, "")).lower() not in _NOT_ASKED
    ]


def _clash(name: str, why: str) -> Problem:
    return Problem(where=(name,), value="", why=why)
