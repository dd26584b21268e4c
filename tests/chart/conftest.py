"""Real Helm, and the control plane of ``tests/cluster`` for those who ask it."""

from pathlib import Path

import pytest

from tests.cluster.conftest import (
    api,
    control_plane,
    own_namespace,
    shared_control_plane,
)
from tests.cluster.programs import program

__all__ = ["api", "control_plane", "own_namespace", "shared_control_plane"]


@pytest.fixture
def helm() -> Path:
    """Return Helm's path, or skip."""
    return program("helm")
