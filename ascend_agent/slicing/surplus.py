"""Which vNPUs of one NPU nobody owns, by counting, since the driver does not say whose one is.

Decides by ownership, not by use (VN-2, HAMi G1): a vNPU is surplus where there are more of its
template than pods own, and one in use is nobody's to take. What is due has been idle for as long
as the grace lasts, in every look since, while nothing changed about the pods that own its template.
Which of several idle ones is the owner's can be told by its container alone; where even that can't
tell, none is removed. Time is an argument.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ascend_agent.model.ids import Millis
from ascend_agent.model.vnpu import Vnpu, VnpuClaim, VnpuId

Claims = Mapping[str, Counter[VnpuClaim]]
"""What is owned, by template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A vNPU that was idle in every look since ``since_ms``."""

    template: str
    since_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is remembered of one NPU; ``changed_at_ms``: when the claims on a template last changed.

    A template that is in neither has had no claim since ``began_at_ms``.
    """

    began_at_ms: Millis
    idle: Mapping[VnpuId, Idle] = field(default_factory=dict)
    claims: Claims = field(default_factory=dict)
    changed_at_ms: Mapping[str, Millis] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at one NPU.

    ``surplus`` are due: nobody owns as many, for as long as the grace lasts. ``removable`` are
    those of them that surely nobody owns, the first to go first. ``wake_at`` is when the next one
    may be due, None: nothing to wait for.
    """

    memory: Memory
    surplus: tuple[Vnpu, ...] = ()
    removable: tuple[Vnpu, ...] = ()
    wake_at: Millis | None = None


def note(memory: Memory | None, claims: Sequence[VnpuClaim], now: Millis) -> Memory:
    """Return *memory* with the claims of this moment; None: nothing is remembered yet."""
    by_template: dict[str, Counter[VnpuClaim]] = {}
    for claim in claims:
        by_template.setdefault(claim.template, Counter())[claim] += 1
    if memory is None:
        return Memory(began_at_ms=now, claims=by_template)
    changed = dict(memory.changed_at_ms)
    for template in by_template.keys() | memory.claims.keys():
        if by_template.get(template) != memory.claims.get(template):
            changed[template] = now
    return Memory(
        began_at_ms=memory.began_at_ms, idle=memory.idle, claims=by_template, changed_at_ms=changed
    )


def forget_idle(memory: Memory) -> Memory:
    """Return *memory* after a look that failed: who knows what was in use then."""
    return Memory(
        began_at_ms=memory.began_at_ms, claims=memory.claims, changed_at_ms=memory.changed_at_ms
    )


def look(
    memory: Memory,
    have: Sequence[Vnpu],
    now: Millis,
    *,
    templates: Collection[str],
    grace_ms: int,
) -> Look:
    """Return what *have*, the vNPUs of the NPU as just read, means at *now*.

    *templates* are the only ones ever touched. The claims are those ``note`` was told last.
    """
    idle = {
        each.vnpu: _idle(memory.idle.get(each.vnpu), each, now) for each in have if not each.opened
    }
    seen = Memory(
        began_at_ms=memory.began_at_ms,
        idle=idle,
        claims=memory.claims,
        changed_at_ms=memory.changed_at_ms,
    )
    surplus: list[Vnpu] = []
    removable: list[Vnpu] = []
    wakes: list[Millis] = []
    for template in sorted({each.template for each in have} & frozenset(templates)):
        of_template = [each for each in have if each.template == template]
        over = len(of_template) - _owned(seen, template)
        if over <= 0:
            continue
        steady_at_ms = seen.changed_at_ms.get(template, seen.began_at_ms)
        due_at_ms = {
            vnpu: Millis(max(each.since_ms, steady_at_ms) + grace_ms)
            for vnpu, each in idle.items()
            if each.template == template
        }
        wakes += [at for at in due_at_ms.values() if at > now]
        due = sorted(
            (
                each
                for each in of_template
                if each.vnpu in due_at_ms and due_at_ms[each.vnpu] <= now
            ),
            key=lambda each: (each.container != 0, idle[each.vnpu].since_ms, each.vnpu),
        )[:over]
        surplus += due
        removable += [each for each in due if _is_nobodys(each, of_template, seen)]
    return Look(
        memory=seen,
        surplus=tuple(surplus),
        removable=tuple(removable),
        wake_at=min(wakes, default=None),
    )


def _idle(before: Idle | None, vnpu: Vnpu, now: Millis) -> Idle:
    if before is not None and before.template == vnpu.template:
        return before
    return Idle(template=vnpu.template, since_ms=now)


def _owned(memory: Memory, template: str) -> int:
    return sum(memory.claims.get(template, Counter()).values())


def _is_nobodys(vnpu: Vnpu, of_template: Sequence[Vnpu], memory: Memory) -> bool:
    """Return whether every owner can have another one.

    The owners have those in use first. What is left of them may have any idle one that a container
    was made for; one without a container stayed behind when making it failed (HAMi G2).
    """
    left = _owned(memory, vnpu.template) - sum(each.opened for each in of_template)
    if left <= 0:
        return True
    made = sum(not each.opened and each.container != 0 for each in of_template)
    return vnpu.container == 0 and left <= made
