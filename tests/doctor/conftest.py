"""What the doctor's tests share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Give each test a place with a short path: a plugin directory leaves room for sockets."""
    with tempfile.TemporaryDirectory(prefix="d") as name:
        yield Path(name)
