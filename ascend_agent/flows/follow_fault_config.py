"""Files and ConfigMap with fault rules → the rules in force, and what of them can't be used.

Without a directory the built-in rules are in force at once, else what it holds as soon as it has
answered; the API server is never waited for. Which offer counts, and what is wrong with one, is
decided in ``faults/fault_config``.
"""

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import NoReturn

from ascend_agent.errors import TaskEndedError
from ascend_agent.faults.fault_config import FaultConfig, Sources, judge
from ascend_agent.interfaces import ClusterWatch, FaultConfigFiles
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.threads import Threads
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_JUDGING_S = 60.0  # a file of the largest size takes a tenth of a second


class FollowFaultConfig:
    """Keeps the fault rules current; *directory* and *config_map* are their names for people.

    *files* None: no directory is to be followed.
    """

    def __init__(
        self,
        *,
        files: FaultConfigFiles | None,
        directory: str,
        watch: ClusterWatch,
        config_map: str,
        fault_config: LatestWriter[FaultConfigState],
    ) -> None:
        self._files = files
        self._watch = watch
        self._writer = fault_config
        self._threads = Threads(name="fault-config", limit=1)
        self._wakeup = Wakeup()
        # Kept when the flow is started again: what is in force stays so.
        self._sources = Sources(directory=directory, config_map=config_map)
        self._config = FaultConfig()
        self._state: FaultConfigState | None = None
        # Nobody should see other rules first than those that will stand.
        self._known = files is None

    async def run(self) -> NoReturn:
        """Follow both for ever."""
        if self._known and self._state is None:
            self._publish(self._config)
        async with asyncio.TaskGroup() as group:
            if self._files is not None:
                group.create_task(self._follow_files(self._files), name="follow-fault-files")
            group.create_task(self._follow_config_map(), name="follow-fault-config-map")
            while True:
                await self._wakeup.wait()
                if self._known:
                    await self._judge()

    async def _follow_files(self, files: FaultConfigFiles) -> NoReturn:
        async for look in files.looks():
            self._sources = replace(self._sources, files=look)
            self._known = True
            self._wakeup.set()
        raise TaskEndedError("fault files")

    async def _follow_config_map(self) -> NoReturn:
        async for data in self._watch.fault_config():
            self._sources = replace(self._sources, data=data)
            self._wakeup.set()
        raise TaskEndedError("fault config map")

    async def _judge(self) -> None:
        # Beside the loop: a long file must not hold up a fault.
        work = partial(judge, self._config, self._sources)
        self._publish(await self._threads.run(work, deadline_s=_JUDGING_S))

    def _publish(self, config: FaultConfig) -> None:
        before, self._config = self._config, config
        old, rules = self._state, config.rules()
        version = 1 if old is None else old.version + (rules != old.rules)
        self._state = FaultConfigState(rules=rules, version=version, refused=config.refused)
        self._writer.put(self._state)
        _tell_problems(before, config)
        if old is None or version != old.version:
            log.info("fault rules in force", extra={"source": rules.source, "version": version})


def _tell_problems(before: FaultConfig, config: FaultConfig) -> None:
    """Log what can't be used, once for each content, and when all of it can be again."""
    for name, part in config.parts.items():
        old = before.parts[name]
        if part.judged == old.judged:
            continue
        facts = {"file": name, "source": part.judged[0], "why": "; ".join(part.problems)}
        if part.refused:
            log.warning("fault rules refused", extra=facts)
        elif part.problems:
            log.warning("fault rules used in part", extra=facts)
        elif old.problems:
            log.info("fault rules accepted", extra={"file": name, "source": part.source})
