"""How the supervised tasks of the agent fare."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """One supervised task: ``restarts`` counts them since start; ``failure`` is the last one.

    ``vital``: when it can't be kept alive the agent ends; any other is tried for ever.
    """

    name: str
    running: bool
    restarts: int
    failure: str = ""
    vital: bool = True
