"""Twenty thousand Allocates in the hami dialect: what they leave in the agent.

Agent, fake API server, scheduler and kubelet share one process, so its memory is that of all four;
what the three others keep is bounded, and full after the first tenth. The agent's own objects are
counted, each with the values it holds: what is kept of each pod shows as a slope there first.
"""

import argparse
import asyncio
import logging
import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.report import publish
from benchmarks.scene import rss_mib
from tests.agent.pod_stream import pod_stream, weigh

_PIECES = 10
_STRAY_EACH = 500
_NAMED = 8


async def run(allocates: int) -> dict[str, object]:
    """Return what is there after each tenth of so many requests, half of them of soft slices."""
    memory, held, tasks, files, cost, left = [], [], [], [], [], []
    weights = []
    with tempfile.TemporaryDirectory(prefix="bench") as home:
        async with pod_stream(Path(home), npus=8, stray_each=_STRAY_EACH) as stream:
            for _ in range(_PIECES):
                served, began_s = stream.allocates, time.process_time()
                for soft in (False, True):
                    await stream.turn(soft=soft)
                    await stream.serve(allocates // _PIECES // 2, soft=soft)
                cost.append((time.process_time() - began_s) / (stream.allocates - served) * 1e3)
                weights.append(weigh())
                held.append(sum(weights[-1].values()))
                memory.append(rss_mib(os.getpid()))
                tasks.append(len(asyncio.all_tasks()))
                files.append(_open_files())
                left.append(len(stream.directories))
            served = stream.allocates
    more = {name: now - weights[0].get(name, 0) for name, now in weights[-1].items()}
    most = sorted(more, key=lambda name: -more[name])[:_NAMED]
    return {
        "allocates": served,
        "rss_mib": [round(each, 1) for each in memory],
        "grown_mib": round(memory[-1] - memory[0], 2),
        "most_grown_in_a_tenth_mib": round(max(b - a for a, b in pairwise(memory)), 2),
        "values_held": held,
        "most_grown": {name: more[name] for name in most if more[name] > 0},
        "tasks": tasks,
        "open_files": files,
        "directories_left": left,
        # Of all four together.
        "allocate_cpu_ms": [round(each, 1) for each in cost],
    }


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def main() -> None:
    """Measure, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--allocates", type=int, default=20_000, help="20,000 by default")
    given = parser.parse_args()
    logging.disable(logging.ERROR)
    publish("growth", asyncio.run(run(given.allocates)), [], as_json=given.json)


if __name__ == "__main__":
    main()
