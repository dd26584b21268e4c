"""The fake library loaded into the test's own process, called as the binding calls it."""

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_agent.driver.dcmi.library import Library
from tests.fake_dcmi.control import FakeHost


class Loaded:
    """One library on one host."""

    def __init__(self, host: FakeHost, path: Path) -> None:
        self.host = host
        self.library = Library(str(path))

    def call(self, name: str, *arguments: object) -> int:
        """Call a function and return its code."""
        return self.library.call(name, *arguments)

    def number(self, name: str, *address: int, signed: bool = True) -> tuple[int, int]:
        """Call a function whose only output is the number behind its address; code and number."""
        out = (ctypes.c_int if signed else ctypes.c_uint)(-77 if signed else 77)
        return self.call(name, *address, ctypes.byref(out)), out.value

    def cards(self) -> list[int]:
        """Return the card list."""
        count, ids = ctypes.c_int(), (ctypes.c_int * 64)()
        assert self.call("dcmi_get_card_list", ctypes.byref(count), ids, 64) == 0
        return ids[: count.value]

    def devices(self) -> tuple[int, list[int]]:
        """Return code and list of the second generation's list call."""
        ids, count = (ctypes.c_int * 64)(), ctypes.c_int()
        rc = self.call("dcmiv2_get_device_list", ids, ctypes.byref(count), 64)
        return rc, ids[: count.value]

    def codes(self, *address: int, size: int = 128) -> tuple[int, int, list[int]]:
        """Return code, claimed count and whole buffer of the error-code query."""
        name = {2: "dcmi_get_device_errorcode_v2", 1: "dcmiv2_get_device_error_code_list"}
        count, ids = ctypes.c_int(-1), (ctypes.c_uint * size)()
        rc = self.call(name[len(address)], *address, ctypes.byref(count), ids, size)
        return rc, count.value, list(ids)


LoadFake = Callable[..., Loaded]


@pytest.fixture
def load_fake(
    make_fake_host: Callable[..., FakeHost],
    fake_dcmi_variant: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> LoadFake:
    """Return a function that loads a library onto a host made of script lines."""

    def load(*model: str, variant: str = "full") -> Loaded:
        host = make_fake_host(*model)
        # A copy: the loader hands out a library that was loaded before, its state included.
        own = tmp_path_factory.mktemp("lib") / "libdcmi.so"
        shutil.copy(fake_dcmi_variant(variant), own)
        for name, value in host.environment.items():
            monkeypatch.setenv(name, value)
        return Loaded(host, own)

    return load
