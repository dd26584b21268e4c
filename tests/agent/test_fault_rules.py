"""Fault rules of a running agent: a file that changes on disk, and the kubelet's next list."""

import json
from pathlib import Path

import pytest

from tests.agent.scene import node, npu

pytestmark = pytest.mark.peer

UNRATED = 0x80818C06
"""A code that only degrades an NPU, unless rules say otherwise."""


def write(directory: Path, name: str, content: object) -> None:
    """Put a file in the place of the old one at once, as an editor does."""
    (directory / "new").write_text(content if isinstance(content, str) else json.dumps(content))
    (directory / "new").rename(directory / name)


async def test_rules_that_change_hold_at_once_for_what_stands_and_bad_ones_change_nothing(
    fake_dcmi: Path, tmp_path: Path
) -> None:
    """D31, D32, W24: no restart, no poll that one waits for, and never a table without codes."""
    option = f"--fault-config-dir={tmp_path}"
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(option) as agent:
        there.host.inject(2, UNRATED)
        noted = await agent.until(lambda now: npu(now, 2)["faults"])
        write(tmp_path, "faultCode.json", {"SeparateNPUCodes": ["80818C06"]})
        harsher = await there.kubelet.event("list")
        write(tmp_path, "faultCode.json", "{}")
        refused = await agent.logged("fault rules refused")
        status = await agent.status()
        write(tmp_path, "faultCode.json", {"NotHandleFaultCodes": ["80818C06"]})
        milder = await there.kubelet.event("list")

    assert npu(noted, 2)["state"] == "sub-healthy"
    assert harsher["unhealthy"] == ["Ascend910-2"]
    assert "faultCode.json" in str(refused)
    assert npu(status, 2)["healthy"] is False
    assert status["fault_rules"]["refused"] != []
    assert milder["unhealthy"] == []


async def test_an_isolation_outlives_the_rule_it_is_by(fake_dcmi: Path, tmp_path: Path) -> None:
    """W24: who takes a rule away has not looked at the NPU."""
    rule = {"EventId": ["80818C06"], "TimeWindow": 60, "Times": 2}
    manual = {**rule, "FaultHandling": "ManuallySeparateNPU"}
    write(tmp_path, "faultCustomization.json", {"FaultFrequency": [manual]})
    option = f"--fault-config-dir={tmp_path}"
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(option) as agent:
        for _ in range(2):
            there.host.notify(2, UNRATED, assertion=2)
        await there.kubelet.event("list", unhealthy=["Ascend910-2"])
        write(tmp_path, "faultCustomization.json", {"FaultFrequency": []})
        await agent.until(lambda now: now["fault_rules"]["version"] > 1)
        there.host.inject(0, 0x8C204E00)
        listed = await there.kubelet.event("list")

    assert listed["unhealthy"] == ["Ascend910-0", "Ascend910-2"]
