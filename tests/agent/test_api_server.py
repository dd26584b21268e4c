"""The whole agent and an API server that is there, late, gone, or says no."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.agent.scene import AgentProcess, Node, node

pytestmark = pytest.mark.peer

FOUR = "preset 910B3 4"
CHIP = "node.kubernetes.io/npu.chip.name"
LABELS = {
    "accelerator": "huawei-Ascend910",
    "servertype": "Ascend910B-20",
    CHIP: "910B3",
    "mind-cluster/npu-chip-memory": "64G",
}
_PATIENCE_S = 20.0


def has_node(server: FakeApiServer, **labels: str) -> None:
    server.store.create(*node_item(labels=labels))


def options(there: Node, server: FakeApiServer) -> tuple[str, ...]:
    """Write a kubeconfig for that server and return the options that name it."""
    path = there.home / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": server.url}}],
        "users": [{"name": "agent", "user": {"token": "secret-of-the-agent"}}],
    }
    path.write_text(json.dumps(document))
    return "--node-name", "n1", "--kubeconfig", str(path)


def labels_of(server: FakeApiServer) -> dict[str, str]:
    found: dict[str, str] = server.store.get(("nodes", None, "n1"))["metadata"].get("labels", {})
    return found


async def labelled(
    server: FakeApiServer, true: Callable[[Mapping[str, str]], bool]
) -> Mapping[str, str]:
    """Return the node's labels once they are *true*."""
    changed = asyncio.Event()
    server.store.changed.append(changed.set)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not true(labels_of(server)):
                changed.clear()
                await changed.wait()
    finally:
        server.store.changed.remove(changed.set)
    return labels_of(server)


async def all_there(server: FakeApiServer) -> Mapping[str, str]:
    return await labelled(server, lambda found: LABELS.items() <= found.items())


def patches(server: FakeApiServer) -> int:
    return server.count("PATCH")


async def phase(agent: AgentProcess, wanted: str) -> None:
    await agent.until(lambda status: status["api"]["phase"] == wanted)


async def test_labels_appear_and_what_others_change_is_put_right(fake_dcmi: Path) -> None:
    """Golden case G28, through the whole agent; one patch for all, one for the repair."""
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server, zone="a", servertype="soc")
        async with there.serving(*options(there, server)) as agent:
            wanted = {**LABELS, "servertype": "soc"}
            found = await labelled(server, lambda now: wanted.items() <= now.items())
            driver = (await agent.status())["driver"]["dcmi_version"]
            assert found == wanted | {"zone": "a", "huawei.com/driver.version": driver}
            assert patches(server) == 1

            server.store.change(("nodes", None, "n1"), {"metadata": {"labels": {CHIP: "other"}}})
            await agent.logged("value of ours changed by others", key=CHIP, found="other")
            await labelled(server, lambda now: now[CHIP] == "910B3")
            status = await agent.until(
                lambda status: status["api"]["node"]["live"] and status["api"]["pods"]["live"]
            )
            metrics = (await agent.get("/metrics"))[1]

        assert patches(server) == 2
        assert status["api"]["phase"] == "ready"
        assert status["api"]["server"] == server.url
        assert status["api"]["pods"] == {"count": 0, "live": True}
        assert 'ascend_agent_api_requests_total{kind="patch"} 2.0' in metrics
        assert 'ascend_agent_api_view_live{view="node"} 1.0' in metrics
        assert "secret-of-the-agent" not in json.dumps(agent.lines)
        phrases = [line["msg"] for line in agent.lines]
        assert phrases.index("registered with the kubelet") < phrases.index("api server is used")


async def test_nothing_is_written_for_faults_restarts_of_the_kubelet_or_a_new_agent(
    fake_dcmi: Path,
) -> None:
    """SC-1: a node whose labels are right costs the API server nothing."""
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        async with there.serving(*options(there, server)):
            await all_there(server)
            there.host.inject(1, 0x80E01801)
            await there.kubelet.event("list", healthy=3)
            await there.restart_kubelet()
        there.kubelet.forget()
        async with there.serving(*options(there, server)) as agent:
            await phase(agent, "ready")

        assert patches(server) == 1


async def test_without_permission_to_patch_the_kubelet_is_served_and_the_rule_is_named(
    fake_dcmi: Path,
) -> None:
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        server.refuse(403, times=1000, of="PATCH")
        async with there.serving(*options(there, server)) as agent:
            line = await agent.logged("node not updated")
            code, text = await agent.get("/readyz")

        assert "patch" in line["why"]
        assert "nodes" in line["why"]
        assert (code, text.strip()) == (200, "ok")
        assert len(agent.told("node not updated")) == 1


async def test_an_api_server_that_comes_late_finds_the_kubelet_served(fake_dcmi: Path) -> None:
    """Design D9: what needs it waits and says so."""
    server = FakeApiServer()
    async with server.running():
        has_node(server)
    async with node(fake_dcmi, FOUR) as there, there.serving(*options(there, server)) as agent:
        await agent.logged("api server unreachable")
        assert (await agent.get("/readyz"))[0] == 200
        async with server.running():
            await all_there(server)
            await phase(agent, "ready")
            assert (await agent.status())["api"]["detail"] == ""


async def test_an_api_server_that_goes_takes_nothing_with_it(fake_dcmi: Path) -> None:
    """A fault reaches the kubelet all the same; what changed meanwhile is put right after."""
    server = FakeApiServer()
    async with node(fake_dcmi, FOUR) as there, server.running():
        has_node(server)
        async with there.serving(*options(there, server)) as agent:
            await all_there(server)
            await server.stop()
            await phase(agent, "unreachable")
            there.host.inject(1, 0x80E01801)
            await there.kubelet.event("list", healthy=3)
            await there.kubelet.do(
                "allocate", endpoint="Ascend910.sock", containers=[["Ascend910-0"]]
            )
            stale = await agent.until(lambda status: not status["api"]["node"]["live"])
            assert stale["ready"] is True

            server.store.change(("nodes", None, "n1"), {"metadata": {"labels": None}})
            await server.start()
            await all_there(server)
            await phase(agent, "ready")


async def test_a_node_name_that_does_not_exist_is_said(fake_dcmi: Path) -> None:
    """CF-10: a component that talks to a cluster the node left long ago."""
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        async with there.serving(*options(there, server)) as agent:
            await agent.logged("own node unknown to the api server")
            used = agent.told("api server is used")

            assert [(line["server"]) for line in used] == [server.url]
            assert (await agent.get("/readyz"))[0] == 200
        assert patches(server) == 0


async def test_the_agent_can_be_told_to_leave_the_node_alone(fake_dcmi: Path) -> None:
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        told = options(there, server)
        unwritten = ("--node-labels=false", "--node-annotations=false")
        async with there.serving(*told, *unwritten) as agent:
            await phase(agent, "ready")
            status = await agent.status()

        assert "update-annotations" not in [task["name"] for task in status["tasks"]]
        assert (patches(server), labels_of(server)) == (0, {})


async def test_without_a_node_name_no_api_server_is_used_and_that_is_said_once(
    fake_dcmi: Path,
) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        line = await agent.logged("api server not used")
        status = await agent.status()
        metrics = (await agent.get("/metrics"))[1]

        assert "NODE_NAME" in line["why"]
        assert (status["api"]["phase"], status["api"]["detail"]) == ("off", line["why"])
        assert status["ready"] is True
        assert len(agent.told("api server not used")) == 1
        assert 'ascend_agent_api_phase{phase="off"} 1.0' in metrics
        assert "api_requests" not in metrics
