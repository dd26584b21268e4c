"""Reading the metrics page: sums by container, told once as they change."""

import asyncio

import pytest

from ascend_agent.sim.entries import Entry
from ascend_agent.sim.hami.meter import Meter, parse_uses
from tests.fakes.running import running

LABELS = 'namespace="default",pod="p",container="main",vdevice_index="%d",device_uuid="U%d"'
OTHER = 'hami_host_gpu_memory_used_bytes{device_uuid="U0"} 1.0\n'


def page(used: int) -> str:
    """Return a page of one container with two devices."""
    lines = [OTHER]
    for device in (0, 1):
        labels = LABELS % (device, device)
        lines.append(f"hami_vgpu_memory_used_bytes{{{labels}}} {float(used)}\n")
        lines.append(f"hami_vgpu_memory_limit_bytes{{{labels}}} 4.194304e+06\n")
    return "".join(lines)


def test_a_container_has_the_sums_of_its_devices() -> None:
    assert parse_uses(page(1 << 20)) == {"default/p main": (2 << 20, 8 << 20)}
    assert parse_uses(OTHER) == {}


@pytest.mark.looptime
async def test_a_use_is_told_when_it_is_another() -> None:
    used, told = [1 << 20], list[Entry]()
    meter = Meter(render=lambda: page(used[0]).encode(), tell=told.append)
    async with running(meter.run):
        await asyncio.sleep(3.5)
        used[0] = 2 << 20
        await asyncio.sleep(3.5)

    assert [entry.facts["used_mib"] for entry in told] == [2, 4]
    assert told[0].facts == {
        "pod": "default/p",
        "container": "main",
        "used_mib": 2,
        "limit_mib": 8,
    }
