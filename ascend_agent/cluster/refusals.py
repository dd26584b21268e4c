"""From an HTTP status and the Status object beside it to a typed error that says what to do.

What a catcher does about it (retry, list again, give up) is decided by the type alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from ascend_agent.cluster.fields import parse_json
from ascend_agent.cluster.texts import shown
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    ThrottledError,
    UnauthenticatedError,
)

_LONGEST_WAIT_S: Final = 300.0  # a server that says more than this is misconfigured
_FIRST_OF_SERVER: Final = 500
_KINDS: Final[Mapping[int, type[ClusterError]]] = {
    HTTPStatus.UNAUTHORIZED: UnauthenticatedError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.GONE: ExpiredError,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request was for, for people: ``patch nodes/n1``; ``rule`` is RBAC's resource."""

    verb: str
    target: str
    rule: str


def refusal(asked: Asked, *, status: int, headers: Mapping[str, str], body: bytes) -> ClusterError:
    """Return the error for an answer that is none of 2xx; a body that is no Status is shown cut."""
    return _error(asked, status, _status_object(body), after_s=retry_after(headers))


def refusal_in_stream(asked: Asked, status_object: object) -> ClusterError:
    """Return the error for the object of an ERROR event."""
    said = status_object if isinstance(status_object, dict) else {}
    code = said.get("code")
    return _error(asked, code if isinstance(code, int) else 0, said, after_s=None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header; a date counts from the answer's own Date.

    None where there is none that can be read.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), _LONGEST_WAIT_S)
    until, since = _date(value), _date(headers.get("Date", "")) or datetime.now(UTC)
    if until is None:
        return None
    return min(max((until - since).total_seconds(), 0.0), _LONGEST_WAIT_S)


def _date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the latter for a year of twenty digits
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _status_object(body: bytes) -> dict[str, Any]:
    try:
        said = parse_json(body)
    except ValueError:
        said = None
    if isinstance(said, dict):
        return said
    return {"message": body[:1000].decode("utf-8", "replace").strip()}


def _error(
    asked: Asked, code: int, said: Mapping[str, Any], *, after_s: float | None
) -> ClusterError:
    why = _reason(code, said)
    if code == HTTPStatus.FORBIDDEN:
        why = f"{why}; grant {asked.verb} on {asked.rule} to the agent's account"
    elif code == HTTPStatus.UNAUTHORIZED:
        why = f"{why}; check that token or certificate are valid for this cluster"
    if code in _KINDS:
        return _KINDS[code](asked.verb, asked.target, why)
    after_s = after_s if after_s is not None else _delay(said)
    theirs = code == HTTPStatus.REQUEST_TIMEOUT or code >= _FIRST_OF_SERVER or not code
    if code == HTTPStatus.TOO_MANY_REQUESTS or (theirs and after_s is not None):
        return ThrottledError(asked.verb, asked.target, why, after_s=after_s)
    kind = ClusterUnreachableError if theirs else RejectedError
    return kind(asked.verb, asked.target, why)


def _reason(code: int, said: Mapping[str, Any]) -> str:
    """Return code, reason and message; causes too, where the message is a phrase that says less."""
    parts = [str(said.get(key) or "") for key in ("reason", "message")]
    details = said.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if isinstance(causes, list):
        parts += [
            str(cause.get("message") or "") for cause in causes[:3] if isinstance(cause, dict)
        ]
    text = ": ".join(part for part in parts if part)
    return shown(f"{code} {text}".strip())


def _delay(said: Mapping[str, Any]) -> float | None:
    details = said.get("details")
    value = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    # The field is left out where it is 0, so 0 is no wish to wait.
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return None
    return min(float(value), _LONGEST_WAIT_S)
