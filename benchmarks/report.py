"""How a benchmark says what it saw: its figures, the budget of each, and the machine."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that one figure may be; ``unit`` is part of the figure's name already."""

    figure: str
    most: float


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which *share* of all values lie, without interpolation."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def arguments(
    description: str, *, times: int, choices: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> argparse.Namespace:
    """Parse what every benchmark takes, --json and --times, and *choices*, each with its default.

    The values of a choice come with the default first.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--times", type=int, default=times, help=f"repetitions, {times} by default")
    for name, values in choices.items():
        text = f"{values[0]} by default"
        parser.add_argument(f"--{name}", choices=values, default=values[0], help=text)
    return parser.parse_args()


def publish(
    name: str, figures: Mapping[str, object], budgets: Sequence[Budget], *, as_json: bool
) -> None:
    """Print the figures with their budgets; a missed one is said, never hidden."""
    judged = {
        budget.figure: {"budget": budget.most, "met": _number(figures, budget) <= budget.most}
        for budget in budgets
    }
    if as_json:
        document = {"name": name, **figures, "budgets": judged, "machine": _machine()}
        print(json.dumps(document))
        return
    print(f"{name}  ({_machine()})")
    for key, value in figures.items():
        verdict = judged.get(key)
        note = "" if verdict is None else f"   budget {verdict['budget']}"
        missed = verdict is not None and not verdict["met"]
        print(f"  {key:28} {value}{note}{'   MISSED' if missed else ''}")


def _number(figures: Mapping[str, object], budget: Budget) -> float:
    value = figures[budget.figure]
    assert isinstance(value, (int, float))
    return value


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}, {sys.platform}"
    )
