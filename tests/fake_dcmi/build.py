"""Build the fake vendor library with gcc: ``python -m tests.fake_dcmi.build OUTDIR [VARIANT]``.

A variant is a library of another age or another generation: it lacks symbols that the full one
exports. What a variant lacks is hidden by the linker, so every variant is the same code.
"""

import fnmatch
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

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

_COMPILE: Final = ("-std=gnu11", "-O1", "-g", "-fPIC", "-pthread", "-Wall", "-Wextra")
_LINK: Final = ("-shared", "-Wl,-Bsymbolic,-z,now,-soname,libdcmi.so")


def build(outdir: Path, *, variant: str = "full", sanitize: bool = False) -> Path:
    """Build ``outdir/libdcmi.so`` and return its path.

    ``variant`` is a key of VARIANTS. ``sanitize`` builds with AddressSanitizer; such a library
    needs its runtime loaded first (``sanitizer_runtime``).

    Raises:
        KeyError: there is no such variant.
        subprocess.CalledProcessError: gcc refused; its own words went to stderr.

    """
    hidden = (*ABSENT, *VARIANTS[variant])
    work = outdir / f".build-{variant}{'-asan' if sanitize else ''}"
    work.mkdir(parents=True, exist_ok=True)
    (work / "dcmi_abi.h").write_text(header.header())
    (work / "stubs.c").write_text(header.stubs())
    (work / "exports.map").write_text(_exports(hidden))
    target = outdir / "libdcmi.so"
    command = ["gcc", *_COMPILE, *_LINK, f"-Wl,--version-script={work / 'exports.map'}"]
    command += ["-fsanitize=address"] if sanitize else ["-Wl,-z,defs"]
    command += [f"-I{work}", f"-I{SOURCES}", "-o", str(target)]
    command += [*map(str, sorted(SOURCES.glob("*.c"))), str(work / "stubs.c")]
    subprocess.run(command, check=True)
    return target


def sanitizer_runtime() -> Path | None:
    """Return gcc's AddressSanitizer runtime, to be loaded first; None where gcc has none."""
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return Path(found) if Path(found).is_absolute() else None


def _exports(hidden: tuple[str, ...]) -> str:
    """Return the linker's list: the vendor's names are seen, ours and the *hidden* are not."""
    names = [name for name in header.functions() if not any(_match(name, each) for each in hidden)]
    return "{ global: " + " ".join(f"{name};" for name in names) + " local: *; };\n"


def _match(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


if __name__ == "__main__":
    build(Path(sys.argv[1]), variant=sys.argv[2] if len(sys.argv) > 2 else "full")
