"""NPUs by the serial of their die, several devices each: how HAMi counts what may be cut.

Decides nothing but the list. The kubelet only counts these devices: which NPU a container gets,
and how much of it, is said by the scheduler.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from ascend_agent.interfaces import SlicingMode
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import NpuView


class NpusByDie:
    """An NPU is given out as often as it has devices."""

    name: ClassVar[str] = "by-die"
    needs_device_share: ClassVar[bool] = False

    def advertise(
        self, views: Sequence[NpuView], *, word: str, shares: int
    ) -> tuple[DeviceGroup, ...]:
        """Return one group of *shares* devices an NPU, ordered by physical id, without NUMA nodes.

        One that only serves out the containers it has is unhealthy here: the kubelet does not
        know which of its devices those hold. A chip without a serial can't be named.
        """
        return tuple(
            DeviceGroup(
                word=word,
                npu=view.npu.phy,
                shares=shares,
                healthy=view.healthy and view.kept is None,
                numa=None,
                die=view.npu.identity.die,
            )
            for view in sorted(views, key=lambda view: view.npu.phy)
            if view.npu.identity.die is not None
        )


MODE: Final[SlicingMode] = NpusByDie()
