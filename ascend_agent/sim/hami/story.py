"""The story that is told of HAMi where there is no scenario.

A hard slice, a pod of two whole NPUs, an NPU that fails and comes back, two pods at once; then the
operator turns the node to soft slices, and a pod gets one and is metered.
"""

from ascend_agent.model.hami import HamiChip
from ascend_agent.settings import FaultStep, SimulatedNode
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.story import Act, RestartKubelet, Story, TurnNode, acts_of, hasten

_FAULT = 0x80E01801  # a code that takes the NPU out of service until it recovers
_TURN_S = 10.5
_ENDS_S = 20.0


def tell_hami(node: SimulatedNode, chip: HamiChip | None, *, for_s: float | None) -> Story:
    """Return the default story on *node*; of a chip that HAMi does not know there is little."""
    acts: tuple[Act, ...] = ()
    if chip is not None and node.count:
        acts = (*acts_of(_pods(node, chip)), TurnNode(at_s=_TURN_S, soft=True))
        if not chip.templates:
            acts = acts_of(_pods(node, chip))
    acts = (*acts, RestartKubelet(at_s=16.5, down_s=0.5))
    steps: tuple[FaultStep, ...] = ()
    if node.count:
        # The scheduler begins with the highest of those used alike: the lowest is free the longest.
        steps = (
            FaultStep(at_s=4.0, npu=0, fault=_FAULT),
            FaultStep(at_s=7.0, npu=0, recover=_FAULT),
        )
    node = node.model_copy(update={"steps": steps})
    return hasten(Story(node=node, acts=acts, ends_s=_ENDS_S), for_s=for_s)


def _pods(node: SimulatedNode, chip: HamiChip) -> list[ScenarioPod]:
    """Return pods of sizes that the chip has: its smallest slice, its largest, whole NPUs."""
    pair = min(2, node.count)
    whole = ScenarioPod(at_s=3.0, pod="training-0", npus=pair, until_s=10.0)
    if not chip.templates:
        return [whole]
    small, large = chip.templates[0].memory_mib, chip.templates[-1].memory_mib
    return [
        ScenarioPod(at_s=2.5, pod="notebook-0", memory_mib=small, until_s=10.0),
        whole,
        ScenarioPod(at_s=8.0, pod="inference-0", memory_mib=large, until_s=10.0),
        ScenarioPod(at_s=8.0, pod="inference-1", memory_mib=large, until_s=10.0),
        ScenarioPod(
            at_s=12.5,
            pod="serving-0",
            memory_mib=chip.allocatable_mib * 7 // 16,
            core_percent=40,
            soft=True,
        ),
    ]
