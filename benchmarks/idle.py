"""What an agent costs a node on which nothing happens: memory and processor, both processes."""

import asyncio

from benchmarks.report import Budget, arguments, publish
from benchmarks.scene import cpu_s, rss_mib, scene, stop

_SETTLE_S = 10.0


async def run(seconds: int) -> dict[str, object]:
    """Return resident memory and processor share of an idle agent with 16 NPUs, HTTP served."""
    async with scene(16, "--http", "127.0.0.1:0") as there:
        await asyncio.sleep(_SETTLE_S)
        pids = (there.agent.pid, there.worker)
        before = [cpu_s(pid) for pid in pids]
        await asyncio.sleep(seconds)
        used = [cpu_s(pid) - was for pid, was in zip(pids, before, strict=True)]
        memory = [rss_mib(pid) for pid in pids]
        stopped_s = await stop(there.agent)
    return {
        "rss_mib": round(sum(memory), 1),
        "agent_rss_mib": round(memory[0], 1),
        "worker_rss_mib": round(memory[1], 1),
        "cpu_percent": round(100 * sum(used) / seconds, 3),
        "agent_cpu_percent": round(100 * used[0] / seconds, 3),
        "worker_cpu_percent": round(100 * used[1] / seconds, 3),
        "stop_s": round(stopped_s, 2),
        "seconds": seconds,
    }


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__ or "", times=60)
    figures = asyncio.run(run(given.times))
    budgets = [
        Budget(figure="rss_mib", most=78),
        Budget(figure="cpu_percent", most=0.2),
        Budget(figure="stop_s", most=0.5),
    ]
    publish("idle", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
