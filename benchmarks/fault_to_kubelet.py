"""From the callback inside the vendor library to the list at the kubelet, and back again.

Both clocks are CLOCK_MONOTONIC of this machine: the library notes when it raises the event, the
kubelet when the message arrived. ``--storm`` lets another NPU raise 1,000 events a second.
"""

import argparse
import asyncio

from benchmarks.report import Budget, percentile, publish
from benchmarks.scene import FAULT, Scene, scene
from tests.peer.client import Facts

_WARM_UP = 40
_PAUSE_S = 0.02
_STORM_CODE = 0x80E18402
_STORM_EVERY_S = 0.1


async def measure(
    there: Scene, *, npus: int, shares: int, times: int
) -> tuple[list[float], list[float]]:
    """Return milliseconds from event to list: of faults, and of recoveries in between.

    A recovery holds one more driver call: the code must no longer be listed.
    """
    faults: list[float] = []
    recoveries: list[float] = []
    for number in range(2 * times + _WARM_UP):
        npu, occurs = number // 2 % npus, number % 2 == 0
        if occurs:
            injected = await asyncio.to_thread(there.host.inject, npu, FAULT)
        else:
            injected = await asyncio.to_thread(there.host.recover, npu, FAULT)
        device = f"Ascend910-{npu}" if shares == 1 else f"Ascend910-{npu}-0"
        arrived = await _list_that_shows(there, device, sick=occurs)
        if number >= _WARM_UP:
            took = faults if occurs else recoveries
            took.append((int(arrived["ns"]) - injected.first_ns) / 1e6)
        there.kubelet.forget()
        await asyncio.sleep(_PAUSE_S)
    return faults, recoveries


async def _list_that_shows(there: Scene, device: str, *, sick: bool) -> Facts:
    """Return the first list in which *device* is as wanted; others may flap beside it."""
    while True:
        arrived = await there.kubelet.event("list")
        if (device in arrived["unhealthy"]) is sick:
            return arrived


async def _storm(there: Scene, npu: int) -> None:
    while True:
        await asyncio.to_thread(there.host.burst, npu, _STORM_CODE, 100)
        await asyncio.sleep(_STORM_EVERY_S)


async def run(*, npus: int, shares: int, times: int, storm: bool) -> dict[str, object]:
    """Return the figures of one scene."""
    async with scene(npus, "--shares", str(shares)) as there, asyncio.TaskGroup() as group:
        await asyncio.sleep(1)
        there.kubelet.forget()
        calm = npus - 1 if storm else npus
        noise = group.create_task(_storm(there, calm)) if storm else None
        faults, recoveries = await measure(
            there, npus=calm if storm else npus, shares=shares, times=times
        )
        if noise:
            noise.cancel()
    return {
        "p50_ms": round(percentile(faults, 0.5), 2),
        "p99_ms": round(percentile(faults, 0.99), 2),
        "max_ms": round(max(faults), 2),
        "recovery_p50_ms": round(percentile(recoveries, 0.5), 2),
        "recovery_p99_ms": round(percentile(recoveries, 0.99), 2),
        "devices": npus * shares,
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
    parser.add_argument("--storm", action="store_true")
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
