"""From the callback inside the vendor library to the list at the kubelet, and back again.

Both clocks are CLOCK_MONOTONIC of this machine: the library notes when it raises the event, the
kubelet when the message arrived. ``--storm`` lets another NPU raise 1,000 events a second: one each
millisecond, or with ``--storm=bursts`` a hundred at once each tenth of a second.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ascend_agent.faults.standing import PULSE_MS
from benchmarks.report import Budget, percentile, publish
from benchmarks.scene import FAULT, Scene, cpu_s, scene, waited_s
from tests.fake_dcmi.control import Injected
from tests.peer.client import Facts

_PAUSE_S = 0.02
_COUNTS_S = PULSE_MS / 1000 + 0.1
_STORM_CODE = 0x80E18402
_STORM_EVERY_US = 1_000
_BURST = 100
_BURST_EVERY_S = 0.1

STORMS = ("none", "even", "bursts")


async def measure(
    there: Scene, *, npus: int, shares: int, times: int
) -> tuple[list[float], list[float]]:
    """Return milliseconds from event to list: of faults, and of their recoveries.

    Every NPU in turn fails, and then every one recovers, no sooner than its fault has counted for
    as long as each must. A recovery holds one more driver call: the code must no longer be listed.
    """
    clock = asyncio.get_running_loop().time
    faults: list[float] = []
    recoveries: list[float] = []
    while len(recoveries) < times + npus:
        failed_at: list[float] = []
        for npu in range(npus):
            injected = await asyncio.to_thread(there.host.inject, npu, FAULT)
            faults.append(await _took_ms(there, injected, npu, shares=shares, sick=True))
            failed_at.append(clock())
        for npu, at in enumerate(failed_at):
            await asyncio.sleep(at + _COUNTS_S - clock())
            injected = await asyncio.to_thread(there.host.recover, npu, FAULT)
            recoveries.append(await _took_ms(there, injected, npu, shares=shares, sick=False))
    return faults[npus:], recoveries[npus:]  # the first round warms up


async def _took_ms(there: Scene, injected: Injected, npu: int, *, shares: int, sick: bool) -> float:
    device = f"Ascend910-{npu}" if shares == 1 else f"Ascend910-{npu}-0"
    arrived = await _list_that_shows(there, device, sick=sick)
    there.kubelet.forget()
    await asyncio.sleep(_PAUSE_S)
    return (int(arrived["ns"]) - injected.first_ns) / 1e6


async def _list_that_shows(there: Scene, device: str, *, sick: bool) -> Facts:
    """Return the first list in which *device* is as wanted; others may flap beside it."""
    while True:
        arrived = await there.kubelet.event("list")
        if (device in arrived["unhealthy"]) is sick:
            return arrived


@asynccontextmanager
async def _storming(there: Scene, npu: int, *, storm: str) -> AsyncIterator[None]:
    """Have *npu* raise 1,000 events a second until the block ends, in the way of *storm*."""
    host = there.host
    if storm == "none":
        yield
    elif storm == "even":
        await asyncio.to_thread(host.storm, npu, _STORM_CODE, every_us=_STORM_EVERY_US)
        yield
        await asyncio.to_thread(host.storm, npu, _STORM_CODE, every_us=0)
    else:
        async with asyncio.TaskGroup() as group:
            bursts = group.create_task(_bursts(there, npu))
            yield
            bursts.cancel()


async def _bursts(there: Scene, npu: int) -> None:
    while True:
        await asyncio.to_thread(there.host.burst, npu, _STORM_CODE, _BURST)
        await asyncio.sleep(_BURST_EVERY_S)


async def run(*, npus: int, shares: int, times: int, storm: str = "none") -> dict[str, object]:
    """Return the figures of one scene."""
    calm = npus if storm == "none" else npus - 1
    async with scene(npus, "--shares", str(shares)) as there:
        await asyncio.sleep(1)
        there.kubelet.forget()
        async with _storming(there, calm, storm=storm):
            began_s = asyncio.get_running_loop().time()
            used_s = cpu_s(there.agent.pid), cpu_s(there.worker)
            stood_s = waited_s(there.agent.pid)
            faults, recoveries = await measure(there, npus=calm, shares=shares, times=times)
            agent_s, worker_s = cpu_s(there.agent.pid) - used_s[0], cpu_s(there.worker) - used_s[1]
            stood_s = waited_s(there.agent.pid) - stood_s
            took_s = asyncio.get_running_loop().time() - began_s
    return {
        "p50_ms": round(percentile(faults, 0.5), 2),
        "p99_ms": round(percentile(faults, 0.99), 2),
        "max_ms": round(max(faults), 2),
        "recovery_p50_ms": round(percentile(recoveries, 0.5), 2),
        "recovery_p99_ms": round(percentile(recoveries, 0.99), 2),
        "devices": npus * shares,
        "recovery_max_ms": round(max(recoveries), 2),
        "agent_cpu_percent": round(100 * agent_s / took_s, 1),
        "worker_cpu_percent": round(100 * worker_s / took_s, 1),
        "agent_waited_percent": round(100 * stood_s / took_s, 1),
        "n": len(faults),
        "storm": storm,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--npus", type=int, default=16)
    parser.add_argument("--shares", type=int, default=1)
    parser.add_argument("--storm", choices=STORMS, nargs="?", const="even", default="none")
    given = parser.parse_args()
    figures = asyncio.run(
        run(npus=given.npus, shares=given.shares, times=given.times, storm=given.storm)
    )
    many = given.npus * given.shares > 1000
    budgets = [Budget(figure="p50_ms", most=3.5 if many else 1.5)]
    budgets.append(Budget(figure="p99_ms", most=7.0 if many else 5.0))
    publish("fault_to_kubelet", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
