"""Ten million random events through the fold: what they leave in memory, and what each costs.

The events are those of the unit suite's soak, of which there are 200,000: chips that raise, clear
and notice codes at random, lose events, drop off and come back. Memory is sampled after each tenth,
so a leak shows as a slope, and the processor's time an event shows whether history makes it dearer.
"""

import argparse
import os
import time
from itertools import pairwise

from benchmarks.report import Budget, publish
from benchmarks.scene import rss_mib
from tests.faults.storm import Storm, weigh

_PIECES = 10


def run(events: int, *, seed: int) -> dict[str, object]:
    """Return memory and cost of a storm of so many events, after each tenth of them."""
    storm = Storm(seed=seed)
    memory, cost, weights = [], [], []
    for _ in range(_PIECES):
        began_s = time.thread_time()
        storm.blow(events // _PIECES)
        cost.append((time.thread_time() - began_s) / (events // _PIECES) * 1e6)
        memory.append(rss_mib(os.getpid()))
        weights.append(weigh(storm.ledger))
    growth = [after - before for before, after in pairwise(memory)]
    return {
        "events": events,
        "rss_mib": [round(each, 1) for each in memory],
        "grown_mib": round(memory[-1] - memory[0], 2),
        "most_grown_in_a_tenth_mib": round(max(growth), 2),
        "values_held": weights,
        "event_us": [round(each, 1) for each in cost],
    }


def main() -> None:
    """Measure, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--events", type=int, default=10_000_000, help="10 million by default")
    parser.add_argument("--seed", type=int, default=1, help="1 by default")
    given = parser.parse_args()
    figures = run(given.events, seed=given.seed)
    publish("soak", figures, [Budget(figure="grown_mib", most=1.0)], as_json=given.json)


if __name__ == "__main__":
    main()
