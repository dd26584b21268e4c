"""The RBAC rules that the agent needs, in one table: what the chart must grant, and no more.

A test compares the chart with it; the check ``api-rules`` asks the API server for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ascend_agent.cluster.events import EVENT_NAMESPACE
from ascend_agent.settings import DialectName, Settings


def _always(settings: Settings) -> bool:  # noqa: ARG001 -- one of several answers to one question
    return True


def _hami(settings: Settings) -> bool:
    return settings.dialect is DialectName.HAMI


def _writes_node(settings: Settings) -> bool:
    return settings.node_labels or settings.node_annotations or _hami(settings)


def _posts_events(settings: Settings) -> bool:
    return settings.kubernetes_events and not _hami(settings)


def _posts_events_anywhere(settings: Settings) -> bool:
    return settings.kubernetes_events and _hami(settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One verb on one resource: cluster-wide, or in one namespace; of all names, or of one.

    ``needed`` says with which settings, ``why`` for what.
    """

    verb: str
    resource: str
    namespace: str | None = None
    name: str | None = None
    needed: Callable[[Settings], bool] = _always
    why: str

    @property
    def text(self) -> str:
        """Return the rule as ``kubectl auth can-i`` takes it."""
        name = f"/{self.name}" if self.name else ""
        namespace = f" -n {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{name}{namespace}"


RULES: Final = (
    Rule(verb="list", resource="nodes", why="to see the own Node"),
    Rule(verb="watch", resource="nodes", why="to see the own Node change"),
    Rule(
        verb="patch",
        resource="nodes",
        needed=_writes_node,
        why="to keep its labels (--node-labels), list isolated NPUs (--node-annotations), and "
        "answer HAMi's scheduler (--dialect hami)",
    ),
    Rule(
        verb="get",
        resource="pods",
        needed=_hami,
        why="to see whether a pod still needs the node lock that names it (--dialect hami)",
    ),
    Rule(verb="list", resource="pods", why="to see this node's pods"),
    Rule(verb="watch", resource="pods", why="to see them come and go"),
    Rule(
        verb="patch",
        resource="pods",
        needed=_hami,
        why="to note in a pod's annotations what it was given (--dialect hami)",
    ),
    Rule(
        verb="create",
        resource="events",
        needed=_posts_events_anywhere,
        why="to tell of faults and of refused pods by Events (--kubernetes-events, --dialect hami)",
    ),
    Rule(
        verb="patch",
        resource="events",
        needed=_posts_events_anywhere,
        why="to count what happens again in one Event",
    ),
    Rule(
        verb="create",
        resource="events",
        namespace=EVENT_NAMESPACE,
        needed=_posts_events,
        why="to tell of faults by Events (--kubernetes-events)",
    ),
    Rule(
        verb="patch",
        resource="events",
        namespace=EVENT_NAMESPACE,
        needed=_posts_events,
        why="to count what happens again in one Event",
    ),
)


def required(settings: Settings) -> tuple[Rule, ...]:
    """Return the rules that an agent with these settings needs."""
    return (*(rule for rule in RULES if rule.needed(settings)), *_of_config_map(settings))


def _of_config_map(settings: Settings) -> tuple[Rule, ...]:
    """Return the rules for the one ConfigMap that is followed, if any is."""
    if settings.fault_config_map is None:
        return ()
    namespace, _, name = settings.fault_config_map.partition("/")
    why = "to follow the fault rules (--fault-config-map)"
    return tuple(
        Rule(verb=verb, resource="configmaps", namespace=namespace, name=name, why=why)
        for verb in ("list", "watch")
    )
