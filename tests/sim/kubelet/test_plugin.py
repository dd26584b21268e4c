"""One plugin as the kubelet sees it."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent.model.ids import PluginDeviceId
from ascend_agent.runtime.topic import Topic, TopicReader
from ascend_agent.sim.kubelet import DeviceState, Happening, Listed, Registered
from ascend_agent.sim.kubelet.plugin import Plugin
from tests.fakes.running import running
from tests.sim.kubelet.plugins import RESOURCE, FakePlugin, serving


@asynccontextmanager
async def followed(
    served: FakePlugin,
    *,
    options: api.DevicePluginOptions | None = None,
    earlier: dict[PluginDeviceId, DeviceState] | None = None,
) -> AsyncIterator[tuple[Plugin, TopicReader[Happening]]]:
    topic: Topic[Happening] = Topic("test")
    reader = topic.subscribe()
    with tempfile.TemporaryDirectory(prefix="k") as name:
        socket = Path(name) / "npu.sock"
        async with serving(served, socket):
            plugin = Plugin(
                resource=RESOURCE,
                socket=socket,
                options=options,
                earlier=earlier or {},
                happened=topic.claim("test"),
            )
            async with running(plugin.follow):
                yield plugin, reader


async def until_listed(reader: TopicReader[Happening]) -> list[Happening]:
    seen: list[Happening] = []
    while not any(isinstance(one, Listed) for one in seen):
        seen += await reader.next()
    return seen


async def test_options_are_asked_for_where_they_were_not_told() -> None:
    async with followed(FakePlugin({"a": True}, prefers=("a",))) as (plugin, reader):
        (registered, *_) = await until_listed(reader)

        assert isinstance(registered, Registered)
        assert registered.prefers
        assert plugin.prefers


async def test_a_first_list_differs_from_that_of_an_earlier_stream() -> None:
    """After a restart of the plugin all its devices turn healthy again; people see that."""
    earlier = {PluginDeviceId("a"): DeviceState(healthy=False, numa=None)}

    async with followed(FakePlugin({"a": True, "b": True}), earlier=earlier) as (_, reader):
        listed = (await until_listed(reader))[-1]

        assert isinstance(listed, Listed)
        assert listed.changed == (("a", True),)


async def test_a_preference_for_what_is_not_free_is_ignored() -> None:
    async with followed(FakePlugin({}, prefers=("x", "b", "a"))) as (plugin, reader):
        await until_listed(reader)
        free = [PluginDeviceId("a"), PluginDeviceId("b")]

        assert await plugin.prefer(free=free, count=1) == ("b",)


async def test_a_plugin_without_preferences_is_not_asked() -> None:
    async with followed(FakePlugin({"a": True}), options=api.DevicePluginOptions()) as (plugin, _):
        assert not plugin.prefers
