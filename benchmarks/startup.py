"""From process start to the first list at the kubelet, with all cards well and with one hung.

Library initialisation is excluded by nature: the stand-in's takes no time.
"""

import asyncio
import sysconfig

from benchmarks.report import Budget, arguments, percentile, publish
from benchmarks.scene import node, stop


async def _starts(times: int, *model: str) -> list[float]:
    took: list[float] = []
    async with node(16, model=model) as (place, kubelet):
        for number in range(times + 1):
            kubelet.forget()
            agent, started_ns = await place.start(())
            first = await kubelet.event("list")
            if number:  # the first start writes bytecode
                took.append((int(first["ns"]) - started_ns) / 1e6)
            await stop(agent)
    return took


async def run(times: int) -> dict[str, object]:
    """Return milliseconds of healthy starts and of starts with a card hung in its identity."""
    well = await _starts(times)
    hung = await _starts(times, "hang dcmi_get_device_chip_info* 5")
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "p50_ms": round(percentile(well, 0.5)),
        "p99_ms": round(percentile(well, 0.99)),
        "hung_p50_ms": round(percentile(hung, 0.5)),
        "hung_p99_ms": round(percentile(hung, 0.99)),
        "n": len(well),
        "optimised_python": optimised,
    }


def main() -> None:
    """Measure and print."""
    given = arguments(__doc__ or "", times=20)
    figures = asyncio.run(run(given.times))
    budgets = [
        Budget(figure="p50_ms", most=450 if figures["optimised_python"] else 600),
        Budget(figure="hung_p50_ms", most=1000),
    ]
    publish("startup", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
