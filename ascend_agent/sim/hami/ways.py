"""How a scheduler goes about it, besides what pods and nodes say."""

from dataclasses import dataclass
from typing import Final

from ascend_agent.sim.hami.fit import Policy
from ascend_agent.sim.hami.handshake import TICK_S
from ascend_agent.sim.hami.versions import VERSIONS, SchedulerVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How a scheduler goes about it.

    ``soft`` is HAMi's global switch, for nodes that say nothing; ``tick_s`` is how often it looks
    at handshakes.
    """

    version: SchedulerVersion = VERSIONS["2.10"]
    policy: Policy = Policy.SPREAD
    soft: bool = False
    tick_s: float = TICK_S


USUAL: Final = Ways()
