"""The check ``hardware``: whether the kernel sees NPUs, and has a driver for them.

Asked of the kernel alone, so the answer does not depend on the vendor's library. Source: PCI
vendor and class, and the character devices in ``/proc/devices``.
"""

from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.settings import DriverKind

_VENDOR: Final = "0x19e5"
_ACCELERATOR: Final = "0x1200"  # "processing accelerator"; the vendor makes other cards as well
_DEVICE_CLASS: Final = "devdrv-cdev"


async def _look(place: Place) -> tuple[Finding, ...]:
    if place.settings.driver is DriverKind.SIMULATED:
        return (skipped("npus in the kernel's eyes", "the driver is simulated"),)
    found = await place.off_loop(lambda: find_accelerators(place.sys))
    loaded = await place.off_loop(lambda: has_driver(place.proc))
    return (_judge(found, loaded=loaded),)


def _judge(found: tuple[str, ...], *, loaded: bool) -> Finding:
    count = f"{len(found)} Ascend devices on the PCI bus: {', '.join(found)}"
    match found, loaded:
        case (), True:
            return ok("kernel driver loaded", "no Ascend device on the PCI bus, as on SoC boards")
        case (), False:
            return warn(
                "no npu hardware seen",
                "no Ascend device on the PCI bus, and no Ascend driver in the kernel",
                remedy="on a node without NPUs nothing; else seat the cards or pass them through "
                "to this virtual machine, and see lspci -d 19e5:",
            )
        case _, False:
            return fail(
                "no kernel driver",
                f"{count}; /proc/devices has no {_DEVICE_CLASS}",
                remedy="install the Ascend driver on the host and load it; see lsmod and dmesg",
            )
        case _:
            return ok("kernel driver loaded", count)


def find_accelerators(sys: Path) -> tuple[str, ...]:
    """Return the bus addresses of the vendor's accelerators, ascending."""
    found = [
        device.name
        for device in (sys / "bus/pci/devices").glob("*")
        if _read(device / "vendor") == _VENDOR and _read(device / "class").startswith(_ACCELERATOR)
    ]
    return tuple(sorted(found))


def has_driver(proc: Path) -> bool:
    """Return whether the kernel knows the driver's class of character devices."""
    lines = (proc / "devices").read_text(errors="replace").splitlines()
    return any(line.split()[-1:] == [_DEVICE_CLASS] for line in lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""  # a device that is just going


CHECK: Final = Check(
    name="hardware",
    asks="Does the kernel see Ascend devices, and is the Ascend driver loaded?",
    advice=(
        "No hardware seen: the node has no NPU, the card is not seated, or a virtual machine "
        "was not given it.\n"
        "No kernel driver: install the Ascend driver on the host; nothing in a container can "
        "stand in for it."
    ),
    look=_look,
)
