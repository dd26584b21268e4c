"""The simulated driver in the agent's own process, on loop time: what flow tests run on.

One object that is every reader a flow may ask for. Deadlines, parked lanes, take-overs and
restarts are those of ``driver.process``; on a virtual-time loop they cost nothing.
"""

import asyncio
from collections.abc import Mapping

from ascend_agent.driver.deadlines import Deadlines
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.news import DriverEvents
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.share import DriverShares
from ascend_agent.driver.simulated.peer import spawn_in_loop
from ascend_agent.driver.switches import DriverSwitches
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.driver.vnpus import DriverVnpus
from ascend_agent.model.npu import DriverState
from ascend_agent.runtime.latest import LatestWriter

_NS_PER_S = 1_000_000_000


class SimulatedDriver(
    DriverInventory,
    DriverHealth,
    DriverEvents,
    DriverUsage,
    DriverShares,
    DriverSwitches,
    DriverVnpus,
):
    """A whole simulated node: every reader there is of a driver, and what changes chips.

    *config* as the backend takes it; the node starts now unless it says ``started_at_ns``. Make
    it inside the running loop and keep ``run`` running.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, object],
        state: LatestWriter[DriverState],
        deadlines: Deadlines | None = None,
    ) -> None:
        now_ns = round(asyncio.get_running_loop().time() * _NS_PER_S)
        worker = DriverWorker(
            driver="simulated",
            config={"started_at_ns": now_ns, **config},
            state=state,
            environment={},
            deadlines=deadlines,
            spawn=spawn_in_loop,
        )
        super().__init__(worker)
        DriverEvents.__init__(self, worker)
        DriverSwitches.__init__(self, worker)
        self.run = worker.run
