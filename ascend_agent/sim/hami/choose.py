"""Which node a pod goes to: one where it fits, of those the one that is best for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.client import Cache, key_of
from ascend_agent.sim.hami.fit import Unfit, fit, node_score
from ascend_agent.sim.hami.registry import NodeRegistry, allocatable
from ascend_agent.sim.hami.request import asks_of
from ascend_agent.sim.hami.usage import Granted, account
from ascend_agent.sim.hami.versions import Handshake
from ascend_agent.sim.hami.ways import Ways
from ascend_agent.sim.hami.words import NODE, SOFT, Json, annotations_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Where a pod goes, and what each of its containers gets there."""

    node: str
    chip: HamiChip
    slots: tuple[tuple[Granted, ...], ...]
    score: float


class Chooser:
    """Chooses among the nodes as the caches know them at that moment."""

    def __init__(
        self,
        *,
        chips: Sequence[HamiChip],
        ways: Ways,
        nodes: Cache,
        pods: Cache,
        registry: NodeRegistry,
    ) -> None:
        self._chips = chips
        self._ways = ways
        self._nodes = nodes
        self._pods = pods
        self._registry = registry

    def choose(self, pod: Json) -> Choice | Unfit:
        """Return the best node for *pod*, or why there is none."""
        version = self._ways.version
        asked = (one for one in self._chips if any(a.count for a in asks_of(pod, one, version)))
        chip = next(asked, None)
        if chip is None:
            return Unfit(reason="asks for nothing that this scheduler knows")
        choices: list[Choice] = []
        reasons: list[str] = []
        for _, name in sorted(self._nodes.items):
            found = self._fit(pod, name, chip)
            if isinstance(found, Unfit):
                reasons.append(f"{name}: {found.reason}")
            else:
                choices.append(found)
        if choices:
            return max(choices, key=lambda one: one.score)
        return Unfit(reason="; ".join(reasons) or "there is no node")

    def _fit(self, pod: Json, name: str, chip: HamiChip) -> Choice | Unfit:
        version = self._ways.version
        node = self._nodes.items["", name]
        devices = self._registry.devices(name, chip.word)
        offered = allocatable(node, chip.resource)
        if not devices or (version.handshake is Handshake.NONE and not offered):
            return Unfit(reason="node unregistered")
        others = (
            one
            for key, one in self._pods.items.items()
            if key != key_of(pod) and annotations_of(one).get(NODE) == name
        )
        usages = account(devices, others, word=chip.word, version=version)
        said = annotations_of(node).get(SOFT)
        slots = fit(
            pod,
            usages,
            chip=chip,
            version=version,
            node_soft=self._ways.soft if said is None else said == "true",
            policy=self._ways.policy,
        )
        if isinstance(slots, Unfit):
            return slots
        score = node_score(slots, usages, word=chip.word)
        return Choice(node=name, chip=chip, slots=slots, score=score)
