"""The node lock: what is written, and when it may be taken over."""

from datetime import UTC, datetime, timedelta

import pytest

from ascend_agent.sim.hami.lock import format_lock, is_lock_of, may_take
from ascend_agent.sim.hami.versions import VERSIONS
from tests.sim.hami.pods import pod

NOW = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


def takes(text: str | None, *, version: str = "2.10", there: bool = True, after_s: int = 0) -> bool:
    return may_take(
        text,
        VERSIONS[version],
        now=NOW + timedelta(seconds=after_s),
        exists=lambda namespace, name: there and (namespace, name) == ("default", "p1"),
    )


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.4", ""),
        ("2.10", "2026-01-01T00:00:01Z,default,p1"),
        ("volcano", ""),
        ("volcano-locking", "2026-01-01T00:00:01Z"),
    ],
)
def test_a_lock_differs_by_version(version: str, text: str) -> None:
    assert format_lock(pod(), VERSIONS[version], now=NOW) == text


def test_a_free_node_may_be_locked() -> None:
    assert takes(None)


def test_a_lock_holds_for_five_minutes() -> None:
    lock = "2026-01-01T08:00:01+08:00,default,p1"

    assert not takes(lock)
    assert not takes(lock, after_s=300)
    assert takes(lock, after_s=301)


def test_a_lock_of_a_pod_that_is_gone_is_taken_over_since_2_7() -> None:
    lock = "2026-01-01T00:00:01Z,default,p1"

    assert takes(lock, there=False)
    assert not takes(lock, there=False, version="2.6")
    assert not takes("2026-01-01T00:00:01Z", there=False)


@pytest.mark.parametrize("text", ["nonsense", "2026-01-01T00:00:01,default,p1"])
def test_what_has_no_time_stays(text: str) -> None:
    assert not takes(text, after_s=1000)


def test_a_lock_names_its_pod() -> None:
    assert is_lock_of("2026-01-01T00:00:01Z,default,p1", pod())
    assert not is_lock_of("2026-01-01T00:00:01Z,default,xp1", pod())
    assert not is_lock_of(None, pod())
