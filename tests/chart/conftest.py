"""Real Helm; the control plane is ``tests/cluster/fixtures.py``'s."""

from pathlib import Path

import pytest

from tests.cluster.programs import program


@pytest.fixture
def helm() -> Path:
    """Return Helm's path, or skip."""
    return program("helm")
