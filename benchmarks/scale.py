"""The same fault with 16, 64, 1,000 and 6,400 devices: big lists must stay cheap."""

import asyncio

from benchmarks.fault_to_kubelet import run as fault
from benchmarks.report import Budget, arguments, publish

_SIZES = ((16, 1), (64, 1), (10, 100), (64, 100))


async def run(times: int) -> dict[str, object]:
    """Return p50 and p99 for each size, named by the number of devices."""
    figures: dict[str, object] = {"n": times}
    for npus, shares in _SIZES:
        seen = await fault(npus=npus, shares=shares, times=times)
        figures[f"p50_ms_{npus * shares}"] = seen["p50_ms"]
        figures[f"p99_ms_{npus * shares}"] = seen["p99_ms"]
    return figures


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__ or "", times=400)
    figures = asyncio.run(run(given.times))
    budgets = [
        Budget(figure="p50_ms_16", most=1.5),
        Budget(figure="p99_ms_16", most=5.0),
        Budget(figure="p50_ms_6400", most=3.5),
        Budget(figure="p99_ms_6400", most=7.0),
    ]
    publish("scale", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
