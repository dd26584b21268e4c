"""What any container of NPUs needs besides them: control nodes, driver files (IM-2).

Shared by the ways that don't leave this to the vendor's container runtime. Whether a path exists
is asked at each Allocate, not here (IM-6).
"""

from collections.abc import Sequence
from typing import Final

from ascend_agent.model.allocation import InjectionWants, MountWant
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu

_DRIVER_FILES: Final = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)


def common_wants(
    npus: Sequence[tuple[Npu, ChipSpec]], *, base_mounts: tuple[str, ...] | None
) -> InjectionWants:
    """Return the nodes, directories and mounts that all *npus* share.

    *base_mounts*, the host's own list, replaces ours. No ``LD_LIBRARY_PATH``: an image that has
    one would lose it, and one built for NPUs knows where its driver is.
    """
    nodes = {node: None for _, spec in npus for node in spec.common_nodes}
    for npu, spec in npus:
        nodes |= dict.fromkeys(spec.product_nodes.get(npu.identity.chip.product or "", ()))
    directories = {directory: None for _, spec in npus for directory in spec.directories}
    paths = _DRIVER_FILES if base_mounts is None else base_mounts
    return InjectionWants(
        nodes=tuple(nodes),
        directories=tuple(directories),
        mounts=tuple(MountWant(path=path) for path in dict.fromkeys(paths)),
    )
