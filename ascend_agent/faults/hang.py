"""Whether an NPU hangs: processes hold it, and for minutes nothing about it moves.

Decides when silence counts as a hang, round by round. It is a guess: a server that waits for
requests is just as silent, so nobody is asked to believe it unless they switched it on, and the
code it leads to is for information alone. How a round is read is left to ``flows/detect_hangs``.

What keeps false alarms away: whatever could not be found out counts as moving; a change of memory
counts in both directions; a process is told from its successor of the same number by its start;
and a counter that ran backwards was reset, which says nothing. Processes that came or went, and an
NPU that nobody holds, begin a new account.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ascend_agent.model.ids import Millis


class ProcessKey(NamedTuple):
    """A process of the host; ``started`` (clock ticks since boot) survives the reuse of ``pid``."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HangThresholds:
    """How little counts as nothing, from one round to the next.

    Below ``core_percent`` the cores idle. Memory moved where its share changed by more than
    ``memory_percent``; traffic (packets or flits) and CPU seconds where they grew by
    ``traffic`` or ``cpu_s`` at least. So many silent ``rounds`` in a row are a hang.
    """

    core_percent: int = 5
    memory_percent: int = 0
    traffic: int = 100
    cpu_s: int = 5
    rounds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HangSample:
    """What an NPU showed in one round; None: it could not be found out, or was not worth asking.

    ``cpu_s`` holds the CPU seconds of each process that holds the NPU, empty where none does.
    ``core_percent`` is the busiest kind of core, ``memory_percent`` the share in use, whole
    percent. ``traffic`` counts what its network ports sent and received since some reset.
    """

    cpu_s: Mapping[ProcessKey, float] | None = None
    core_percent: int | None = None
    memory_percent: int | None = None
    traffic: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HangWatch:
    """What is remembered of one NPU between rounds.

    ``silent_rounds`` counts those in a row that moved nothing against ``last``; ``hung_since_ms``
    is when they became enough, None while they are not.
    """

    last: HangSample | None = None
    silent_rounds: int = 0
    hung_since_ms: Millis | None = None


def could_hang(sample: HangSample, thresholds: HangThresholds) -> bool:
    """Return whether it is worth asking for the rest: somebody holds the NPU, its cores idle."""
    return bool(sample.cpu_s) and _idle(sample, thresholds)


def advance(
    watch: HangWatch, sample: HangSample, *, now: Millis, thresholds: HangThresholds
) -> HangWatch:
    """Return the watch after a round that showed *sample* at *now*."""
    if not sample.cpu_s:
        return HangWatch()
    if watch.last is None or not _silent(watch.last, sample, thresholds):
        return HangWatch(last=sample)
    rounds = watch.silent_rounds + 1
    since = watch.hung_since_ms
    if since is None and rounds >= thresholds.rounds:
        since = now
    return HangWatch(last=sample, silent_rounds=rounds, hung_since_ms=since)


def _idle(sample: HangSample, thresholds: HangThresholds) -> bool:
    return sample.core_percent is not None and sample.core_percent < thresholds.core_percent


def _silent(before: HangSample, after: HangSample, thresholds: HangThresholds) -> bool:
    """Return whether nothing moved between two rounds, of which everything is known."""
    if before.cpu_s is None or after.cpu_s is None or before.cpu_s.keys() != after.cpu_s.keys():
        return False
    if before.memory_percent is None or after.memory_percent is None:
        return False
    if before.traffic is None or after.traffic is None:
        return False
    memory = abs(after.memory_percent - before.memory_percent)
    cpu_s = sum(after.cpu_s.values()) - sum(before.cpu_s.values())
    return (
        _idle(after, thresholds)
        and memory <= thresholds.memory_percent
        and 0 <= after.traffic - before.traffic < thresholds.traffic
        and cpu_s < thresholds.cpu_s
    )
