"""One Allocate after the other, as a kubelet calls it, over a real socket."""

import asyncio

from benchmarks.report import Budget, arguments, percentile, publish
from benchmarks.scene import scene

_WARM_UP = 50


async def run(times: int) -> dict[str, object]:
    """Return the figures for a container of eight whole NPUs."""
    ids = [f"Ascend910-{phy}" for phy in range(8)]
    async with scene(16) as there:
        await asyncio.sleep(1)
        answer = await there.kubelet.do(
            "allocate_many", endpoint=there.endpoint, containers=[ids], times=times + _WARM_UP
        )
    took = [ns / 1e6 for ns in answer["took_ns"][_WARM_UP:]]
    return {
        "p50_ms": round(percentile(took, 0.5), 2),
        "p99_ms": round(percentile(took, 0.99), 2),
        "n": len(took),
    }


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__ or "", times=1000)
    figures = asyncio.run(run(given.times))
    budgets = [Budget(figure="p50_ms", most=1.0), Budget(figure="p99_ms", most=2.5)]
    publish("allocate", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
