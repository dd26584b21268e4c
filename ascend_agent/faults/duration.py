"""How long a code stands, and how long it has been gone (faults 3.3).

Decides when a code has stood too long and when it has been gone long enough, at exact moments.
Which codes have such a rule and what follows is ``history``'s.

A machine waits for one thing at a time, so it remembers one moment: the beginning of the fault
until that timed out, then the beginning of the recovery. A fault or recovery too short to count
leaves no trace, which is why no queue is kept. All comparisons are strict.
"""

from dataclasses import dataclass, replace

from ascend_agent.model.fault_rules import DurationRule
from ascend_agent.model.ids import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The state of one code of one NPU.

    ``since_ms``: unless ``timed_out``, since when the code stands; then since when it is gone.
    None: it is not so.
    """

    timed_out: bool = False
    since_ms: Millis | None = None


IDLE = Machine()


def raised(machine: Machine, at: Millis) -> Machine:
    """Return the machine, moved to *at* before, after the code began to stand."""
    if machine.timed_out:
        return machine if machine.since_ms is None else replace(machine, since_ms=None)
    return machine if machine.since_ms is not None else replace(machine, since_ms=at)


def cleared(machine: Machine, at: Millis) -> Machine:
    """Return the machine, moved to *at* before, after the code was gone."""
    if machine.timed_out:
        return machine if machine.since_ms is not None else replace(machine, since_ms=at)
    return machine if machine.since_ms is None else replace(machine, since_ms=None)


def alarm(machine: Machine, rule: DurationRule) -> Millis | None:
    """Return the moment up to which what is awaited may last without any consequence.

    It has consequences one millisecond later, and is then counted for this moment.
    """
    if machine.since_ms is None:
        return None
    limit = rule.recover_timeout_ms if machine.timed_out else rule.fault_timeout_ms
    return Millis(machine.since_ms + limit)


def turned(machine: Machine) -> Machine:
    """Return the machine after what it awaited has lasted too long: it waits for the opposite."""
    return Machine(timed_out=not machine.timed_out)
