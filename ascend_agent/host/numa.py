"""On which NUMA node an NPU hangs, as the kernel knows it.

The PCI device's own node comes first; the CPU list that the driver tells is compared as a set of
CPUs, since one set has many spellings. A node that this machine does not have is never answered:
the kubelet's topology manager breaks on it.
"""

import re
from pathlib import Path

from ascend_agent.model.ids import NumaNode
from ascend_agent.model.npu import NpuIdentity

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class SysfsNuma:
    """Implements ``interfaces.NumaReader`` on sysfs; *root* is where it is mounted."""

    def __init__(self, *, root: Path = Path("/sys")) -> None:
        self._pci = root / "bus" / "pci" / "devices"
        self._nodes = root / "devices" / "system" / "node"

    def read_numa(self, identity: NpuIdentity) -> NumaNode | None:
        """Return the NPU's node, None where neither PCI nor the CPU affinity tells one node."""
        nodes = self._read_nodes()
        by_pci = self._of_bus(identity.bus)
        if by_pci in nodes:
            return by_pci
        affinity = parse_cpulist(identity.affinity or "")
        near = [node for node, cpus in nodes.items() if cpus & affinity]
        # CPUs of several nodes say that the driver does not know, or that none is nearest.
        return near[0] if len(near) == 1 else None

    def _of_bus(self, bus: str | None) -> NumaNode | None:
        if bus is None or not _BUS.fullmatch(bus.lower()):
            return None
        text = _read(self._pci / bus.lower() / "numa_node")
        return NumaNode(int(text)) if text.isascii() and text.isdigit() else None

    def _read_nodes(self) -> dict[NumaNode, frozenset[int]]:
        """Return each node's CPUs; a node of memory alone has none."""
        return {
            NumaNode(int(place.name.removeprefix("node"))): parse_cpulist(_read(place / "cpulist"))
            for place in self._nodes.glob("node[0-9]*")
            if place.name.removeprefix("node").isdigit()
        }


def parse_cpulist(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as ``0-3,8``; empty where it is empty or malformed."""
    cpus: set[int] = set()
    for part in text.strip("\0 \t\r\n").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return frozenset()
        first = int(match[1])
        cpus.update(range(first, int(match[2] or first) + 1))
    return frozenset(cpus)


def _read(path: Path) -> str:
    """Return a short file's text; empty where there is none, as sysfs says "unknown" both ways."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
