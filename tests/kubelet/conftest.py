"""A device-plugin directory whose socket paths stay short."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def plugin_dir() -> Iterator[Path]:
    """Return an empty directory; pytest's own would leave too few of the 107 bytes of a path."""
    with tempfile.TemporaryDirectory(prefix="dp") as name:
        yield Path(name)
