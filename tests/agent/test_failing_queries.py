"""A card whose driver calls fail, neither lost nor hung: its last state is kept for a while."""

from pathlib import Path

import pytest

from tests.agent.scene import node

pytestmark = pytest.mark.peer

_CALLS = ("dcmi_get_device_health", "dcmi_get_device_errorcode_v2")


async def test_as_many_failed_rounds_as_asked_for_take_an_npu_out(fake_dcmi: Path) -> None:
    """HL-4: three by default; the first good answer brings it back."""
    options = ("--health-interval", "1", "--failed-rounds", "2")
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(*options) as agent:
        for call in _CALLS:
            there.host.answer(call, -8009, phy=1, times=2)
        out = await there.kubelet.event("list")
        back = await there.kubelet.event("list")
        why = await agent.logged("npu out of service", npu=1)

        assert out["unhealthy"] == ["Ascend910-1"]
        assert why["reasons"] == ["driver-unresponsive"]
        assert back["unhealthy"] == []
