"""Kubelet directory → "how it looks now": a kubelet restart or our own socket's removal shows."""

import logging

from ascend_agent.interfaces import DirectoryWatcher
from ascend_agent.model.kubelet import PluginDirectory
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)


class WatchSockets:
    """Publishes each look at the device-plugin directory."""

    def __init__(
        self, *, watcher: DirectoryWatcher, directory: LatestWriter[PluginDirectory]
    ) -> None:
        self._watcher = watcher
        self._directory = directory
        self._trouble = ""

    async def run(self) -> None:
        """Publish for ever; ends only when the watcher does."""
        async for look in self._watcher.looks():
            if look.trouble and look.trouble != self._trouble:
                log.warning("device-plugin directory not usable", extra={"why": look.trouble})
            elif self._trouble and not look.trouble:
                log.info("device-plugin directory usable again")
            self._trouble = look.trouble
            self._directory.put(look)
