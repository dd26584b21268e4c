"""Network ports as the vendor's tool tells them to a real agent: a program at a path."""

from pathlib import Path
from typing import Any

import pytest

from tests.agent.scene import node, npu
from tests.fakes.hccn import FakeHccnTool

pytestmark = pytest.mark.peer

LINK_DOWN = 0x81078603


def _codes(status: dict[str, Any]) -> list[str]:
    return [fault["code"] for fault in npu(status, 0)["faults"]]


async def test_what_the_tool_shows_is_a_fault_until_it_shows_something_else(
    fake_dcmi: Path, tmp_path: Path
) -> None:
    """The driver lists nothing: only the tool knows. Its NPU stays with the kubelet."""
    tool = FakeHccnTool(tmp_path)
    tool.answers("-i 0 -link -g", "link status: DOWN")
    async with (
        node(fake_dcmi, "preset 910B3 1") as there,
        there.serving("--hccn-tool", str(tool.path)) as agent,
    ):
        status = await agent.until(lambda now: _codes(now) == ["81078603"])
        assert npu(status, 0)["healthy"]

        tool.answers("-i 0 -link -g", "link status: UP")
        there.host.inject(0, LINK_DOWN)
        there.host.recover(0, LINK_DOWN)
        await agent.until(lambda now: not _codes(now))
        assert not agent.told("network ports not readable")


async def test_a_tool_that_is_missing_is_said_and_is_no_fault(
    fake_dcmi: Path, tmp_path: Path
) -> None:
    """It was a link that is down, on every NPU of the node (faults D13)."""
    async with (
        node(fake_dcmi, "preset 910B3 1") as there,
        there.serving("--hccn-tool", str(tmp_path / "hccn_tool")) as agent,
    ):
        said = await agent.logged("network ports not readable")

        assert "hccn_tool is not there" in said["why"]
        assert _codes(await agent.status()) == []
