"""Shared NPUs: several kubelet devices each, without any isolation between them.

Decides nothing but the list. The driver must let several containers open an NPU; whether it does
is known to the ledger, which takes an NPU without that out of service.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from ascend_agent.interfaces import SlicingMode
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import NpuView


class SharedNpus:
    """An NPU is given out once a share."""

    name: ClassVar[str] = "shared"
    needs_device_share: ClassVar[bool] = True

    def advertise(
        self, views: Sequence[NpuView], *, word: str, shares: int
    ) -> tuple[DeviceGroup, ...]:
        """Return one group of *shares* devices an NPU, ordered by physical id.

        The shares of an NPU are healthy or unhealthy together, but for an NPU that serves out the
        containers it has and takes no more: of that one those that are held stay healthy.
        """
        return tuple(
            DeviceGroup(
                word=word,
                npu=view.npu.phy,
                shares=shares,
                healthy=view.healthy,
                numa=view.npu.numa,
                kept=view.kept,
            )
            for view in sorted(views, key=lambda view: view.npu.phy)
        )


MODE: Final[SlicingMode] = SharedNpus()
