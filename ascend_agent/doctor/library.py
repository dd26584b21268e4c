"""The check ``driver-library``: whether libdcmi.so is there and may be loaded (PM-5).

Looks at files alone; the library is loaded by the worker process, for the check ``driver``.
"""

from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.driver.dcmi import abi
from ascend_agent.driver.dcmi.search import LibraryTroubleError, find_library
from ascend_agent.settings import DriverKind

_REMEDIES: Final = {
    "missing": "install the driver on the host; in a pod mount /usr/local/Ascend/driver from the "
    "host and name its lib64/driver with --library-path, or the file with --library; the chart "
    "does both for its driverDir and driverExtraDirs",
    "refused": "do what the sentence says: whoever can change the file or a folder above it would "
    "run code as root",
}


async def _look(place: Place) -> tuple[Finding, ...]:
    settings = place.settings
    if settings.driver is DriverKind.SIMULATED:
        return (skipped("driver library", "the driver is simulated"),)
    try:
        path = await place.off_loop(lambda: _find(place))
    except LibraryTroubleError as trouble:
        remedy = _REMEDIES.get(trouble.kind, _REMEDIES["missing"])
        return (fail(f"library {trouble.kind}", trouble.detail, remedy=remedy),)
    if settings.allow_unsafe_library:
        return (
            warn(
                "library not checked",
                f"{path}; owner and mode are not looked at: --allow-unsafe-library",
                remedy="leave that option out anywhere but on a test machine",
            ),
        )
    return (ok("library found, root alone can change it", path),)


def _find(place: Place) -> str:
    explicit = place.settings.library
    return find_library(
        abi.LIBDCMI,
        explicit=str(explicit) if explicit else None,
        library_path=place.environment.get("LD_LIBRARY_PATH", ""),
        allow_unsafe=place.settings.allow_unsafe_library,
    )


CHECK: Final = Check(
    name="driver-library",
    asks="Can libdcmi.so be found, and does it belong to root with all folders above it?",
    advice=(
        "Missing: mount the host's driver folder into the pod (the chart's driverDir), or name its "
        "place with --library-path or --library.\n"
        "Refused: correct the owner or mode that the detail names; a file that others can "
        "change is never loaded."
    ),
    look=_look,
)
