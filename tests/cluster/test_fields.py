"""Foreign JSON is read without trust."""

import pytest

from ascend_agent.cluster.fields import (
    MalformedError,
    as_object,
    child,
    children,
    created_at,
    required,
    texts,
    version_of,
)


def test_what_is_missing_or_of_another_kind_is_empty() -> None:
    value = {"object": {"a": 1}, "list": [{"b": 2}, 3, None], "text": "t"}

    assert child(value, "object") == {"a": 1}
    assert child(value, "text") == {} == child(value, "none")
    assert children(value, "list") == [{"b": 2}]
    assert children(value, "text") == []


@pytest.mark.parametrize("value", [None, [], "text", 7])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(MalformedError, match="a pod is no JSON object"):
        as_object(value, what="a pod")


@pytest.mark.parametrize("value", [{}, {"uid": ""}, {"uid": 7}, {"uid": None}])
def test_a_required_text_is_named(value: dict[str, object]) -> None:
    with pytest.raises(MalformedError, match="pod a has no uid"):
        required(value, "uid", what="pod a")


def test_texts_that_can_not_be_are_left_out() -> None:
    labels = {"a": "1", "b": 2, "c": None, "k" * 400: "v", "long": "x" * 300_000}

    assert texts({"labels": labels}, "labels") == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-11-29T10:00:00Z", 1795946400000),
        ("2026-11-29T10:00:00", 1795946400000),
        ("yesterday", 0),
        (7, 0),
        (None, 0),
    ],
)
def test_a_time_is_read_or_counts_as_none(text: object, wanted: int) -> None:
    assert created_at({"creationTimestamp": text}) == wanted


def test_a_version_is_required() -> None:
    assert version_of({"resourceVersion": "7"}, what="a pod") == "7"
    with pytest.raises(MalformedError):
        version_of({}, what="a pod")
