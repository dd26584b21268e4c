"""Device nodes and driver mounts in the Allocate answer: needs no special runtime (IM-5).

Sets no environment, as MindCluster's plugin sets none in this way: where the vendor's container
runtime is there after all, ``ASCEND_VISIBLE_DEVICES`` would make it hand in everything again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from ascend_agent.injection.driver_access import common_wants
from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import InjectionWants, mandatory_node
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu


class DeviceNodes:
    """The kubelet hands in what we name."""

    name: ClassVar[str] = "devices"
    reads_mounts = True

    def wants(
        self, npus: Sequence[tuple[Npu, ChipSpec]], *, base_mounts: tuple[str, ...] | None
    ) -> InjectionWants:
        """Return the common nodes, each NPU's own and the driver's files.

        Nodes go by physical id on every generation.
        """
        common = common_wants(npus, base_mounts=base_mounts)
        own = tuple(mandatory_node(f"/dev/davinci{npu.phy}") for npu, _ in npus)
        return replace(common, nodes=(*common.nodes, *own))


INJECTION: Final[Injection] = DeviceNodes()
