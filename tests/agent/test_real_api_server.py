"""The whole agent, as a pod's process, on a real API server with the rights of its chart.

What is refused to the agent, and what it asks for at all, is in the server's own audit log.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.scene import AgentProcess, Node, node, running_agent
from tests.cluster.account import account, grant, make_node
from tests.cluster.api import Api, Json, node_path
from tests.cluster.control_plane import ControlPlane

pytestmark = pytest.mark.cluster

FOUR = "preset 910B3 4"
CHIP = "node.kubernetes.io/npu.chip.name"
RULES: list[Json] = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
]
_QUIET_S = 10
"""Long enough for what would repeat itself; a steady state has no event to wait for."""


@asynccontextmanager
async def in_pod(
    there: Node, control_plane: ControlPlane, *, name: str, namespace: str
) -> AsyncIterator[AgentProcess]:
    """Run an agent that finds the API server as a process in a pod does."""
    folder = await account(control_plane, there.home / "account", namespace=namespace)
    environment = {
        "ASCEND_DOCKER_RUNTIME": "True",
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(control_plane.port),
        "NODE_NAME": name,
        **there.host.environment,
    }
    command = there.command("--service-account-dir", str(folder))
    async with running_agent(command, environment) as agent:
        await there.kubelet.event("list", healthy=4)
        yield agent


def asked(control_plane: ControlPlane, *, namespace: str, since: int) -> list[Json]:
    """Return what the agent asked for."""
    user = f"system:serviceaccount:{namespace}:default"
    events = control_plane.audit_events(since=since)
    return [event for event in events if event["user"]["username"] == user]


async def patched(control_plane: ControlPlane, *, namespace: str, since: int) -> None:
    """Wait until the server has logged a change by the agent."""
    user = f"system:serviceaccount:{namespace}:default"
    await control_plane.audit.event(
        lambda event: event["verb"] == "patch" and event["user"]["username"] == user, since=since
    )


def labels(found: Json | None) -> dict[str, str]:
    assert found is not None
    held: dict[str, str] = found["metadata"].get("labels", {})
    return held


async def test_labels_are_kept_with_two_watches_and_a_patch_a_change(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path
) -> None:
    """SC-1, AP-8, least privilege: no right is asked for beyond these, and each one is used."""
    name = f"node-{own_namespace}"
    await grant(api, namespace=own_namespace, rules=RULES)
    await make_node(api, name)
    since = control_plane.audit.position()
    async with (
        node(fake_dcmi, FOUR) as there,
        in_pod(there, control_plane, name=name, namespace=own_namespace) as agent,
    ):
        await api.until(node_path(name), lambda now: CHIP in labels(now))
        await agent.until(lambda status: status["api"]["phase"] == "ready")
        await patched(control_plane, namespace=own_namespace, since=since)
        middle = control_plane.audit.position()
        theirs = {"metadata": {"labels": {CHIP: "theirs"}}}
        await api.patch(node_path(name), theirs)
        await agent.logged("value of ours changed by others", key=CHIP)
        found = await api.until(node_path(name), lambda now: labels(now)[CHIP] == "910B3")
        await patched(control_plane, namespace=own_namespace, since=middle)
        before = control_plane.audit.position()
        there.host.inject(1, 0x80E01801)
        await there.kubelet.event("list", healthy=3)
        await asyncio.sleep(_QUIET_S)
        quiet = asked(control_plane, namespace=own_namespace, since=before)
        status = await agent.status()

    assert quiet == []
    assert labels(found)["servertype"] == "Ascend910B-20"
    assert status["api"]["node"]["name"] == name
    assert status["api"]["credentials"]
    events = asked(control_plane, namespace=own_namespace, since=since)
    assert {event["responseStatus"]["code"] for event in events} == {200}
    # A watch is logged when it begins and when it ends.
    begun = [event for event in events if event["stage"] == "ResponseStarted"]
    ended = [event for event in events if event["verb"] != "watch"]
    counts = Counter((event["verb"], event["objectRef"]["resource"]) for event in begun + ended)
    assert counts == {
        ("list", "nodes"): 1,
        ("list", "pods"): 1,
        ("watch", "nodes"): 1,
        ("watch", "pods"): 1,
        ("patch", "nodes"): 2,
    }


async def test_an_api_server_that_is_restarted_finds_the_labels_kept(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path
) -> None:
    """What somebody changed while nobody could watch is put right afterwards."""
    name = f"node-{own_namespace}"
    await grant(api, namespace=own_namespace, rules=RULES)
    await make_node(api, name)
    async with (
        node(fake_dcmi, FOUR) as there,
        in_pod(there, control_plane, name=name, namespace=own_namespace) as agent,
    ):
        await api.until(node_path(name), lambda now: CHIP in labels(now))
        await control_plane.stop_server()
        await agent.logged("api server unreachable")
        there.host.inject(1, 0x80E01801)
        await there.kubelet.event("list", healthy=3)
        assert (await agent.get("/readyz"))[0] == 200
        await control_plane.start_server()
        await api.patch(node_path(name), {"metadata": {"labels": None}})
        await api.until(node_path(name), lambda now: labels(now).get(CHIP) == "910B3")
        await agent.until(lambda status: status["api"]["phase"] == "ready")
