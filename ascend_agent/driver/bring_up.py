"""How a worker becomes usable: the library opened, then the fault events subscribed.

The order is fixed: an event that comes after the subscription is about a chip that the library
has already listed. How often a subscription that failed is tried again is decided here as well;
when a worker is started, and what follows from its end, in ``process``.
"""

from dataclasses import dataclass
from enum import Enum

from ascend_agent.driver.dcmi import codes
from ascend_agent.driver.frames import NODE_LANE
from ascend_agent.driver.link import WorkerLink
from ascend_agent.errors import DriverBusyError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.model.npu import DriverApi

_MOST_ENDED = 2
_AGAIN_S = 30.0
_RARELY_S = 600.0


class StartFailedError(Exception):
    """A worker could not be brought up; the text is for people."""


class WorkerEndedError(StartFailedError):
    """It ended meanwhile, or hung and was ended."""


class Subscription(Enum):
    """What came of asking for fault events."""

    NOT_WANTED = "not-wanted"
    CALLBACKS = "callbacks"
    NOT_SUPPORTED = "not-supported"  # this chip never will: poll
    FAILED = "failed"  # poll, and try again later


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDriver:
    """Which library answers, and in which generation of its interface."""

    api: DriverApi
    library: str
    dcmi_version: str
    driver_version: str


async def open_driver(link: WorkerLink, *, deadline_s: float) -> OpenedDriver:
    """Have the library found, checked, loaded and initialised.

    Raises:
        StartFailedError: it was refused or failed; the text is the worker's own.

    """
    answer = await _ask(link, "open", deadline_s)
    if answer["rc"] != 0:
        sentence = answer.get("detail") or f"{answer.get('call', 'open')} answered {answer['rc']}"
        raise StartFailedError(str(sentence))
    try:
        api = DriverApi(answer.get("api"))
    except ValueError as error:
        raise StartFailedError(f"the worker opened an unknown interface: {error}") from error
    return OpenedDriver(
        api=api,
        library=str(answer.get("library") or ""),
        dcmi_version=str(answer.get("dcmi_version") or ""),
        driver_version=str(answer.get("driver_version") or ""),
    )


async def subscribe(link: WorkerLink, *, deadline_s: float) -> Subscription:
    """Ask for fault events; raises StartFailedError only where the worker ended."""
    answer = await _ask(link, "subscribe", deadline_s)
    if answer["rc"] == 0:
        return Subscription.CALLBACKS
    if answer["rc"] in codes.ABSENT:
        return Subscription.NOT_SUPPORTED
    return Subscription.FAILED


class Subscriber:
    """Asks worker after worker for fault events; with *wanted* False none is asked.

    Where that ended two workers in a row, a new one is not asked at once: events are worth less
    than the NPUs, which a library that hangs or crashes there would else take from the node.
    """

    def __init__(self, *, wanted: bool, deadline_s: float) -> None:
        self._wanted = wanted
        self._deadline_s = deadline_s
        self._ended = 0

    @property
    def again_in_s(self) -> float:
        """Return how long after a failure to ask the same worker again."""
        return _RARELY_S if self._ended >= _MOST_ENDED else _AGAIN_S

    async def begin(self, link: WorkerLink) -> Subscription:
        """Ask a new worker, if that is wise; raises as ``ask`` does."""
        return Subscription.FAILED if self._ended >= _MOST_ENDED else await self.ask(link)

    async def ask(self, link: WorkerLink) -> Subscription:
        """Ask; raises StartFailedError only where the worker ended."""
        if not self._wanted:
            return Subscription.NOT_WANTED
        self._ended += 1  # until it has answered
        subscription = await subscribe(link, deadline_s=self._deadline_s)
        self._ended = 0
        return subscription


async def _ask(link: WorkerLink, op: str, deadline_s: float) -> dict[str, object]:
    try:
        return dict(await link.call(NODE_LANE, op, deadline_s=deadline_s))
    except (DriverUnavailableError, DriverBusyError, NpuUnresponsiveError) as error:
        raise WorkerEndedError(str(error)) from error
