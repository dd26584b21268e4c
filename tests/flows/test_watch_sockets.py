"""Each look at the plugin directory reaches the bus."""

from collections.abc import AsyncIterator

from ascend_agent.bus import Bus
from ascend_agent.flows.watch_sockets import WatchSockets
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity


class _Watcher:
    def __init__(self, *looks: PluginDirectory) -> None:
        self._looks = looks

    async def looks(self) -> AsyncIterator[PluginDirectory]:
        for look in self._looks:
            yield look


async def test_the_newest_look_is_the_truth() -> None:
    bus = Bus([])
    looks = (
        PluginDirectory(present=False, trouble="/plugins is missing"),
        PluginDirectory(present=True, kubelet=SocketIdentity(1, 2, 3)),
    )
    await WatchSockets(
        watcher=_Watcher(*looks), directory=bus.directory.claim("watch-sockets")
    ).run()

    assert bus.directory.value == looks[1]
    assert bus.directory.version == 2
