"""What tests over the fake library are given: the built library, and hosts to run it on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fake_dcmi import build
from tests.fake_dcmi.control import FakeHost, fake_host


@pytest.fixture(scope="session")
def fake_dcmi_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled fake library, not yet linked."""
    return build.compile_objects(tmp_path_factory.mktemp("objects"))


@pytest.fixture(scope="session")
def fake_dcmi_variant(
    fake_dcmi_objects: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return a function that links a variant of the library once and returns its path."""
    linked: dict[str, Path] = {}

    def get(variant: str) -> Path:
        if variant not in linked:
            folder = tmp_path_factory.mktemp(variant)
            linked[variant] = build.link(fake_dcmi_objects, folder, variant=variant)
        return linked[variant]

    return get


@pytest.fixture(scope="session")
def fake_lingqu(fake_dcmi_objects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the fake ``liblingqu-dcmi.so``."""
    return build.link_switches(fake_dcmi_objects, tmp_path_factory.mktemp("lingqu"))


@pytest.fixture(scope="session")
def fake_dcmi(fake_dcmi_variant: Callable[[str], Path]) -> Path:
    """Return the path of the fake ``libdcmi.so`` with all its symbols."""
    return fake_dcmi_variant("full")


@pytest.fixture
def make_fake_host() -> Iterator[Callable[..., FakeHost]]:
    """Return a function that makes a fake host from script lines; gone after the test."""
    with ExitStack() as hosts:
        yield lambda *model: hosts.enter_context(fake_host(*model))
