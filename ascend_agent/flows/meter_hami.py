"""What is true of HAMi on this node, put together when somebody asks: bus, and files of containers.

Nothing runs here: the files are read when the metrics page is made, on its thread (HAMi F6). What
containers write is believed only of containers that the scheduler granted something (HAMi F1).
"""

from ascend_agent.bus import Bus
from ascend_agent.dialects.hami.attribution import attribute, directories
from ascend_agent.interfaces import SoftMeter
from ascend_agent.model.metered import ContainerDevice, HamiSeen, SoftReadings


class MeterHami:
    """Answers what there is to tell about HAMi; safe on any thread."""

    def __init__(self, *, bus: Bus, meter: SoftMeter, host_sum: bool) -> None:
        self._bus = bus
        self._meter = meter
        self._host_sum = host_sum

    def seen(self) -> HamiSeen:
        """Return what is true now, with the files as they are now; may block for the disk.

        No NPU is anybody's before the chip, the pods and the NPUs are known.
        """
        bus = self._bus
        state, pods, inventory = bus.hami.value, bus.pods.value, bus.inventory.value
        chip = state.chip if state else None
        known = pods.pods if pods else ()
        here = frozenset(npu.phy for npu in inventory.npus) if inventory else frozenset()
        readings = SoftReadings()
        devices: tuple[ContainerDevice, ...] = ()
        if chip is not None:
            # By name: containers may make as many files as they like.
            names = directories(known, chip=chip)
            readings = self._meter.read(containers=names, npus=here)
            if inventory is not None:
                devices = attribute(known, inventory, readings, chip=chip)
        return HamiSeen(
            state=state,
            registration=bus.registered.value,
            sweep=bus.vnpus.value,
            locks=bus.locks.value,
            devices=devices,
            turns=readings.turns,
            unread=readings.unread,
            host_sum=self._host_sum,
        )
