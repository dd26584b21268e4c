"""A backend on a fake host: the vendor library's stand-in, loaded into the test's own process."""

import shutil
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.npusmi import NpuSmi
from tests.driver.dcmi.host import Host
from tests.driver.dcmi.odd import ODD, compile_library
from tests.fake_dcmi.control import FakeHost, TracedCall


class Node:
    """One opened backend, the host it lives on, and what it told and asked for meanwhile."""

    def __init__(self, host: FakeHost, library: Path, tool: NpuSmi | None) -> None:
        self.host = host
        self.seen: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self.pauses_s: list[float] = []
        self.backend = DcmiBackend(
            {"library": str(library), "allow_unsafe_library": True, "library_path": ""},
            lambda seen_ns, raw: self.seen.put((seen_ns, raw)),
            pause=self.pauses_s.append,
            tool=tool or NpuSmi(places=()),
        )
        self.opened = self.backend.open()

    def calls(self, symbol: str) -> list[TracedCall]:
        """Return the calls of *symbol* since ``trace on``."""
        return [call for call in self.host.trace() if call.symbol == symbol]

    def next_event(self) -> dict[str, object]:
        """Return the next event as the agent would get it."""
        _, raw = self.seen.get(timeout=10)
        return self.backend.decode(raw)


MakeNode = Callable[..., Node]


@pytest.fixture
def make_node(
    make_fake_host: Callable[..., FakeHost],
    fake_dcmi: Path,
    fake_dcmi_variant: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> MakeNode:
    """Return a function that opens a backend on a host made of script lines."""

    def make(*model: str, variant: str = "full", tool: NpuSmi | None = None) -> Node:
        host = make_fake_host(*model)
        # A copy: the loader would hand out the library that an earlier test loaded.
        own = tmp_path_factory.mktemp("lib") / "libdcmi.so"
        shutil.copy(fake_dcmi if variant == "full" else fake_dcmi_variant(variant), own)
        for name, value in host.environment.items():
            monkeypatch.setenv(name, value)
        return Node(host, own, tool)

    return make


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host file system for search, trust and tools."""
    return Host(tmp_path)


@pytest.fixture
def odd(tmp_path: Path) -> DcmiBackend:
    """Return an opened backend on the library whose answers are all out of range."""
    library = compile_library(tmp_path, ODD)
    backend = DcmiBackend(
        {"library": str(library), "allow_unsafe_library": True}, lambda _seen_ns, _raw: None
    )
    assert backend.open()["rc"] == 0
    return backend
