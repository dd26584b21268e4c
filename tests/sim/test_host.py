"""The host of a simulated node."""

from ascend_agent.injection.resolve import checked_paths, resolve_mounts
from ascend_agent.model.allocation import DirectoryWant, Refused
from ascend_agent.model.hami import SoftPaths
from ascend_agent.sim.host import SimulatedFiles, SimulatedNuma
from ascend_agent.slicing.soft import shared_mounts
from tests.fakes.npus import identity


async def test_every_file_an_answer_relies_on_is_there() -> None:
    host = SimulatedFiles()

    assert await host.existing(["/dev/davinci0", "/dev/davinci_manager"]) == {
        "/dev/davinci0",
        "/dev/davinci_manager",
    }
    assert await host.entries(DirectoryWant(path="/dev/ub")) == ()
    assert await host.base_mounts() is None


async def test_what_a_soft_slice_relies_on_is_of_the_right_kind() -> None:
    """Else no scenario could show one."""
    mounts = shared_mounts(SoftPaths(root="/opt/core", region="/opt/region"))
    wanted = checked_paths(mounts)
    kinds = await SimulatedFiles().kinds(wanted)

    found = resolve_mounts(mounts, existing=frozenset(wanted), kinds=kinds)
    assert not isinstance(found, Refused)
    assert len(found) == len(mounts)


def test_the_npus_hang_on_two_numa_nodes() -> None:
    numa = SimulatedNuma(npus=5)

    assert [numa.read_numa(identity(phy)) for phy in range(5)] == [0, 0, 0, 1, 1]
