"""What every part of the agent is made from, and what they all say in the same way."""

from dataclasses import dataclass
from typing import Final

from ascend_agent import chips
from ascend_agent.bus import Bus
from ascend_agent.cluster.late import LateConnection
from ascend_agent.cluster.off import ClusterOff
from ascend_agent.driver.process import DriverWorker
from ascend_agent.errors import WiringError
from ascend_agent.interfaces import HostFiles, NumaReader, SchedulerDialect, SlicingMode
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu
from ascend_agent.runtime.backoff import Backoff
from ascend_agent.runtime.clock import Clock
from ascend_agent.settings import DialectName, DriverKind, Settings

ENDLESS: Final = Backoff(delays_s=(0.05, 0.2, 1.0, 5.0, 10.0, 30.0), endless=True)
"""For tasks the kubelet does not depend on: they are tried for ever, and devices stay offered."""

SPECS: Final = {spec.generation: spec for spec in chips.SPECS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The two views of the host that a simulated node replaces by its own."""

    files: HostFiles
    numa: NumaReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What ``app`` has made already.

    ``started`` is when, in seconds of the loop's clock; ``library_path`` is where the vendor's
    programs look for their libraries.
    """

    settings: Settings
    bus: Bus
    clock: Clock
    worker: DriverWorker
    cluster: LateConnection | ClusterOff
    host: Host
    dialect: SchedulerDialect
    mode: SlicingMode
    started: float
    library_path: str

    @property
    def simulated(self) -> bool:
        """Return whether the node's NPUs are made up."""
        return self.settings.driver is DriverKind.SIMULATED

    @property
    def hami(self) -> bool:
        """Return whether HAMi schedules."""
        return self.settings.dialect is DialectName.HAMI


def spec_of(npu: Npu) -> ChipSpec:
    """Return the spec of an inventoried NPU; the inventory holds only recognised chips."""
    spec = SPECS.get(npu.generation)
    if spec is None:
        raise WiringError(f"no chip spec for generation {npu.generation}")
    return spec
