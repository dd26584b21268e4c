"""Kubelet directory → "how it looks now": a kubelet restart or our own socket's removal shows.

So does another Ascend device plugin, which would hand out the same NPUs a second time (CF-4).
"""

import logging
import re
from collections.abc import Callable, Collection, Iterable

from ascend_agent.interfaces import DirectoryWatcher
from ascend_agent.model.kubelet import PluginDirectory
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)


_ASCEND = re.compile(r"(Ascend|npu|davinci-mini).*\.sock")
"""How other device plugins for these NPUs name their sockets."""


class WatchSockets:
    """Publishes each look at the device-plugin directory.

    *own* returns the names of our sockets, None while they are not known: nobody can be told from
    ourselves then.
    """

    def __init__(
        self,
        *,
        watcher: DirectoryWatcher,
        directory: LatestWriter[PluginDirectory],
        own: Callable[[], Collection[str] | None],
    ) -> None:
        self._watcher = watcher
        self._directory = directory
        self._own = own
        self._trouble = ""
        self._others: list[str] = []

    async def run(self) -> None:
        """Publish for ever; ends only when the watcher does."""
        async for look in self._watcher.looks():
            if look.trouble and look.trouble != self._trouble:
                log.warning("device-plugin directory not usable", extra={"why": look.trouble})
            elif self._trouble and not look.trouble:
                log.info("device-plugin directory usable again")
            self._trouble = look.trouble
            self._directory.put(look)
            self._look_for_others(look)

    def _look_for_others(self, look: PluginDirectory) -> None:
        own = self._own()
        others = [] if own is None else find_others(look.sockets, own=own)
        if others and others != self._others:
            log.warning("another ascend plugin on this node", extra={"sockets": others})
        elif self._others and not others:
            log.info("no other ascend plugin on this node any more")
        self._others = others


def find_others(names: Iterable[str], *, own: Collection[str]) -> list[str]:
    """Return those socket *names* that another Ascend device plugin would give, ascending."""
    return sorted(name for name in names if name not in own and _ASCEND.fullmatch(name))
