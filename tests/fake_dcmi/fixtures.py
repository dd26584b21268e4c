"""What tests over the fake library are given: the built library, and hosts to run it on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fake_dcmi import build
from tests.fake_dcmi.control import FakeHost, fake_host


@pytest.fixture(scope="session")
def fake_dcmi_variant(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that builds a variant of the library once and returns its path."""
    built: dict[str, Path] = {}

    def get(variant: str) -> Path:
        if variant not in built:
            built[variant] = build.build(tmp_path_factory.mktemp(variant), variant=variant)
        return built[variant]

    return get


@pytest.fixture(scope="session")
def fake_dcmi(fake_dcmi_variant: Callable[[str], Path]) -> Path:
    """Return the path of the fake ``libdcmi.so`` with all its symbols."""
    return fake_dcmi_variant("full")


@pytest.fixture
def make_fake_host() -> Iterator[Callable[..., FakeHost]]:
    """Return a function that makes a fake host from script lines; gone after the test."""
    with ExitStack() as hosts:
        yield lambda *model: hosts.enter_context(fake_host(*model))
