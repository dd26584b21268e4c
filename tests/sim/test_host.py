"""The host of a simulated node."""

from ascend_agent.model.allocation import DirectoryWant
from ascend_agent.sim.host import SimulatedFiles, SimulatedNuma
from tests.fakes.npus import identity


async def test_every_file_an_answer_relies_on_is_there() -> None:
    host = SimulatedFiles()

    assert await host.existing(["/dev/davinci0", "/dev/davinci_manager"]) == {
        "/dev/davinci0",
        "/dev/davinci_manager",
    }
    assert await host.entries(DirectoryWant(path="/dev/ub")) == ()
    assert await host.base_mounts() is None


def test_the_npus_hang_on_two_numa_nodes() -> None:
    numa = SimulatedNuma(npus=5)

    assert [numa.read_numa(identity(phy)) for phy in range(5)] == [0, 0, 0, 1, 1]
