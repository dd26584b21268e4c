"""One switch fault as the worker sends it: nine numbers, in events and in lists alike.

What is decided here: what is a record, and in which unit its time counts. Which records stand,
and what that means, is decided in ``faults.switches``.
"""

from collections.abc import Sequence

from ascend_agent.model.fault import Assertion
from ascend_agent.model.ids import Millis
from ascend_agent.model.surroundings import SwitchFault

_FIELDS = 9


def parse_record(record: Sequence[object]) -> SwitchFault | None:
    """Return the fault of *record*, None for one that says nothing we know.

    Event type, fault id, peer, peer port, chip, port, severity, assertion, and the time in
    milliseconds since the epoch, 0 where the library gave none.
    """
    numbers = [each for each in record if isinstance(each, int)]
    if len(record) != _FIELDS or len(numbers) != _FIELDS:
        return None
    event_type, sub_type, peer, peer_port, chip, port, severity, said, raised = numbers
    try:
        assertion = Assertion(said)
    except ValueError:
        return None
    return SwitchFault(
        event_type=event_type,
        sub_type=sub_type,
        peer=peer,
        peer_port=peer_port,
        chip=chip,
        port=port,
        severity=severity,
        assertion=assertion,
        raised_ms=Millis(raised),
    )
