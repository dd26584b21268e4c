"""Starts and ends workers, and counts those that can't be ended.

When that is done is decided in ``process``.
"""

import logging
from collections.abc import Callable, Mapping

from ascend_agent.driver.bring_up import StartFailedError
from ascend_agent.driver.child import Child, Spawn
from ascend_agent.driver.frames import pack
from ascend_agent.driver.link import WorkerLink, start_link
from ascend_agent.driver.news import News

log = logging.getLogger(__name__)

_MOST_STUCK = 4


class Launcher:
    """Makes links to new workers, all alike."""

    def __init__(
        self,
        *,
        driver: str,
        config: Mapping[str, object],
        environment: Mapping[str, str],
        spawn: Spawn,
    ) -> None:
        self._hello = pack({"driver": driver, "config": dict(config)})
        self._environment = environment
        self._spawn = spawn
        self._stuck: list[Child] = []

    async def launch(
        self,
        *,
        hear: Callable[[WorkerLink, News], None],
        changed: Callable[[WorkerLink], None],
    ) -> WorkerLink:
        """Return the link to a new worker.

        Raises:
            StartFailedError: the host gives no process, or too many old ones still hold on.

        """
        self._stuck = [child for child in self._stuck if not child.gone]
        if len(self._stuck) >= _MOST_STUCK:
            raise StartFailedError(
                f"{len(self._stuck)} driver workers hang inside the kernel and can't be killed; "
                "no further one is started: look at the kernel log and restart the node"
            )
        try:
            return await start_link(
                self._spawn,
                hello=self._hello,
                environment=self._environment,
                hear=hear,
                changed=changed,
            )
        except (OSError, RuntimeError) as error:  # no process, or no thread to wait for it
            raise StartFailedError(f"the driver worker can't be started: {error}") from error

    async def retire(self, link: WorkerLink) -> None:
        """End the worker; one that survives SIGKILL is left behind and counted."""
        if not await link.close():
            self._stuck.append(link.child)
            log.error("driver worker cannot be killed", extra={"why": link.child.describe()})
