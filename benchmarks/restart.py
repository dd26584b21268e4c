"""What a restart costs, of the kubelet and of the driver worker.

From the kubelet being back until it has the list; from the worker killed until the next fault
reaches the kubelet.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

from benchmarks.report import Budget, arguments, percentile, publish
from benchmarks.scene import FAULT, Scene, scene


async def _kubelet(there: Scene, times: int) -> list[float]:
    took = []
    for _ in range(times):
        await there.kubelet.do("stop")
        there.kubelet.forget()
        served = await there.kubelet.do("serve")
        listed = await there.kubelet.event("list")
        took.append((int(listed["ns"]) - int(served["ns"])) / 1e6)
    return took


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def _worker(there: Scene, times: int) -> list[float]:
    """Return milliseconds from killing the worker to a fault of its successor at the kubelet.

    The fault is raised as soon as a successor has subscribed, as hardware would raise it.
    """
    took = []
    for _ in range(times):
        there.kubelet.forget()
        victim = there.worker
        killed_ns = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        # Its socket takes orders until it is gone, and obeys none.
        while _lives(victim):  # noqa: ASYNC110 -- somebody else's child tells nobody of its end
            await asyncio.sleep(0.001)
        while True:
            injected = await asyncio.to_thread(there.host.inject, 3, FAULT)
            if injected.subscribers:
                break
            await asyncio.sleep(0.002)
        listed = await there.kubelet.event("list", healthy=15)
        took.append((int(listed["ns"]) - killed_ns) / 1e6)
        await asyncio.to_thread(there.host.recover, 3, FAULT)
        await there.kubelet.event("list", healthy=16)
        await asyncio.sleep(11)  # a worker that lasted so long starts anew without a pause
    return took


async def run(times: int) -> dict[str, object]:
    """Return the figures of both restarts."""
    async with scene(16) as there:
        await asyncio.sleep(1)
        kubelet = await _kubelet(there, times)
        worker = await _worker(there, max(times // 20, 5))
    return {
        "kubelet_p50_ms": round(percentile(kubelet, 0.5), 1),
        "kubelet_p99_ms": round(percentile(kubelet, 0.99), 1),
        "kubelet_n": len(kubelet),
        "worker_p50_ms": round(percentile(worker, 0.5), 1),
        "worker_max_ms": round(max(worker), 1),
        "worker_n": len(worker),
    }


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__ or "", times=200)
    figures = asyncio.run(run(given.times))
    budgets = [
        Budget(figure="kubelet_p99_ms", most=30),
        Budget(figure="worker_max_ms", most=200),
    ]
    publish("restart", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
