"""A C compiler's verdict on the binding's tables (DCMI API, structures)."""

import ctypes
import shutil
from pathlib import Path

import pytest

from ascend_agent.driver.dcmi import abi
from ascend_agent.driver.dcmi.library import build
from tests.fake_dcmi import header
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
    ours = build(name, LAYOUTS[name])

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


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        (
            "sizeof(struct dcmi_chip_info_v2) == 132",
            "sizeof(struct dcmi_chip_info_v2) == 100",
            "v2",
        ),
        (
            "offsetof(struct dcmi_event, event_t) == 8",
            "offsetof(struct dcmi_event, event_t) == 4",
            "",
        ),
    ],
)
def test_a_wrong_number_does_not_compile(
    tmp_path: Path, right: str, wrong: str, complaint: str
) -> None:
    text = header.header()
    assert text.count(right) == 1

    assert "static assertion failed" in check_syntax("gcc", text.replace(right, wrong), tmp_path)
