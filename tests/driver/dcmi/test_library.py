"""The loaded library; where no function of the vendor's is needed, the C library stands in."""

import ctypes
import threading

import pytest

from ascend_agent.driver.dcmi import codes, library
from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.search import LibraryTroubleError


def test_a_missing_function_is_an_error_only_when_it_is_called() -> None:
    """Old drivers lack newer functions: each is told by its own code, -99998."""
    loaded = Library("libc.so.6")

    assert not loaded.has("dcmi_init")
    assert loaded.call("dcmi_init") == codes.SYMBOL_MISSING


def test_a_file_that_is_no_library_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lib") / "libdcmi.so"
    path.write_bytes(b"\x7fELF and nothing more")

    with pytest.raises(LibraryTroubleError) as caught:
        Library(str(path))

    assert caught.value.kind == "unloadable"
    assert str(path) in caught.value.detail
    assert "LD_LIBRARY_PATH" in caught.value.detail


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"910B3\0junk", "910B3"),
        (b"x" * 32, "x" * 32),
        (b"", ""),
        (b"caf\xe9", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_text_ends_at_the_first_zero_or_at_its_end(raw: bytes, expected: str) -> None:
    """The vendor's fields are padded with zeros, or full."""
    unsigned = (ctypes.c_ubyte * len(raw)).from_buffer_copy(raw)

    assert library.text(raw) == expected
    assert library.text(unsigned) == expected


def test_a_structure_has_one_class_in_all_threads() -> None:
    """Two classes of one name would refuse each other's pointers."""
    start = threading.Barrier(8)
    seen: list[type[ctypes.Structure]] = []

    def ask() -> None:
        start.wait()
        seen.append(library.structure("dcmi_vdev_query_stru"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 8
    assert len(set(seen)) == 1


def test_the_wrong_structure_is_refused_before_the_call() -> None:
    """Peers hand the 100-byte structure to a function that writes 132 bytes (DCMI defect 2)."""
    wanted = library.parameter_type("struct dcmi_chip_info_v2 *")

    with pytest.raises(TypeError, match="dcmi_chip_info"):
        wanted.from_param(ctypes.byref(library.structure("dcmi_chip_info")()))  # type: ignore[attr-defined]


def test_a_type_that_is_no_callback_is_refused() -> None:
    with pytest.raises(ValueError, match="no callback"):
        library.callback_type("int (*)(struct dcmi_event *)")
