"""Build the fake vendor libraries with gcc: ``python -m tests.fake_dcmi.build OUTDIR [VARIANT]``.

Both, ``libdcmi.so`` and ``liblingqu-dcmi.so``, are the same code with other exports. A variant is
a libdcmi.so of another age or another generation: it lacks symbols that the full one exports. What
a variant lacks is hidden by the linker, so every variant is the same code as well.
"""

import fnmatch
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ascend_agent.driver.dcmi.abi import LIBDCMI, LIBLINGQU
from tests.fake_dcmi import header

SOURCES: Final = Path(__file__).parent

ABSENT: Final = (
    # Declared by callers, missing from the published driver.
    "dcmi_get_device_multi_utilization_rate_period",
    "dcmiv2_get_device_multi_utilization_rate_period",
    "dcmi_*_ub_ping_mesh*",
    "dcmiv2_*_ub_ping_mesh*",
)
VARIANTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "full": (),
        "no-chip-info-v2": ("dcmi_get_device_chip_info_v2",),
        "no-multi-utilisation": (
            "dcmi_get_device_multi_utilization_rate",
            "dcmiv2_get_device_multi_utilization_rate",
        ),
        "old-reset-names": ("dcmi_set_device_pre_reset", "dcmi_set_device_rescan"),
        "no-multi-die": ("dcmi_get_multi_die_policy", "dcmi_set_multi_die_policy"),
        "no-share": (
            "dcmi_get_device_share_enable",
            "dcmi_set_device_share_enable",
            "dcmiv2_get_device_share_enable",
            "dcmiv2_set_device_share_enable",
        ),
        "no-events": ("dcmi*_subscribe_fault_event", "dcmi*_get_fault_event"),
        "no-v2": ("dcmiv2_*",),
        "no-v1": ("dcmi_*",),
        "no-init": ("dcmi_init", "dcmiv2_init"),
    }
)

_COMPILE: Final = ("-std=gnu11", "-O1", "-g", "-fPIC", "-pthread", "-nostdlib", "-Wall", "-Wextra")
_LINK: Final = ("-shared", "-Wl,-Bsymbolic,-z,now")


def build(outdir: Path, *, variant: str = "full", sanitize: bool = False) -> Path:
    """Build ``outdir/libdcmi.so`` and return its path; beside it lies ``liblingqu-dcmi.so``.

    ``variant`` is a key of VARIANTS. ``sanitize`` builds with AddressSanitizer; such a library
    needs its runtime loaded first (``sanitizer_runtime``).

    Raises:
        KeyError: there is no such variant.
        subprocess.CalledProcessError: gcc refused; its own words went to stderr.

    """
    with tempfile.TemporaryDirectory() as folder:
        whole = compile_objects(Path(folder), sanitize=sanitize)
        link_switches(whole, outdir)
        return link(whole, outdir, variant=variant)


def compile_objects(folder: Path, *, sanitize: bool = False) -> Path:
    """Compile all sources into one object in *folder* and return it; raises as ``build``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dcmi_abi.h").write_text(header.header())
    (folder / "stubs.c").write_text(header.stubs())
    whole = folder / ("sanitized.o" if sanitize else "plain.o")
    command = ["gcc", *_COMPILE, *_sanitizer(whole), "-r", f"-I{folder}", f"-I{SOURCES}"]
    command += [*map(str, sorted(SOURCES.glob("*.c"))), str(folder / "stubs.c"), "-o", str(whole)]
    subprocess.run(command, check=True)
    return whole


def link(whole: Path, outdir: Path, *, variant: str = "full") -> Path:
    """Link ``outdir/libdcmi.so`` from the object *whole*; raises as ``build``."""
    return _link(whole, outdir / LIBDCMI, hidden=(*ABSENT, *VARIANTS[variant]))


def link_switches(whole: Path, outdir: Path) -> Path:
    """Link ``outdir/liblingqu-dcmi.so`` from the object *whole*; raises as ``build``."""
    return _link(whole, outdir / LIBLINGQU)


def _link(whole: Path, target: Path, *, hidden: tuple[str, ...] = ()) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    exports = target.with_suffix(".map")
    exports.write_text(_exports(target.name, hidden))
    command = ["gcc", *_LINK, f"-Wl,-soname,{target.name}", f"-Wl,--version-script={exports}"]
    command += [*_sanitizer(whole), "-pthread", str(whole), "-o", str(target)]
    try:
        subprocess.run(command, check=True)
    finally:
        exports.unlink()
    return target


def _sanitizer(whole: Path) -> list[str]:
    return ["-fsanitize=address"] if whole.stem == "sanitized" else []


def sanitizer_runtime() -> Path | None:
    """Return gcc's AddressSanitizer runtime, to be loaded first; None where gcc has none."""
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return Path(found) if Path(found).is_absolute() else None


def _exports(library: str, hidden: tuple[str, ...]) -> str:
    """Return the linker's list: the vendor's names are seen, ours and the *hidden* are not."""
    vendors = header.functions(library)
    names = [name for name in vendors if not any(_match(name, each) for each in hidden)]
    return "{ global: " + " ".join(f"{name};" for name in names) + " local: *; };\n"


def _match(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


if __name__ == "__main__":
    build(Path(sys.argv[1]), variant=sys.argv[2] if len(sys.argv) > 2 else "full")
