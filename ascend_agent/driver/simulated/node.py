"""A simulated node: its NPUs, and what is true of them at a given moment.

A pure state machine: the scenario is fixed when the node is made, and time, in milliseconds since
the node's start, is an argument of every question. So a driver worker that starts anew finds the
node as it has become. What one worker sees of it is decided in ``session``.
"""

from bisect import bisect_right

from ascend_agent.driver.simulated.presets import MOST_CARDS, PRESETS, Preset
from ascend_agent.driver.simulated.scenario import (
    DROP,
    FAULT,
    GONE,
    HANG,
    PROCESS,
    RECOVER,
    RETURN,
    VNPU,
    VNPU_GONE,
    Step,
    UnplayableError,
    parse_steps,
)

_CPUS_PER_NUMA = 24
_BUSES_PER_DOMAIN = 64
_MASK = (1 << 64) - 1

HEALTH_OK = 0
HEALTH_MAJOR = 2


class SimulatedNpu:
    """One NPU as built in; ``die`` and ``bus`` are spelled as the driver's binding spells them."""

    __slots__ = ("affinity", "bus", "card", "die", "phy", "slot")

    def __init__(self, *, phy: int, npus: int, preset: Preset, seed: int) -> None:
        self.phy = phy
        self.card, self.slot = divmod(phy, preset.dies)
        self.die = "-".join(f"{mix(seed, phy, word) >> 32:08X}" for word in range(5))
        domain, place = divmod(phy, _BUSES_PER_DOMAIN)
        self.bus = f"{domain:04X}:{1 + 2 * place:02X}:00.0" if preset.bus else None
        first_cpu = _CPUS_PER_NUMA * (phy * _numa_nodes(npus) // npus)
        self.affinity = f"{first_cpu}-{first_cpu + _CPUS_PER_NUMA - 1}"


class SimulatedNode:
    """The node that a configuration describes.

    Raises:
        UnplayableError: there is no such chip, number of NPUs, or step; the text says which.

    """

    def __init__(self, config: dict[str, object]) -> None:
        chip, npus, seed = config.get("chip"), config.get("npus"), config.get("seed", 0)
        if not isinstance(chip, str) or chip not in PRESETS:
            raise UnplayableError(f"chip: {chip!r} is none of {', '.join(PRESETS)}")
        self.preset = PRESETS[chip]
        most = MOST_CARDS * self.preset.dies
        if not isinstance(npus, int) or not 0 <= npus <= most:
            raise UnplayableError(f"npus: {npus!r} is not 0 to {most}")
        if not isinstance(seed, int):
            raise UnplayableError(f"seed: {seed!r} is no whole number")
        self.seed = seed
        self.npus = [
            SimulatedNpu(phy=phy, npus=npus, preset=self.preset, seed=seed) for phy in range(npus)
        ]
        self.cards = [
            list(range(first, min(first + self.preset.dies, npus)))
            for first in range(0, npus, self.preset.dies)
        ]
        self._steps = parse_steps(config.get("steps", []), cards=self.cards)
        self._times = [step.at_ms for step in self._steps]

    def present(self, card: int, now_ms: int) -> bool:
        """Return whether the card answers: it is lost from its drop until its return."""
        here = True
        for step in self._until(now_ms):
            if step.card == card and step.kind in {DROP, RETURN}:
                here = step.kind == RETURN
        return here

    def returned_at(self, card: int, now_ms: int) -> int:
        """Return when the card last came back, -1 where it never did."""
        times = [s.at_ms for s in self._until(now_ms) if s.card == card and s.kind == RETURN]
        return max(times, default=-1)

    def codes(self, phy: int, now_ms: int) -> list[int]:
        """Return the fault codes that stand on an NPU, ascending; a lost card forgets its own."""
        standing: set[int] = set()
        for step in self._until(now_ms):
            if phy not in step.npus:
                continue
            if step.kind == FAULT:
                standing.add(step.code)
            elif step.kind == RECOVER and step.until_ms <= now_ms:
                standing.discard(step.code)
            elif step.kind == DROP:
                standing.clear()
        return sorted(standing)

    def health(self, phy: int, now_ms: int) -> int:
        """Return the driver's health value: a major alarm while any code stands."""
        return HEALTH_MAJOR if self.codes(phy, now_ms) else HEALTH_OK

    def processes(self, phy: int, now_ms: int) -> dict[int, int]:
        """Return the MiB that each process holds of an NPU; they end when its card is lost."""
        holding: dict[int, int] = {}
        for step in self._until(now_ms):
            if phy not in step.npus:
                continue
            pid, mib = step.process
            if step.kind == PROCESS:
                holding[pid] = mib
            elif step.kind == GONE:
                holding.pop(pid, None)
            elif step.kind == DROP:
                holding.clear()
        return holding

    def vnpus(self, phy: int, now_ms: int) -> dict[int, tuple[int, str, int, int]]:
        """Return the vNPUs of an NPU: since when, template, whether it is open, and container.

        They go when its card is lost, as after a reset.
        """
        found: dict[int, tuple[int, str, int, int]] = {}
        for step in self._until(now_ms):
            if phy not in step.npus:
                continue
            vnpu, template, opened, container = step.vnpu
            if step.kind == VNPU:
                since_ms = found[vnpu][0] if vnpu in found else step.at_ms
                found[vnpu] = (since_ms, template, opened, container)
            elif step.kind == VNPU_GONE:
                found.pop(vnpu, None)
            elif step.kind == DROP:
                found.clear()
        return found

    def raised_at(self, phy: int, code: int, now_ms: int) -> int:
        """Return when *code* was last raised on an NPU, or *now_ms* where it never was."""
        for step in reversed(self._until(now_ms)):  # the newest first: a storm has thousands
            if step.kind == FAULT and step.code == code and phy in step.npus:
                return step.at_ms
        return now_ms

    def switch_steps(self, now_ms: int) -> list[Step]:
        """Return what has happened to the node's switches, in order."""
        return [step for step in self._until(now_ms) if step.switch is not None]

    def hangs_until(self, call: str, card: int | None, now_ms: int) -> int | None:
        """Return when a *call* made now on *card* will go on, or None where it doesn't hang."""
        ends = [
            step.until_ms
            for step in self._until(now_ms)
            if step.kind == HANG
            and step.call == call
            and step.card == card
            and step.until_ms > now_ms
        ]
        return max(ends, default=None)

    def steps_between(self, after_ms: int, until_ms: int) -> list[Step]:
        """Return the steps later than *after_ms* and not later than *until_ms*, in order."""
        return self._steps[self._count(after_ms) : self._count(until_ms)]

    def next_step_at(self, after_ms: int) -> int | None:
        """Return the time of the first step later than *after_ms*, None after the last."""
        told = self._count(after_ms)
        return self._times[told] if told < len(self._times) else None

    def _until(self, now_ms: int) -> list[Step]:
        return self._steps[: self._count(now_ms)]

    def _count(self, now_ms: int) -> int:
        """Return how many steps have happened."""
        return bisect_right(self._times, now_ms)


def mix(*parts: int) -> int:
    """Return 64 bits that depend on every part: the same for the same parts, on any machine."""
    state = 0
    for part in parts:
        state = (state + part + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def _numa_nodes(npus: int) -> int:
    return 4 if npus >= 8 else 2 if npus >= 2 else 1  # noqa: PLR2004 -- as servers are built
