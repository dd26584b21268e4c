"""The one variable that names a container's NPUs to the vendor's container runtime, and no other.

As HAMi's plugin has it: its schedulers and images expect nothing else. The runtime must be there.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import InjectionWants
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu


class VisibleDevices:
    """The vendor's runtime hands in what the variable names."""

    name: ClassVar[str] = "visible"
    reads_mounts = False

    def wants(
        self,
        npus: Sequence[tuple[Npu, ChipSpec]],
        *,
        base_mounts: tuple[str, ...] | None,  # noqa: ARG002 -- the runtime reads the list itself
    ) -> InjectionWants:
        """Return the physical ids ascending: images count devices by position (AL-13, HAMi E4)."""
        ids = sorted({npu.phy for npu, _ in npus})
        return InjectionWants(envs={"ASCEND_VISIBLE_DEVICES": ",".join(map(str, ids))})


INJECTION: Final[Injection] = VisibleDevices()
