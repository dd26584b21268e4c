"""Each look at the plugin directory reaches the bus."""

import logging
from collections.abc import AsyncIterator

import pytest

from ascend_agent.bus import Bus
from ascend_agent.flows.watch_sockets import WatchSockets
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity


class _Watcher:
    def __init__(self, *looks: PluginDirectory) -> None:
        self._looks = looks

    async def looks(self) -> AsyncIterator[PluginDirectory]:
        for look in self._looks:
            yield look


def _flow(bus: Bus, *looks: PluginDirectory) -> WatchSockets:
    directory = bus.directory.claim("watch-sockets")
    return WatchSockets(
        watcher=_Watcher(*looks), directory=directory, own=lambda: ["Ascend910.sock"]
    )


def _with(*names: str) -> PluginDirectory:
    sockets = {name: SocketIdentity(1, number, 1) for number, name in enumerate(names)}
    return PluginDirectory(present=True, sockets=sockets)


async def test_the_newest_look_is_the_truth() -> None:
    bus = Bus([])
    looks = (
        PluginDirectory(present=False, trouble="/plugins is missing"),
        PluginDirectory(present=True, kubelet=SocketIdentity(1, 2, 3)),
    )
    await _flow(bus, *looks).run()

    assert bus.directory.value == looks[1]
    assert bus.directory.version == 2


async def test_another_ascend_plugin_is_named_once_and_its_end_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CF-4: two plugins that offer the same cards make counts absurd."""
    caplog.set_level(logging.INFO)
    ours = ("Ascend910.sock", ".Ascend910.sock.17", "nvidia-gpu.sock")
    looks = (
        _with(*ours),
        _with(*ours, "Ascend910B3.sock"),
        _with("Ascend910B3.sock"),
        _with(*ours, "Ascend910B3.sock", "npu-core.sock"),
        _with(*ours),
    )

    await _flow(Bus([]), *looks).run()

    assert [(r.getMessage(), vars(r).get("sockets")) for r in caplog.records] == [
        ("another ascend plugin on this node", ["Ascend910B3.sock"]),
        ("another ascend plugin on this node", ["Ascend910B3.sock", "npu-core.sock"]),
        ("no other ascend plugin on this node any more", None),
    ]


async def test_while_our_own_name_is_not_known_nobody_is_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Under HAMi it is configured: a socket left by our predecessor may be our own."""
    bus = Bus([])
    flow = WatchSockets(
        watcher=_Watcher(_with("Ascend910B3.sock")),
        directory=bus.directory.claim("watch-sockets"),
        own=lambda: None,
    )

    await flow.run()

    assert caplog.messages == []


async def test_what_is_wrong_with_the_directory_is_told_when_it_begins_changes_and_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OB-2."""
    caplog.set_level(logging.INFO)
    missing = PluginDirectory(present=False, trouble="is missing")
    denied = PluginDirectory(present=False, trouble="permission denied")

    await _flow(Bus([]), missing, missing, denied, _with(), _with()).run()

    assert [(r.getMessage(), vars(r).get("why")) for r in caplog.records] == [
        ("device-plugin directory not usable", "is missing"),
        ("device-plugin directory not usable", "permission denied"),
        ("device-plugin directory usable again", None),
    ]
