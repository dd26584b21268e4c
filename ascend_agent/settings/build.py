"""Turns given values into settings, or into the full list of what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from ascend_agent.settings.agent import DialectName, DriverKind, Settings
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
    return (*_of_the_driver(given), *_of_the_dialect(given))


def _of_the_dialect(given: Mapping[str, object]) -> Iterator[Problem]:
    if given.get("dialect") != DialectName.HAMI:
        return
    if not given.get("node_name"):
        yield _clash(
            "node_name",
            "is not given, and with --dialect hami the scheduler asks for devices by the name of "
            "the node; set it, or NODE_NAME",
        )
    if str(given.get("shares", 1)) != "1":
        yield _clash(
            "shares",
            "has no meaning with --dialect hami; set vDeviceCount in this node's entry of "
            "node-config.yaml",
        )


def _of_the_driver(given: Mapping[str, object]) -> Sequence[Problem]:
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
