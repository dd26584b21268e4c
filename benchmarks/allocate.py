"""One Allocate after the other, as a kubelet calls it, over a real socket.

Beside the agent as it comes a second one runs that does not ask the driver who holds an NPU. They
are called in turns, so that whatever else the machine does slows both alike.
With ``--dialect=hami`` each call is of a pod of its own on a real API server, whose programs must
be there (see CONTRIBUTING).
"""

import asyncio

from benchmarks.allocate_hami import run_hami
from benchmarks.report import Budget, arguments, percentile, publish
from benchmarks.scene import Scene, scene

_WARM_UP = 50
_TURN = 50


async def run(times: int) -> dict[str, object]:
    """Return the figures for a container of eight whole NPUs, and of one."""
    eight = [f"Ascend910-{phy}" for phy in range(8)]
    took: dict[str, list[float]] = {"": [], "_unasked": [], "_one": []}
    async with scene(16) as there, scene(16, "--refuse-held=false") as unasked:
        await asyncio.sleep(1)
        calls = (("", there, eight), ("_unasked", unasked, eight), ("_one", there, eight[:1]))
        for _, place, ids in calls:
            await _allocate(place, ids, _WARM_UP)
        for first in range(0, times, _TURN):
            for name, place, ids in calls:
                took[name] += await _allocate(place, ids, min(_TURN, times - first))
    figures: dict[str, object] = {}
    for name, values in took.items():
        figures |= {
            f"p50{name}_ms": round(percentile(values, 0.5), 2),
            f"p99{name}_ms": round(percentile(values, 0.99), 2),
        }
    return {**figures, "n": times}


async def _allocate(there: Scene, ids: list[str], times: int) -> list[float]:
    answer = await there.kubelet.do(
        "allocate_many", endpoint=there.endpoint, containers=[ids], times=times
    )
    return [ns / 1e6 for ns in answer["took_ns"]]


def main() -> None:
    """Measure and print."""
    choices = {"dialect": ("plain", "hami")}
    given = arguments(__doc__ or "", times=1000, choices=choices)
    if given.dialect == "plain":
        figures = asyncio.run(run(given.times))
        budgets = [Budget(figure="p50_ms", most=1.0), Budget(figure="p99_ms", most=2.5)]
    else:
        figures = asyncio.run(run_hami(given.times))
        patch_ms = figures["bare_patch_p99_ms"]
        assert isinstance(patch_ms, float)
        budgets = [Budget(figure="p99_ms", most=round(1.2 * patch_ms + 5, 2))]
    publish(f"allocate {given.dialect}", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
