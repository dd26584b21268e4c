"""Each answer becomes the error that says what to do."""

import json

import pytest

from ascend_agent.cluster.refusals import Asked, refusal, refusal_in_stream, retry_after
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

ASKED = Asked(verb="patch", target="nodes/n1", rule="nodes")


def status(code: int, **fields: object) -> bytes:
    return json.dumps({"kind": "Status", "code": code, **fields}).encode()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, RejectedError),
        (401, UnauthenticatedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (408, ClusterUnreachableError),
        (409, ConflictError),
        (410, ExpiredError),
        (413, RejectedError),
        (422, RejectedError),
        (429, ThrottledError),
        (500, ClusterUnreachableError),
        (502, ClusterUnreachableError),
        (503, ClusterUnreachableError),
        (504, ClusterUnreachableError),
    ],
)
def test_the_code_decides_the_type(code: int, kind: type[ClusterError]) -> None:
    error = refusal(ASKED, status=code, headers={}, body=status(code, message="why"))

    assert type(error) is kind
    assert (error.verb, error.target) == ("patch", "nodes/n1")
    assert "why" in error.why


@pytest.mark.parametrize("code", [500, 503])
def test_a_server_that_says_when_to_come_back_throttles(code: int) -> None:
    error = refusal(ASKED, status=code, headers={"Retry-After": "7"}, body=b"")

    assert isinstance(error, ThrottledError)
    assert error.after_s == 7


def test_the_delay_may_stand_in_the_body() -> None:
    body = status(429, details={"retryAfterSeconds": 3})
    error = refusal(ASKED, status=429, headers={}, body=body)

    assert isinstance(error, ThrottledError)
    assert error.after_s == 3


@pytest.mark.parametrize("value", [0, -1, True, "3", None, [], {}])
def test_a_delay_that_is_none_counts_as_none(value: object) -> None:
    body = status(429, details={"retryAfterSeconds": value})
    error = refusal(ASKED, status=429, headers={}, body=body)

    assert isinstance(error, ThrottledError)
    assert error.after_s is None


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({}, None),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": " 12 "}, 12),
        ({"Retry-After": "999999999999999999"}, 300),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, None),
        (
            {
                "Retry-After": "Sun, 29 Nov 2026 10:00:30 GMT",
                "Date": "Sun, 29 Nov 2026 10:00:00 GMT",
            },
            30,
        ),
        (
            {
                "Retry-After": "Sun, 29 Nov 2026 10:00:00 -0000",
                "Date": "Sun, 29 Nov 2026 10:00:30 GMT",
            },
            0,
        ),
        ({"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0),
    ],
)
def test_both_forms_of_the_header_are_read(headers: dict[str, str], wanted: float | None) -> None:
    """RFC 9110, Retry-After; a date counts from the answer's own, whatever our clock says."""
    assert retry_after(headers) == wanted


def test_a_missing_rule_is_named_with_its_remedy() -> None:
    error = refusal(ASKED, status=403, headers={}, body=status(403, message="not for you"))

    assert "not for you" in str(error)
    assert "grant patch on nodes to the agent's account" in str(error)


def test_a_causes_message_is_shown_and_all_is_cut() -> None:
    causes = [{"message": "testing value failed"}, 7]
    body = status(422, reason="Invalid", message="m", details={"causes": causes})

    assert "422 Invalid: m: testing value failed" in str(
        refusal(ASKED, status=422, headers={}, body=body)
    )
    long = refusal(ASKED, status=422, headers={}, body=status(422, message="x" * 1000))
    assert len(long.why) == 200


@pytest.mark.parametrize(
    "body", [b"", b"<html>\xff</html>", b"[1]", b"null", b'{"code":', b"[" * 60_000]
)
def test_a_body_that_is_no_status_is_no_surprise(body: bytes) -> None:
    error = refusal(ASKED, status=502, headers={}, body=body)

    assert isinstance(error, ClusterUnreachableError)
    assert error.why.startswith("502")


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"code": 410, "message": "too old"}, ExpiredError),
        ({"code": 500, "details": {"retryAfterSeconds": 1}}, ThrottledError),
        ({"code": "410"}, ClusterUnreachableError),
        ("gone", ClusterUnreachableError),
        (None, ClusterUnreachableError),
    ],
)
def test_an_error_within_a_stream_is_read_alike(item: object, kind: type[ClusterError]) -> None:
    assert type(refusal_in_stream(ASKED, item)) is kind
