"""The host of a simulated node: every file that an answer could rely on exists."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from ascend_agent.model.allocation import DirectoryWant, PathKind
from ascend_agent.model.ids import NumaNode
from ascend_agent.model.npu import NpuIdentity


class SimulatedFiles:
    """A host with the vendor's driver installed, and nothing special."""

    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        """Return all of *paths*."""
        return frozenset(paths)

    async def entries(self, directory: DirectoryWant) -> tuple[str, ...]:  # noqa: ARG002 -- as the seam demands
        """Return nothing: directories of device nodes are empty."""
        return ()

    async def base_mounts(self) -> tuple[str, ...] | None:
        """Return that the host keeps no mount list of its own."""
        return None

    async def kinds(self, paths: Sequence[str]) -> Mapping[str, PathKind]:
        """Return what each of *paths* is by its name: a file has a suffix, or is the tool."""
        return {path: _kind(PurePosixPath(path)) for path in paths}


def _kind(path: PurePosixPath) -> PathKind:
    is_file = path.suffix != "" or path.name == "npu-smi"
    return PathKind.FILE if is_file else PathKind.DIRECTORY


class SimulatedNuma:
    """Two NUMA nodes, each with half of the NPUs: PCI addresses here belong to no real machine."""

    def __init__(self, *, npus: int) -> None:
        self._half = (npus + 1) // 2

    def read_numa(self, identity: NpuIdentity) -> NumaNode | None:
        """Return the half of the node the NPU is in."""
        return NumaNode(0 if identity.phy < self._half else 1)
