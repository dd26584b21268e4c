"""Which ids the kubelet had better take: those of the NPUs that the scheduler chose.

Decides nothing about who gets what: it makes the kubelet's own account tell the truth where it can,
and gives ``candidates`` another piece of evidence.
"""

from ascend_agent.dialects.hami.candidates import Candidate, find_waiting, rank
from ascend_agent.dialects.hami.node_lock import lock_of
from ascend_agent.model.allocation import PreferenceRequest
from ascend_agent.model.ids import DieId, PluginDeviceId, parse_share_name
from ascend_agent.model.world import World


def prefer(request: PreferenceRequest, world: World) -> tuple[PluginDeviceId, ...]:
    """Return an id of each NPU of the slot that is next, then any others; empty: no wish."""
    wanted = _next(request, world)
    if wanted is None:
        return ()
    free: dict[DieId, list[tuple[int, PluginDeviceId]]] = {}
    for device in request.available:
        if (name := parse_share_name(device)) is not None and device not in request.must_include:
            free.setdefault(name[0], []).append((name[1], device))
    queues = {die: iter([device for _, device in sorted(found)]) for die, found in free.items()}
    chosen = list(request.must_include)
    taken = [name[0] for device in chosen if (name := parse_share_name(device)) is not None]
    for each in wanted.slot:
        if each.die in taken:
            taken.remove(each.die)
        elif (found := next(queues.get(each.die, iter(())), None)) is not None:
            chosen.append(found)
    chosen += [device for device in request.available if device not in set(chosen)]
    return tuple(chosen[: max(request.size, 0)])


def _next(request: PreferenceRequest, world: World) -> Candidate | None:
    state, facts = world.hami, world.facts
    if state is None or state.chip is None or facts is None or request.size < 1:
        return None
    waiting = find_waiting(facts.pods, node=facts.node_name, word=state.chip.word)
    fitting = [each for each in waiting if len(each.slot) == request.size]
    lock = lock_of(facts.node.annotations) if facts.node else None
    ranked = rank(fitting, served=facts.served, lock=lock, dies=())
    return ranked[0] if ranked else None
