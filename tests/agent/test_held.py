"""An NPU that a pod's live process holds is not given to another, whatever the kubelet thinks.

As after the kubelet lost its checkpoint: it has forgotten what it gave, and offers it again.
"""

import os
from pathlib import Path

import pytest

from tests.agent.pod_process import pod_process
from tests.agent.scene import AgentProcess, Node, node
from tests.agent.test_allocations import allocate, ids
from tests.peer.client import PeerError
from tests.too_slow import TooSlowError

pytestmark = pytest.mark.peer

POD = "0d6e2c1e-7b1f-4a57-9f5b-2c3e8a1b4d5f"
FOUR = "preset 910B3 4"
MIB = 1 << 20


def hold(there: Node, phy: int, *pids: int) -> None:
    """Have processes hold memory of an NPU, as the driver tells it."""
    there.host.set_processes(phy, [(pid, 100 * MIB) for pid in pids])


async def given(there: Node, *phys: int) -> str:
    """Return the NPUs that a container which asks for *phys* is given."""
    (grant,) = await allocate(there, ids(*phys))
    return str(grant["envs"]["ASCEND_VISIBLE_DEVICES"])


async def refused(there: Node, agent: AgentProcess, *phys: int) -> str:
    """Return with which text a container of *phys* is refused.

    What the driver does not tell in good time holds nobody up, and is not asked again soon: where
    the machine was too slow for that, nothing is said of the agent.
    """
    try:
        await allocate(there, ids(*phys))
    except PeerError as error:
        return error.text
    late = agent.told("npu processes not known")
    assert late
    raise TooSlowError(late[0]["why"])


async def test_an_npu_of_a_running_pod_is_refused_until_the_pod_is_gone(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        async with pod_process(POD) as process:
            hold(there, 2, process.pid)

            text = await refused(there, agent, 1, 2)
            assert text.startswith("Ascend910-2 is not free")
            assert f"process {process.pid} of the pod with uid {POD} holds NPU 2" in text
            assert (await agent.logged("allocate refused"))["why"] == text
            assert await given(there, 1, 3) == "1,3"

        # The driver still lists what has ended.
        assert await given(there, 1, 2) == "1,2"


async def test_processes_outside_of_pods_and_our_own_keep_nobody_out(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        hold(there, 2, os.getpid(), agent.pid, there.worker)

        assert await given(there, 2) == "2"


async def test_with_shares_several_pods_may_hold_one_npu(fake_dcmi: Path) -> None:
    async with (
        node(fake_dcmi, FOUR) as there,
        there.serving("--shares=4"),
        pod_process(POD) as process,
    ):
        hold(there, 2, process.pid)

        (grant,) = await allocate(there, ["Ascend910-2-1"])
        assert grant["envs"]["ASCEND_VISIBLE_DEVICES"] == "2"


async def test_the_check_can_be_switched_off(fake_dcmi: Path) -> None:
    """For nodes where pods that asked for no NPU are let use all of them."""
    async with (
        node(fake_dcmi, FOUR) as there,
        there.serving("--refuse-held=false"),
        pod_process(POD) as process,
    ):
        hold(there, 2, process.pid)

        assert await given(there, 2) == "2"


@pytest.mark.parametrize("rc", [-8005, -8255])
async def test_a_driver_that_does_not_tell_its_processes_serves_all_the_same(
    fake_dcmi: Path, rc: int
) -> None:
    options = ("--http", "127.0.0.1:0")
    async with node(fake_dcmi, FOUR) as there, there.serving(*options) as agent:
        there.host.answer("dcmi_get_device_resource_info", rc)

        assert await given(there, 2) == "2"
        phrase = "npu processes not told" if rc == -8255 else "npu processes not known"
        assert (await agent.logged(phrase))["npus"] == [2]
        _, page = await agent.get("/metrics")
        name = 'ascend_agent_allocates_unchecked_total{resource="huawei.com/Ascend910"}'
        assert f"{name} 1.0" in page


async def test_a_card_that_hangs_on_the_question_costs_a_moment_and_no_pod(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, FOUR) as there, there.serving() as agent:
        there.host.hang("dcmi_get_device_resource_info", phy=2)

        assert await given(there, 1, 2) == "1,2"
        logged = await agent.logged("npu processes not known")
        assert (logged["npus"], logged["why"]) == ([2], "the driver did not answer within 0.3 s")
        there.host.release()
