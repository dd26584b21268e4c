"""Which vNPUs nobody owns: the worked case, and what must never happen whatever is seen."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.model.ids import Millis, PodUid
from ascend_agent.model.vnpu import Vnpu, VnpuClaim, VnpuId
from ascend_agent.slicing.surplus import Look, Memory, forget_idle, look, note

_SMALL, _LARGE = "vir05_1c_16g", "vir10_3c_32g"
_GRACE = 120_000
_MADE = 0xFFFFFFFFFFFF


def _vnpu(
    number: int, *, used: bool = False, container: int = _MADE, template: str = _SMALL
) -> Vnpu:
    return Vnpu(vnpu=VnpuId(number), template=template, opened=used, container=container)


def _claim(pod: str, *, template: str = _SMALL, stage: str = "Running") -> VnpuClaim:
    return VnpuClaim(pod=PodUid(pod), template=template, stage=stage)


P1 = (_claim("p1"),)


@dataclass
class _Npu:
    """One NPU as it is looked at, second by second."""

    memory: Memory | None = None
    templates: Sequence[str] = (_SMALL, _LARGE)

    def at(self, second: int, claims: Sequence[VnpuClaim], *have: Vnpu) -> Look:
        """Look once; what is removable is not removed."""
        now = Millis(second * 1000)
        memory = note(self.memory, claims, now)
        seen = look(memory, have, now, templates=self.templates, grace_ms=_GRACE)
        self.memory = seen.memory
        return seen

    def told(self, second: int, claims: Sequence[VnpuClaim]) -> None:
        """Be told of pods between two looks."""
        self.memory = note(self.memory, claims, Millis(second * 1000))


def _ids(vnpus: Sequence[Vnpu]) -> list[int]:
    return [each.vnpu for each in vnpus]


def test_the_idle_vnpu_of_a_live_pod_stays_and_a_leak_goes() -> None:
    """A scan every 60 s: leaks go after the grace, and no pod loses its slice."""
    npu = _Npu()
    leak = _vnpu(101, container=0)
    removed: dict[int, list[int]] = {}

    removed[0] = _ids(npu.at(0, P1, _vnpu(100)).removable)
    for second in (60, 120, 180):
        removed[second] = _ids(npu.at(second, P1, _vnpu(100, used=True), leak).removable)
    npu.told(200, ())
    for second in (240, 300, 360):
        removed[second] = _ids(npu.at(second, (), _vnpu(100)).removable)

    assert removed == {0: [], 60: [], 120: [], 180: [101], 240: [], 300: [], 360: [100]}


def test_nothing_is_surplus_while_as_many_are_owned() -> None:
    """Whatever the driver says of their use (VN-2)."""
    npu = _Npu()

    looks = [npu.at(second, P1, _vnpu(100, container=0)) for second in (0, 600, 6000)]

    assert [(each.surplus, each.removable, each.wake_at) for each in looks] == [((), (), None)] * 3


def test_one_that_was_in_use_meanwhile_begins_anew() -> None:
    npu = _Npu()

    due = [
        _ids(npu.at(second, (), _vnpu(100, used=second == 100)).surplus)
        for second in (0, 60, 100, 120, 180, 239, 240)
    ]

    assert due == [[], [], [], [], [], [], [100]]


@pytest.mark.parametrize("between", [(), (_vnpu(100, template=_LARGE),)], ids=["gone", "cut anew"])
def test_another_vnpu_of_the_same_id_begins_anew(between: Sequence[Vnpu]) -> None:
    npu = _Npu()
    npu.at(0, (), _vnpu(100))
    npu.at(60, (), *between)

    assert npu.at(120, (), _vnpu(100)).surplus == ()
    assert _ids(npu.at(240, (), _vnpu(100)).surplus) == [100]


def test_a_look_that_failed_makes_all_begin_anew() -> None:
    npu = _Npu()
    assert npu.at(0, (), _vnpu(100)).wake_at == _GRACE
    assert npu.memory is not None
    npu.memory = forget_idle(npu.memory)

    assert npu.at(130, (), _vnpu(100)).surplus == ()
    assert _ids(npu.at(250, (), _vnpu(100)).surplus) == [100]


@pytest.mark.parametrize(
    "claims",
    [
        (_claim("p2"),),
        (_claim("p1", stage="Pending"),),
        (_claim("p1", stage="terminating"),),
    ],
    ids=["another pod", "not running yet", "being deleted"],
)
def test_any_change_of_an_owner_makes_its_template_wait(claims: Sequence[VnpuClaim]) -> None:
    npu = _Npu()
    have = (_vnpu(100, used=True), _vnpu(101))
    npu.at(0, claims, *have)
    assert npu.at(60, P1, *have).wake_at == 180_000

    assert npu.at(179, P1, *have).surplus == ()
    assert _ids(npu.at(180, P1, *have).removable) == [101]


def test_owners_of_another_template_keep_nothing_back() -> None:
    npu = _Npu()
    npu.at(0, (), _vnpu(100))

    assert _ids(npu.at(120, (_claim("p1", template=_LARGE),), _vnpu(100)).removable) == [100]


def test_templates_that_are_not_configured_are_never_touched() -> None:
    """Nor is what could not be described."""
    npu = _Npu(templates=(_LARGE,))
    have = (_vnpu(100), _vnpu(101, template=""), _vnpu(102, template="vir16"))
    npu.at(0, (), *have)

    assert npu.at(600, (), *have).surplus == ()


def test_no_more_go_than_are_surplus_and_those_without_a_container_first() -> None:
    npu = _Npu()
    owners = (_claim("p1"), _claim("p2"))
    have = (
        _vnpu(100),
        _vnpu(101, container=0),
        _vnpu(102),
        _vnpu(103, container=0),
    )
    npu.at(0, owners, *have)

    assert _ids(npu.at(120, owners, *have).removable) == [101, 103]


def test_of_several_idle_ones_that_an_owner_may_have_none_goes() -> None:
    """It is told as surplus all the same; the owner's use of its own one decides later."""
    npu = _Npu()
    have = (_vnpu(100), _vnpu(101))
    npu.at(0, P1, *have)

    seen = npu.at(120, P1, *have)
    used = npu.at(180, P1, _vnpu(100), _vnpu(101, used=True))

    assert (_ids(seen.surplus), seen.removable) == ([100], ())
    assert _ids(used.removable) == [100]


def test_of_idle_ones_without_a_container_none_goes_that_an_owner_may_have() -> None:
    """A driver may tell no container at all."""
    npu = _Npu()
    have = (_vnpu(100, container=0), _vnpu(101, container=0))
    npu.at(0, P1, *have)

    seen = npu.at(120, P1, *have)

    assert (_ids(seen.surplus), seen.removable) == ([100], ())


def test_one_in_use_has_its_owner_and_leaves_the_idle_ones_to_the_others() -> None:
    """That a container was made for it says nothing of whose the idle ones are."""
    npu = _Npu()
    owners = (_claim("p1"), _claim("p2"))
    have = (_vnpu(100, used=True), _vnpu(101, container=0), _vnpu(102, container=0))
    npu.at(0, owners, *have)

    seen = npu.at(120, owners, *have)

    assert (_ids(seen.surplus), seen.removable) == ([101], ())


def test_the_next_look_is_when_the_first_one_may_be_due() -> None:
    npu = _Npu()

    first = npu.at(0, (), _vnpu(100))
    second = npu.at(60, (), _vnpu(100), _vnpu(101))
    third = npu.at(120, (), _vnpu(100), _vnpu(101))

    assert [each.wake_at for each in (first, second, third)] == [120_000, 120_000, 180_000]


_CLAIMS = st.lists(
    st.builds(
        _claim,
        st.sampled_from(["p1", "p2", "p3"]),
        template=st.sampled_from([_SMALL, _LARGE]),
        stage=st.sampled_from(["Pending", "Running"]),
    ),
    max_size=4,
)
_HAVE = st.lists(
    st.builds(
        _vnpu,
        st.integers(100, 105),
        used=st.booleans(),
        container=st.sampled_from([0, 7]),
        template=st.sampled_from([_SMALL, _LARGE, "", "vir16"]),
    ),
    max_size=6,
    unique_by=lambda each: each.vnpu,
)


@given(st.lists(st.tuples(st.integers(0, 200), _CLAIMS, _HAVE), max_size=12))
def test_whatever_is_seen_no_owner_loses_its_slice(
    scenes: list[tuple[int, list[VnpuClaim], list[Vnpu]]],
) -> None:
    npu, second = _Npu(), 0
    seen: list[tuple[int, dict[int, Vnpu], Counter[str]]] = []
    for pause, claims, have in scenes:
        second += pause
        owned = Counter(claim.template for claim in claims)
        seen.append((second, {each.vnpu: each for each in have}, owned))
        found = npu.at(second, claims, *have)
        assert set(found.removable) <= set(found.surplus) <= set(have)
        for template, count in Counter(each.template for each in found.surplus).items():
            here = sum(each.template == template for each in have)
            assert template in npu.templates
            assert count <= here - owned[template]
        for vnpu in found.surplus:
            assert not vnpu.opened
            assert _idle_for(vnpu, seen) * 1000 >= _GRACE


def _idle_for(vnpu: Vnpu, seen: Sequence[tuple[int, dict[int, Vnpu], Counter[str]]]) -> int:
    """Return for how many seconds it was idle, by all looks up to the last."""
    last = first = seen[-1][0]
    for second, have, _ in reversed(seen):
        there = have.get(vnpu.vnpu)
        if there is None or there.opened or there.template != vnpu.template:
            break
        first = second
    return last - first


def test_a_template_of_which_all_are_owned_hides_no_surplus_of_another() -> None:
    npu = _Npu()
    owned = (_claim("p1"), _claim("p2", template=_LARGE))
    small, spare = _vnpu(100), _vnpu(101, template=_LARGE, container=0)
    large = _vnpu(102, template=_LARGE, used=True)
    npu.at(0, owned, small, large, spare)

    assert _ids(npu.at(120, owned, small, large, spare).surplus) == [101]


def test_a_look_that_failed_forgets_what_was_idle_and_nothing_else() -> None:
    """The grace begins anew, for nobody knows what was in use meanwhile; who owns what is known."""
    seen = _Npu()
    seen.at(0, P1, _vnpu(100))
    seen.told(5, ())
    assert seen.memory is not None
    assert set(seen.memory.idle) == {VnpuId(100)}

    after = forget_idle(seen.memory)

    assert dict(after.idle) == {}
    assert (after.began_at_ms, after.claims, after.changed_at_ms) == (
        seen.memory.began_at_ms,
        seen.memory.claims,
        seen.memory.changed_at_ms,
    )
