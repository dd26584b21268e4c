"""Whole NPUs: one kubelet device each.

Decides nothing but the list; who gets which NPU is the dialect's.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from ascend_agent.interfaces import SlicingMode
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import NpuView


class WholeNpus:
    """An NPU is given out undivided."""

    name: ClassVar[str] = "whole"
    needs_device_share: ClassVar[bool] = False

    def advertise(
        self,
        views: Sequence[NpuView],
        *,
        word: str,
        shares: int,  # noqa: ARG002 -- the seam's signature; a whole NPU is one share
    ) -> tuple[DeviceGroup, ...]:
        """Return one group of one device an NPU, healthy or not, ordered by physical id."""
        return tuple(
            DeviceGroup(
                word=word,
                npu=view.npu.phy,
                shares=1,
                healthy=view.healthy,
                numa=view.npu.numa,
                kept=view.kept,
            )
            for view in sorted(views, key=lambda view: view.npu.phy)
        )


MODE: Final[SlicingMode] = WholeNpus()
