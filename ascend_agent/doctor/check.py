"""One check: its name, what it asks, what to do when it is not well, and how it looks.

``asks`` and ``advice`` make the chapter of docs/operations.md, so no check is undocumented.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ascend_agent.doctor.findings import Finding
from ascend_agent.doctor.place import Place

Look = Callable[[Place], Awaitable[tuple[Finding, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A question about the node.

    ``asks`` is the question in words; ``advice``, one sentence a line, is what to do when the
    answer is bad. ``look`` answers with at least one finding and changes nothing on the node.
    """

    name: str
    asks: str
    advice: str
    look: Look
