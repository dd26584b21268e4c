"""Says what is wrong with a setting in words: the thing, its value, the remedy.

Every violation becomes one ``Problem``; how a setting is called by its user (a flag, an
environment variable, a line of a file) is left to whoever reports it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_CUT = 80
_OWN_TEXT = frozenset({"fault_code", "ports", "npus", "step_kind", "chip", "scenario", "setting"})
_NO_WHOLE = "is no whole number; give one"
_NO_NUMBER = "is no number; give one"
_NO_BOOL = "is neither true nor false; give one of them"
_TEXTS = {
    "enum": "is not allowed; use one of {expected}",
    "literal_error": "is not allowed; use one of {expected}",
    "greater_than_equal": "is too small; give {ge:g} or more",
    "greater_than": "is too small; give more than {gt:g}",
    "less_than_equal": "is too large; give {le:g} or less",
    "less_than": "is too large; give less than {lt:g}",
    "int_parsing": _NO_WHOLE,
    "int_type": _NO_WHOLE,
    "int_from_float": _NO_WHOLE,
    "float_parsing": _NO_NUMBER,
    "float_type": _NO_NUMBER,
    "finite_number": _NO_NUMBER,
    "bool_parsing": _NO_BOOL,
    "bool_type": _NO_BOOL,
    "path_type": "is no path; give one",
    "string_type": "is no text; give some",
    "string_pattern_mismatch": "is not allowed; give what matches {pattern}",
    "tuple_type": "is no list; write one",
    "frozen_set_type": "is no list; write one",
    "model_type": "is no object; write one in braces",
}
_FOLLOWS_ANOTHER = "default_factory_not_called"  # the setting it derives from is wrong itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One violation: ``where`` is the path of the setting, ``why`` ends with the remedy."""

    where: tuple[str | int, ...]
    value: str
    why: str

    def text(self, thing: str) -> str:
        """Return the sentence, calling the setting *thing*."""
        return f"{thing}: {self.value} {self.why}" if self.value else f"{thing} {self.why}"


def shown(value: object) -> str:
    """Return *value* as it may stand in a message: quoted if text, cut at 80 characters."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except RecursionError:  # what could just be read may be too deep to be written
        return f"{type(value).__name__} of great depth"
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."


def describe(error: ValidationError, *, known: Mapping[str, Sequence[str]]) -> tuple[Problem, ...]:
    """Return one problem a violation; *known* lists the keys a model accepts, by its kind."""
    return tuple(
        _problem(detail, known)
        for detail in error.errors(include_url=False)
        if detail["type"] != _FOLLOWS_ANOTHER
    )


def _problem(detail: ErrorDetails, known: Mapping[str, Sequence[str]]) -> Problem:
    where, kind = _without_tag(detail["loc"], kinds=known)
    if detail["type"] == "extra_forbidden":
        why = f"is no known key; remove it or use one of {', '.join(known[kind])}"
        return Problem(where=where, value="", why=why)
    if detail["type"] == "missing":
        return Problem(where=where, value="", why="is missing; add it")
    return Problem(where=where, value=shown(detail["input"]), why=_why(detail))


def _without_tag(
    where: tuple[str | int, ...], *, kinds: Collection[str]
) -> tuple[tuple[str | int, ...], str]:
    """Return the path as a user knows it, and the kind of step pydantic put behind its number."""
    match where:
        case ("steps" | "expect" as of, int(number), str(kind), *rest) if f"{of} {kind}" in kinds:
            return (of, number, *rest), f"{of} {kind}"
        case ("pods", int(), *_):
            return where, "pods"
        case _:
            return where, ""


def _why(detail: ErrorDetails) -> str:
    if detail["type"] in _OWN_TEXT:
        return detail["msg"]
    if template := _TEXTS.get(detail["type"]):
        return template.format(**detail.get("ctx", {})).replace("' or '", "', '")
    return f"can't be used ({detail['msg'].lower()}); correct or remove it"
