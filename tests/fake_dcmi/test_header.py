"""A C compiler's verdict on the binding's tables (DCMI API, structures)."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from ascend_agent.driver.dcmi import abi, library
from tests.fake_dcmi import build, header
from tests.fake_dcmi.probe import Measured, check_syntax, measure

pytestmark = pytest.mark.peer

AARCH64 = "aarch64-linux-gnu-gcc"
LAYOUTS = header.layouts()


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Measured], dict[str, int]]:
    """Return what the probe printed."""
    return measure(tmp_path_factory.mktemp("probe"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_compiler_table_and_ctypes_agree_on_every_size_and_offset(
    measured: tuple[dict[str, Measured], dict[str, int]], name: str
) -> None:
    """One byte of difference, and the vendor's library writes past our buffer."""
    _, size, alignment, fields = LAYOUTS[name]
    ours = library.build(name, LAYOUTS[name])

    compiled = measured[0][name]

    assert (compiled.size, compiled.alignment) == (size, alignment)
    assert (compiled.size, compiled.alignment) == (ctypes.sizeof(ours), ctypes.alignment(ours))
    assert {field: place for field, (place, _) in compiled.fields.items()} == {
        field: offset for field, _, _, offset in fields
    }
    assert compiled.fields == {
        field: (getattr(ours, field).offset, getattr(ours, field).size) for field, _, _, _ in fields
    }


def test_every_enumeration_is_four_bytes(
    measured: tuple[dict[str, Measured], dict[str, int]],
) -> None:
    named = {name for name in abi.ENUMS if name.startswith("dcmi_")}

    assert measured[1] == dict.fromkeys(named, 4)


def test_the_header_holds_on_this_machine(tmp_path: Path) -> None:
    assert check_syntax("gcc", header.header(), tmp_path) == ""


def test_the_header_holds_on_aarch64(tmp_path: Path) -> None:
    """Ascend servers are Arm machines; the cross compiler asserts every size and offset."""
    if shutil.which(AARCH64) is None:
        pytest.skip(f"{AARCH64} is not installed (package gcc-aarch64-linux-gnu)")

    assert check_syntax(AARCH64, header.header(), tmp_path) == ""


def test_the_fake_library_itself_compiles_for_aarch64(tmp_path: Path) -> None:
    """It is what people on an Arm machine run the tests with."""
    if shutil.which(AARCH64) is None:
        pytest.skip(f"{AARCH64} is not installed (package gcc-aarch64-linux-gnu)")
    if not Path("/usr/aarch64-linux-gnu/include").is_dir():
        pytest.skip("no C library for aarch64 (package libc6-dev-arm64-cross)")
    (tmp_path / "dcmi_abi.h").write_text(header.header())
    (tmp_path / "stubs.c").write_text(header.stubs())
    sources = [*map(str, sorted(build.SOURCES.glob("*.c"))), str(tmp_path / "stubs.c")]
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", f"-I{build.SOURCES}"]

    subprocess.run([AARCH64, *options, "-fsyntax-only", *sources], check=True)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("unsigned char npu_name[32];", "unsigned char npu_name[28];"),
        ("unsigned long long alarm_raised_time;", "unsigned int alarm_raised_time;"),
        ("== 132, ", "== 100, "),
    ],
)
def test_a_wrong_field_or_number_does_not_compile(tmp_path: Path, right: str, wrong: str) -> None:
    """Else agreement would say nothing."""
    text = header.header()
    assert right in text

    assert "static assertion failed" in check_syntax("gcc", text.replace(right, wrong), tmp_path)
