"""An agent on the cluster's node whose hardware is in the test's hand.

For scenes in which hardware changes once a pod is there: a scenario of the simulated driver goes
by the clock, and how long a pod takes to run is the machine's affair.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.agent.scene import AgentProcess
from tests.cluster.node.scene import NPUS, Scene
from tests.fake_dcmi.control import FakeHost, fake_host


@asynccontextmanager
async def agent_on(scene: Scene, library: Path, host: FakeHost) -> AsyncIterator[AgentProcess]:
    """Run an agent on a fake *host* until the block ends, from when the kubelet knows it."""
    driver = ("--library", str(library), "--allow-unsafe-library")
    async with scene.agent(
        "--inject", "devices", driver=driver, environment=host.environment
    ) as agent:
        await agent.logged("registered with the kubelet")
        yield agent


@asynccontextmanager
async def on_fake_hardware(
    scene: Scene, library: Path
) -> AsyncIterator[tuple[AgentProcess, FakeHost]]:
    """Run an agent on the fake *library* until the block ends, from when its NPUs are offered."""
    with fake_host(f"preset 910B3 {NPUS}") as host:
        async with agent_on(scene, library, host) as agent:
            await scene.offers(NPUS)
            yield agent, host
