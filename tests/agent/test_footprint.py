"""What an agent of the plain dialect carries about: nothing of the dialects it does not speak."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.agent.scene import AgentProcess, Node, node, running_agent

pytestmark = pytest.mark.peer

FOREIGN = ("ascend_agent.dialects.hami", "ascend_agent.wiring.hami", "ascend_agent.sim")
"""Modules that no agent of the plain dialect has a use for, each with all inside it."""

OPTIONAL = (
    "ascend_agent.driver.share",
    "ascend_agent.faults.dpu_mapping",
    "ascend_agent.faults.dpus",
    "ascend_agent.faults.hang",
    "ascend_agent.flows.detect_hangs",
    "ascend_agent.flows.enable_shares",
    "ascend_agent.flows.poll_dpus",
    "ascend_agent.flows.write_cdi_spec",
    "ascend_agent.host.cdi",
    "ascend_agent.host.nics",
    "ascend_agent.host.process_clock",
    "ascend_agent.host.stated_nics",
    "ascend_agent.host.stated_ports",
    "ascend_agent.settings.dpus",
    "difflib",
)
"""What options bring that are off by default, or mistakes."""

_AGENT = """
import gc, json, os, pathlib, sys
found = pathlib.Path(sys.argv.pop())
collected = {"loading": 0, "later": 0}

def count(phase, _):
    if phase == "start" and "ascend_agent.cli.commands" in sys.modules:
        loaded = hasattr(sys.modules.get("ascend_agent.app"), "Agent")
        collected["later" if loaded else "loading"] += 1

def tell():
    kept = gc.get_freeze_count()
    found.write_text(json.dumps({"modules": sorted(sys.modules), "kept": kept} | collected))

gc.callbacks.append(count)
from ascend_agent.cli.main import main
code = main(sys.argv[1:])
tell()
os._exit(code)
"""


def write_kubeconfig(path: Path, url: str) -> None:
    document = {
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
    path.write_text(json.dumps(document))


@dataclass(slots=True, kw_only=True)
class Footprint:
    """What an agent that ended had: its modules, and what the garbage collector did.

    ``loading`` and ``later`` count collections before and after the agent's own code was there;
    ``kept`` is how many objects no collection looks at.
    """

    modules: list[str] = field(default_factory=list)
    loading: int = 0
    later: int = 0
    kept: int = 0


@asynccontextmanager
async def plain_agent(
    there: Node, *options: str, footprint: Footprint
) -> AsyncIterator[AgentProcess]:
    """Run an agent that hands one NPU out; *footprint* is filled once it ended."""
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
    for name, value in json.loads(modules.read_text()).items():
        setattr(footprint, name, value)


def of(names: Sequence[str], loaded: Sequence[str]) -> list[str]:
    return [m for m in loaded if any(f"{m}.".startswith(f"{name}.") for name in names)]


async def test_an_agent_loads_nothing_of_hami_unless_told(fake_dcmi: Path) -> None:
    """Plain is the default. RAM is scarce on a node, and YAML is only for HAMi's configuration."""
    seen = Footprint()
    async with (
        node(fake_dcmi, "preset 910B3 2") as there,
        plain_agent(there, footprint=seen),
    ):
        pass

    assert "ascend_agent.app" in seen.modules
    assert of([*FOREIGN, "yaml"], seen.modules) == []
    assert of(OPTIONAL, seen.modules) == []


async def test_an_agent_collects_no_garbage_while_it_loads(fake_dcmi: Path) -> None:
    """Nearly all of it stays: a tenth of a start went into looking through it again and again."""
    seen = Footprint()
    async with node(fake_dcmi, "preset 910B3 2") as there, plain_agent(there, footprint=seen):
        pass

    assert seen.loading == 0
    assert seen.later > 1, "it collects again once it runs"
    assert seen.kept > 0


async def test_an_agent_on_a_cluster_loads_nothing_of_hami_either(fake_dcmi: Path) -> None:
    """What it loads late, for the API server, leads nowhere else. A kubeconfig is YAML."""
    seen = Footprint()
    async with node(fake_dcmi, "preset 910B3 2") as there, FakeApiServer().running() as server:
        server.store.create(*node_item())
        write_kubeconfig(there.home / "kubeconfig", server.url)
        reach = ("--node-name", "n1", "--kubeconfig", str(there.home / "kubeconfig"))
        async with plain_agent(there, "--dialect", "plain", *reach, footprint=seen) as agent:
            await agent.until(lambda status: status["api"]["phase"] == "ready")

    assert "ascend_agent.cluster.connection" in seen.modules
    assert of(FOREIGN, seen.modules) == []
