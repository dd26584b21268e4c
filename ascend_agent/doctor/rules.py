"""The RBAC rules that the agent needs, in one table: what the chart must grant, and no more.

A test compares the chart with it; the check ``api-rules`` asks the API server for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ascend_agent.settings import Settings


def _always(settings: Settings) -> bool:  # noqa: ARG001 -- one of two answers to the same question
    return True


def _writes_labels(settings: Settings) -> bool:
    return settings.node_labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One verb on one resource, cluster-wide.

    ``needed`` says with which settings, ``why`` for what.
    """

    verb: str
    resource: str
    needed: Callable[[Settings], bool] = _always
    why: str

    @property
    def text(self) -> str:
        """Return the rule as people say it."""
        return f"{self.verb} {self.resource}"


RULES: Final = (
    Rule(verb="list", resource="nodes", why="to see the own Node"),
    Rule(verb="watch", resource="nodes", why="to see the own Node change"),
    Rule(
        verb="patch",
        resource="nodes",
        needed=_writes_labels,
        why="to keep its labels (--node-labels)",
    ),
    Rule(verb="list", resource="pods", why="to see this node's pods"),
    Rule(verb="watch", resource="pods", why="to see them come and go"),
)


def required(settings: Settings) -> tuple[Rule, ...]:
    """Return the rules that an agent with these settings needs."""
    return tuple(rule for rule in RULES if rule.needed(settings))
