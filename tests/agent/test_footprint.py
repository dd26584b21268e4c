"""What an agent of the plain dialect carries about: nothing of the dialects it does not speak."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.agent.scene import AgentProcess, Node, node, running_agent

pytestmark = pytest.mark.peer

FOREIGN = ("ascend_agent.dialects.hami", "ascend_agent.app_hami", "ascend_agent.sim")
"""Modules that no agent of the plain dialect has a use for, each with all inside it."""

_AGENT = """
import atexit, json, pathlib, sys
found = pathlib.Path(sys.argv.pop())
atexit.register(lambda: found.write_text(json.dumps(sorted(sys.modules))))
from ascend_agent.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def write_kubeconfig(path: Path, url: str) -> None:
    document = {
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
    path.write_text(json.dumps(document))


@asynccontextmanager
async def plain_agent(there: Node, *options: str, loaded: list[str]) -> AsyncIterator[AgentProcess]:
    """Run an agent that hands one NPU out; *loaded* is filled with its modules once it ended."""
    modules = there.home / "modules"
    command = (sys.executable, "-c", _AGENT, *there.command(*options)[3:], str(modules))
    environment = {"ASCEND_DOCKER_RUNTIME": "True", **there.host.environment}
    async with running_agent(command, environment) as agent:
        registered = await there.kubelet.event("registered")
        await there.kubelet.event("list")
        answer = await there.kubelet.do(
            "allocate", endpoint=registered["endpoint"], containers=[["Ascend910-0"]]
        )
        assert answer["containers"][0]["envs"]
        yield agent
    loaded.extend(json.loads(modules.read_text()))


def of(names: Sequence[str], loaded: Sequence[str]) -> list[str]:
    return [m for m in loaded if any(f"{m}.".startswith(f"{name}.") for name in names)]


async def test_an_agent_loads_nothing_of_hami_unless_told(fake_dcmi: Path) -> None:
    """Plain is the default. RAM is scarce on a node, and YAML is only for HAMi's configuration."""
    loaded: list[str] = []
    async with (
        node(fake_dcmi, "preset 910B3 2") as there,
        plain_agent(there, loaded=loaded),
    ):
        pass

    assert "ascend_agent.app" in loaded
    assert of([*FOREIGN, "yaml"], loaded) == []


async def test_an_agent_on_a_cluster_loads_nothing_of_hami_either(fake_dcmi: Path) -> None:
    """What it loads late, for the API server, leads nowhere else. A kubeconfig is YAML."""
    loaded: list[str] = []
    async with node(fake_dcmi, "preset 910B3 2") as there, FakeApiServer().running() as server:
        server.store.create(*node_item())
        write_kubeconfig(there.home / "kubeconfig", server.url)
        reach = ("--node-name", "n1", "--kubeconfig", str(there.home / "kubeconfig"))
        async with plain_agent(there, "--dialect", "plain", *reach, loaded=loaded) as agent:
            await agent.until(lambda status: status["api"]["phase"] == "ready")

    assert "ascend_agent.cluster.connection" in loaded
    assert of(FOREIGN, loaded) == []
