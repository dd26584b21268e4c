"""The failure of a test that its own time alone speaks against."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class TooSlowError(AssertionError):
    """A test took longer than its kind may, measured by real time."""


@contextmanager
def in_time(limit_s: float) -> Iterator[None]:
    """Have what is done in the block take at most *limit_s* seconds of real time."""
    started_s = time.monotonic()
    yield
    if (took_s := time.monotonic() - started_s) > limit_s:
        text = f"took {took_s:.1f} s; it has {limit_s:g}"
        raise TooSlowError(text)
