"""The ConfigMap with fault rules on a real API server, with a rule for its name alone."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.model.cluster import ApiPhase, ConfigMapKey
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.beside import beside
from tests.cluster.account import RULES, account, grant, make_node
from tests.cluster.api import Api, ApiError, Json, node_path
from tests.cluster.connected import connection, running, until
from tests.cluster.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

Data = Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The connection of an agent that follows a ConfigMap called ``rules``."""

    api: Api
    namespace: str
    cluster: ClusterConnection

    @property
    def maps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    async def shows(self, data: Data) -> None:
        """Wait until the connection says so of the ConfigMap."""
        async with asyncio.timeout(30):
            await until(self.cluster.fault_config(), lambda found: found == data)

    async def make(self, name: str, data: Mapping[str, str]) -> None:
        await self.api.create(self.maps, {"metadata": {"name": name}, "data": dict(data)})


def named(name: str) -> Json:
    """Return the rule for the ConfigMap of that name."""
    verbs = ["list", "watch"]
    return {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [name],
        "verbs": verbs,
    }


@pytest.fixture
async def scene(
    api: Api, control_plane: ControlPlane, own_namespace: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    node = f"node-{own_namespace}"
    await make_node(api, node)
    await grant(api, namespace=own_namespace, rules=[*RULES, named("rules")])
    one = connection(
        folder=await account(control_plane, tmp_path / "sa", namespace=own_namespace),
        url=control_plane.url,
        node=NodeName(node),
        fault_config_map=ConfigMapKey(namespace=own_namespace, name="rules"),
    )
    async with running(one):
        yield Scene(api=api, namespace=own_namespace, cluster=one)
    await control_plane.revive()  # the test may have stopped it
    await api.delete(node_path(node))


async def test_it_is_seen_made_changed_deleted_and_made_again_by_the_watch(scene: Scene) -> None:
    """Watched, not polled: no further request is needed for any of it."""
    await scene.shows(None)
    async with asyncio.timeout(30):
        await until(scene.cluster.states(), lambda state: state.phase is ApiPhase.READY)
    before = scene.cluster.counts
    await scene.make("other", {"a": "0"})
    await scene.make("rules", {"faultCode.json": "{}"})
    await scene.shows({"faultCode.json": "{}"})
    await scene.api.patch(f"{scene.maps}/rules", {"data": {"PollInterval": "300"}})
    await scene.shows({"faultCode.json": "{}", "PollInterval": "300"})
    await scene.api.delete(f"{scene.maps}/rules")
    await scene.shows(None)
    await scene.make("rules", {"faultCode.json": "[]"})
    await scene.shows({"faultCode.json": "[]"})

    after = scene.cluster.counts
    assert (after.lists, after.watches, after.reads, after.patches) == (
        before.lists,
        before.watches,
        0,
        0,
    )


async def test_the_largest_config_map_that_the_api_takes_is_read(scene: Scene) -> None:
    """Its values may have 1 MiB together; the API server refuses a byte more."""
    half = "x" * (1024 * 512)
    await scene.make("rules", {"a": half})
    with pytest.raises(ApiError, match="more than 1048576 bytes"):
        await scene.api.patch(f"{scene.maps}/rules", {"data": {"b": f"{half}x"}})
    await scene.api.patch(f"{scene.maps}/rules", {"data": {"b": half}})

    await scene.shows({"a": half, "b": half})


async def test_while_the_server_is_away_nothing_is_said_and_then_the_truth(
    scene: Scene, control_plane: ControlPlane
) -> None:
    await scene.make("rules", {"a": "1"})
    await scene.shows({"a": "1"})
    said: list[Data] = []

    async def listen() -> None:
        async for data in scene.cluster.fault_config():
            said.append(data)
            if data == {"a": "2"}:
                return

    # Whoever asks later may be told before a listener that waits has had its turn.
    async with beside(listen(), name="listen") as listening:
        await control_plane.stop_server()
        async with asyncio.timeout(30):
            await until(scene.cluster.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
        await control_plane.start_server()
        await scene.api.patch(f"{scene.maps}/rules", {"data": {"a": "2"}})
        async with asyncio.timeout(30):
            await listening

    assert said == [{"a": "1"}, {"a": "2"}]


async def test_a_rule_for_another_name_is_a_refusal_and_says_nothing_of_the_map(
    api: Api, control_plane: ControlPlane, own_namespace: str, tmp_path: Path
) -> None:
    """The agent must not take "you may not see it" for "it is not there"."""
    node = f"node-{own_namespace}"
    await make_node(api, node)
    await grant(api, namespace=own_namespace, rules=[*RULES, named("others")])
    one = connection(
        folder=await account(control_plane, tmp_path / "sa", namespace=own_namespace),
        url=control_plane.url,
        node=NodeName(node),
        fault_config_map=ConfigMapKey(namespace=own_namespace, name="rules"),
    )
    async with running(one):
        async with asyncio.timeout(30):
            state = await until(one.states(), lambda state: state.phase is ApiPhase.FORBIDDEN)
            own = await until(one.nodes(), lambda node: node.live)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(one.fault_config())
    await api.delete(node_path(node))

    assert f"grant list on configmaps in namespace {own_namespace}" in state.detail
    assert own.name == node, "the rest goes on"
