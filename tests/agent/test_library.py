"""A vendor library that can't be used: no exit, a clear text, and a start as soon as it can.

Whatever is wrong is said with the path and what to do about it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, AgentProcess, Node, node

pytestmark = pytest.mark.peer

Variant = Callable[[str], Path]


async def complaint(agent: AgentProcess) -> str:
    """Return what an agent without a driver says of it, once it does."""
    logged = await agent.logged("driver unavailable")
    assert (logged["level"], agent.running) == ("error", True)
    return str(logged["why"])


async def serves_once_mended(there: Node, library: Path) -> None:
    """Put a good library in the bad one's place, as an installer does, and wait for the list."""
    new = there.library.with_suffix(".new")
    shutil.copy(library, new)
    new.rename(there.library)

    assert (await there.kubelet.event("list"))["healthy"] == 4


async def test_a_library_that_is_missing(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset 910B3 4") as there:
        there.library.unlink()
        async with there.agent() as agent:
            why = await complaint(agent)
            assert f"{there.library} does not exist; correct --library" in why
            await serves_once_mended(there, fake_dcmi)


async def test_a_file_that_is_no_library(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset 910B3 4") as there:
        there.library.write_text("this is the installer's help text")
        async with there.agent() as agent:
            why = await complaint(agent)
            assert f"{there.library} can't be loaded" in why
            assert "check that it is made for this machine" in why
            await serves_once_mended(there, fake_dcmi)


async def test_a_library_that_is_too_old(fake_dcmi: Path, fake_dcmi_variant: Variant) -> None:
    old = fake_dcmi_variant("no-init")
    async with node(old, "preset 910B3 4") as there, there.agent() as agent:
        why = await complaint(agent)
        assert f"{there.library} has no init function; install the Ascend driver anew" in why
        await serves_once_mended(there, fake_dcmi)


@pytest.mark.parametrize(
    ("model", "variant"), [("preset 910B3 4", "no-v1"), ("preset 950 4", "no-v2")]
)
async def test_a_library_of_the_wrong_generation(
    fake_dcmi: Path, fake_dcmi_variant: Variant, model: str, variant: str
) -> None:
    async with node(fake_dcmi_variant(variant), model) as there, there.agent() as agent:
        why = await complaint(agent)
        assert str(there.library) in why
        assert "dcmi_init answered" in why
        assert "dcmiv2_init answered" in why
        assert "install" in why
        await serves_once_mended(there, fake_dcmi)


async def test_a_library_that_others_may_write_is_refused(fake_dcmi: Path) -> None:
    """The agent runs as root on every node: who can replace the file would own them all."""
    async with node(fake_dcmi, "preset 910B3 4") as there:
        there.library.chmod(0o666)
        async with there.agent(unsafe=False) as agent:
            why = await complaint(agent)

        assert f"{there.library} is refused" in why
        assert "remedy: ch" in why
        assert "--allow-unsafe-library" in why
        assert there.kubelet.seen("registered") == []


async def test_an_initialisation_that_fails_again_and_again(fake_dcmi: Path) -> None:
    """As on a node that boots: the driver's modules load while the agent already runs."""
    model = ("preset 910B3 4", "api none", "trace on")
    async with node(fake_dcmi, *model) as there, there.agent() as agent:
        why = await complaint(agent)
        assert "dcmi_init answered -8005" in why
        assert "the driver is still loading" in why
        await there.traced("dcmi_init", 3)
        there.host.run("api v1")

        assert (await there.kubelet.event("list"))["healthy"] == 4
        assert len(agent.told("driver unavailable")) == 1


@pytest.mark.parametrize("variant", ["no-chip-info-v2", "no-multi-utilisation", "no-events"])
async def test_a_library_that_lacks_what_newer_ones_have_serves_all_the_same(
    fake_dcmi_variant: Variant, variant: str
) -> None:
    library = fake_dcmi_variant(variant)
    async with node(library, "preset 910B3 4") as there, there.serving("--poll-interval", "0.5"):
        there.host.inject(1, FAULT)

        assert (await there.kubelet.event("list"))["unhealthy"] == ["Ascend910-1"]
