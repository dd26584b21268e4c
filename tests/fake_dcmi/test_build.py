"""What the built library exports, and that compiling it raises no warning."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_agent.driver.dcmi.abi import LIBLINGQU
from tests.fake_dcmi import build, header

pytestmark = pytest.mark.peer


def exported(library: Path) -> set[str]:
    """Return the names that the library shows to a loader."""
    command = ["nm", "--dynamic", "--defined-only", "--format=just-symbols", str(library)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(listed.split())


def test_every_function_of_the_published_driver_is_exported_and_nothing_else(
    fake_dcmi: Path,
) -> None:
    """Names of our own must not leak into the worker's global namespace (RTLD_GLOBAL)."""
    absent = {
        name
        for name in header.functions()
        if "_ub_ping_mesh" in name or name.endswith("_rate_period")
    }

    assert len(absent) == 10
    assert exported(fake_dcmi) == header.functions().keys() - absent


def test_the_library_of_the_switches_exports_its_own_functions_alone(fake_lingqu: Path) -> None:
    assert exported(fake_lingqu) == set(header.functions(LIBLINGQU))
    assert len(header.functions(LIBLINGQU)) == 3


@pytest.mark.parametrize("variant", [name for name in build.VARIANTS if name != "full"])
def test_a_variant_lacks_symbols_and_still_loads(
    fake_dcmi: Path, fake_dcmi_variant: Callable[[str], Path], variant: str
) -> None:
    """Old drivers: a missing symbol is no error until it is called."""
    library = fake_dcmi_variant(variant)

    assert exported(library) < exported(fake_dcmi)
    ctypes.CDLL(str(library))


def test_it_compiles_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not part of the build: another compiler may warn of more."""
    monkeypatch.setattr(build, "_COMPILE", (*build._COMPILE, "-Werror"))

    assert build.build(tmp_path).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["libdcmi.so", "liblingqu-dcmi.so"]


def test_a_function_without_implementation_answers_not_supported(
    fake_dcmi: Path, tmp_path: Path
) -> None:
    library = ctypes.CDLL(str(fake_dcmi))

    assert library.dcmi_set_device_reset(0, 0, 1) == -8255
    assert library.dcmiv2_stop_ubping_mesh(0) == -8255
