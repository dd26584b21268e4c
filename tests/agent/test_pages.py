"""The agent's pages answer, whatever the driver does."""

from pathlib import Path

import pytest

from tests.agent.scene import FAULT, node, npu

pytestmark = pytest.mark.peer


async def test_every_page_answers_while_a_card_hangs(fake_dcmi: Path) -> None:
    """A hung card is no reason to restart the agent, nor to send no pods to the node."""
    quick = ("--query-deadline", "1", "--health-interval", "1")
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(*quick) as agent:
        there.host.inject(3, FAULT)
        await there.kubelet.event("list", healthy=3)
        there.host.hang("dcmi_*", phy=1)
        await there.kubelet.event("list", healthy=2)
        pages = {
            page: await agent.get(page)
            for page in ("/healthz", "/readyz", "/status", "/metrics", "/", "/nothing")
        }
        status = await agent.status()
        there.host.release()
        await there.kubelet.event("list", healthy=3)

        assert {page: code for page, (code, _) in pages.items()} == {
            **dict.fromkeys(("/healthz", "/readyz", "/status", "/metrics", "/"), 200),
            "/nothing": 404,
        }
        assert npu(status, 1)["reasons"] == ["driver-unresponsive"]
        assert [fault["code"] for fault in npu(status, 3)["faults"]] == ["8C204E00"]
        assert "driver-unresponsive" in pages["/"][1]
        metrics = pages["/metrics"][1]
        assert "# TYPE" in metrics
        assert "8C204E00" in metrics


async def test_pages_answer_before_there_is_a_driver_and_say_why(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset 910B3 4") as there:
        there.library.unlink()
        async with there.agent() as agent:
            said = await agent.logged("driver unavailable")
            pages = {
                page: await agent.get(page)
                for page in ("/healthz", "/readyz", "/status", "/metrics", "/")
            }

        assert {page for page, (code, _) in pages.items() if code != 200} == {"/readyz"}
        assert pages["/readyz"][0] == 503
        assert said["why"] in pages["/readyz"][1]
