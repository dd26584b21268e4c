"""What the agent knows of the driver, as published: one change for each thing that happens.

When those things happen is decided in ``process``.
"""

import dataclasses

from ascend_agent.driver.bring_up import OpenedDriver, Subscription
from ascend_agent.model.npu import DriverPhase, DriverState, LaneId
from ascend_agent.runtime.latest import LatestWriter

_CALLBACKS = {
    Subscription.NOT_WANTED: None,
    Subscription.CALLBACKS: True,
    Subscription.NOT_SUPPORTED: False,
    Subscription.FAILED: False,
}


class PublishedState:
    """The newest ``DriverState`` and its writer."""

    def __init__(self, writer: LatestWriter[DriverState]) -> None:
        self._writer = writer
        self.now = DriverState(phase=DriverPhase.STARTING)

    def note_launch(self) -> None:
        """One more worker was started; whether it is of use is not known yet."""
        self._put(dataclasses.replace(self.now, starts=self.now.starts + 1))

    def note_ready(
        self, opened: OpenedDriver, subscription: Subscription, *, parked: tuple[LaneId, ...]
    ) -> None:
        """A worker can be asked."""
        self._put(
            dataclasses.replace(
                self.now,
                phase=DriverPhase.READY,
                detail="",
                api=opened.api,
                library=opened.library,
                dcmi_version=opened.dcmi_version,
                driver_version=opened.driver_version,
                callbacks=_CALLBACKS[subscription],
                parked_lanes=parked,
            )
        )

    def note_subscription(self, subscription: Subscription) -> None:
        """Fault events were asked for again."""
        self._put(dataclasses.replace(self.now, callbacks=_CALLBACKS[subscription]))

    def note_parked(self, lanes: tuple[LaneId, ...]) -> None:
        """These lanes hang, and no others."""
        self._put(dataclasses.replace(self.now, parked_lanes=lanes))

    def note_end(self, why: str) -> None:
        """No worker is there any more; a driver that was not available stays so."""
        phase, detail = self.now.phase, self.now.detail
        if phase is not DriverPhase.UNAVAILABLE:
            phase, detail = DriverPhase.STARTING, why
        self._put(
            dataclasses.replace(
                self.now, phase=phase, detail=detail, callbacks=None, parked_lanes=()
            )
        )

    def note_unavailable(self, why: str) -> bool:
        """A worker could not be brought up; return whether this was not known already."""
        state = dataclasses.replace(self.now, phase=DriverPhase.UNAVAILABLE, detail=why)
        news = state != self.now
        self._put(state)
        return news

    def _put(self, state: DriverState) -> None:
        self.now = state
        self._writer.put(state)
