"""What happens while people watch: to the node, and on the kubelet's side of it.

Without a scenario a short story is told: two pods get NPUs, one NPU fails and is withdrawn, it
comes back, the kubelet restarts, the vendor library crashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_agent.settings import (
    DropStep,
    FaultStep,
    HangStep,
    SimulatedNode,
    Step,
    StormStep,
    WorkerStep,
)
from ascend_agent.settings.scenario_pods import ScenarioPod

_FAULT = 0x80E01801  # a code that takes the NPU out of service until it recovers
_TAIL_S = 3.0
_CARD_S = 7.0  # a lost or returned card is told by no event: it is noticed by looking


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitPod:
    """A pod is created; it waits until enough devices are free."""

    at_s: float
    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartKubelet:
    """The kubelet dies and comes back after ``down_s``."""

    at_s: float
    down_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePod:
    """Somebody creates a pod, which a scheduler then places."""

    at_s: float
    pod: ScenarioPod


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Somebody deletes a pod."""

    at_s: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNode:
    """The operator turns the node to soft slices, or back to hard ones."""

    at_s: float
    soft: bool


Act = AdmitPod | RestartKubelet | CreatePod | DeletePod | TurnNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A node with its scenario, what the kubelet does meanwhile, and when it is all over.

    ``pace`` below 1 means that the story is told faster than usual.
    """

    node: SimulatedNode
    acts: tuple[Act, ...]
    ends_s: float
    pace: float = 1.0


def tell(node: SimulatedNode, *, for_s: float | None) -> Story:
    """Return the default story on *node*; told faster where *for_s* leaves less time."""
    count = node.count
    steps: Sequence[Step] = (WorkerStep(at_s=13.0, worker="die"),)
    if count:
        victim = min(3, count - 1)
        steps = (
            FaultStep(at_s=4.0, npu=victim, fault=_FAULT),
            FaultStep(at_s=7.0, npu=victim, recover=_FAULT),
            *steps,
        )
    acts: tuple[Act, ...] = (*_pods(count, first_s=1.0), RestartKubelet(at_s=10.0, down_s=0.5))
    node = node.model_copy(update={"steps": tuple(steps)})
    return hasten(Story(node=node, acts=acts, ends_s=13.0 + _TAIL_S), for_s=for_s)


def follow(node: SimulatedNode, *, scheduled: bool = False) -> Story:
    """Return the story of *node*'s own scenario, with two pods that hold NPUs meanwhile.

    *scheduled*: a scheduler places pods, which are the scenario's own.
    """
    acts: tuple[Act, ...] = acts_of(node.pods) if scheduled else _pods(node.count, first_s=0.5)
    times = [*map(_over_s, node.steps), *(expected.over_s for expected in node.expect)]
    last_s = max([*times, *(act.at_s for act in acts)], default=0.0)
    return Story(node=node, acts=acts, ends_s=last_s + _TAIL_S)


def acts_of(pods: Sequence[ScenarioPod]) -> tuple[CreatePod | DeletePod, ...]:
    """Return what is done to have *pods*, in the order of time."""
    made = [CreatePod(at_s=pod.at_s, pod=pod) for pod in pods]
    gone = [DeletePod(at_s=pod.until_s, name=pod.pod) for pod in pods if pod.until_s is not None]
    return tuple(sorted((*made, *gone), key=lambda act: act.at_s))


def hasten(story: Story, *, for_s: float | None) -> Story:
    """Return *story*, told faster where *for_s* leaves less time."""
    pace = 1.0 if for_s is None else min(1.0, for_s / story.ends_s)
    steps = [step.model_copy(update={"at_s": step.at_s * pace}) for step in story.node.steps]
    return Story(
        node=story.node.model_copy(update={"steps": tuple(steps)}),
        acts=tuple(replace(act, at_s=act.at_s * pace) for act in story.acts),
        ends_s=story.ends_s * pace,
        pace=pace,
    )


def _pods(npus: int, *, first_s: float) -> tuple[AdmitPod, ...]:
    """Return two pods, of half and of a quarter of the NPUs, as far as there are any."""
    half, quarter = max(1, npus // 2), max(1, npus // 4)
    pods = (
        AdmitPod(at_s=first_s, name="training-0", count=half),
        AdmitPod(at_s=first_s + 1.0, name="inference-0", count=quarter),
    )
    return pods[: min(2, npus)]


def _over_s(step: Step) -> float:
    """Return when everybody can have noticed *step*."""
    match step:
        case HangStep(at_s=at_s, hang_s=hang_s):
            return at_s + hang_s
        case StormStep(at_s=at_s, for_s=for_s):
            return at_s + for_s
        case FaultStep(at_s=at_s, listed_for_s=float(listed_for_s)):
            return at_s + listed_for_s
        case DropStep(at_s=at_s):
            return at_s + _CARD_S
        case _:
            return step.at_s
