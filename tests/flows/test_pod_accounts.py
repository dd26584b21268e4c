"""The account put together pod by pod is that of all pods, at the price of those that changed."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.dialects.hami.dialect import HamiDialect
from ascend_agent.dialects.plain import PlainDialect
from ascend_agent.flows.pod_accounts import Held, PodAccounts
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import ObjectVersion, PhyId, PluginDeviceId, ResourceName
from ascend_agent.model.pods import Pod, PodPhase, Pods
from ascend_agent.model.world import ClusterFacts, World
from tests.fakes.hami import NODE, container, device, npu_view, pod, state, world
from tests.model.samples import Place, make_world, placed

MANY = 500
PLAIN = make_world(placed({phy: Place() for phy in range(16)}), shares=64)


class CountedHami(HamiDialect):
    """Counts of how many pods it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def holders(
        self,
        held: Mapping[ResourceName, Mapping[PluginDeviceId, Holder]],
        worlds: Sequence[World],
    ) -> Allocations:
        self.asked.append(sum(len(each.facts.pods) for each in worlds if each.facts))
        return super().holders(held, worlds)


class CountedPlain(PlainDialect):
    """Counts of how many devices it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def holders(
        self,
        held: Mapping[ResourceName, Mapping[PluginDeviceId, Holder]],
        worlds: Sequence[World],
    ) -> Allocations:
        self.asked.append(len(held.get(PLAIN.resource, {})))
        return super().holders(held, worlds)


Counted = CountedHami | CountedPlain


@functools.cache
def _pod(number: int, *, npu: int | None = None, phase: PodPhase = PodPhase.RUNNING) -> Pod:
    """Return a pod that has an NPU; None: it is one of the many that have none."""
    granted = "" if npu is None else f"{device(npu, 16384)};"
    return pod(f"p{number:03}", ";", allocated=granted, phase=phase, containers=[container("c")])


def _held(npus: Mapping[int, int]) -> Held:
    """Return the kubelet's list: of each pod's number its NPU, of which it has a share."""
    devices = {
        PluginDeviceId(f"Ascend910-{npu}-{number if number < 16 else 15 + number // 16}"): Holder(
            namespace="default", pod=f"p{number:03}", container="c"
        )
        for number, npu in npus.items()
    }
    return {PLAIN.resource: devices}


def _view() -> NodeView:
    return NodeView(generation=1, npus=tuple(npu_view(phy) for phy in range(16)))


HAMI = world(view=_view())
UNKNOWN = dataclasses.replace(
    HAMI, facts=dataclasses.replace(HAMI.facts or ClusterFacts(node_name=NODE), known=False)
)
OTHER = dataclasses.replace(HAMI, hami=dataclasses.replace(state(), chip=None))
WHOLE = make_world(placed({phy: Place() for phy in range(16)}))


def _worlds(base: World, pods: Sequence[Pod]) -> list[World]:
    """Return what the flow would give for those pods; the plain dialect hears of none."""
    if base.facts is None:
        return [base]
    return [dataclasses.replace(base, facts=dataclasses.replace(base.facts, pods=tuple(pods)))]


def _crowd(dialect: Counted, base: World) -> tuple[PodAccounts, list[Pod]]:
    """Return the accounts of many pods, each of which has an NPU."""
    accounts = PodAccounts(dialect)
    pods = [_pod(number, npu=number % 16) for number in range(MANY)]
    accounts.hear(_held({number: number % 16 for number in range(MANY)}))
    accounts.see(Pods(pods=tuple(pods), live=True))
    accounts.account(_worlds(base, pods))
    dialect.asked.clear()
    return accounts, pods


BOTH = pytest.mark.parametrize(
    ("dialect", "base"),
    [
        pytest.param(CountedHami, HAMI, id="hami"),
        pytest.param(CountedPlain, PLAIN, id="plain"),
    ],
)


@BOTH
def test_one_pods_update_has_the_dialect_asked_of_that_pod_alone(
    dialect: type[Counted], base: World
) -> None:
    """Asking of all 500 held up each fault for 13 ms and more."""
    counted = dialect()
    accounts, pods = _crowd(counted, base)
    before = accounts.account(_worlds(base, pods))

    pods[7] = dataclasses.replace(pods[7], version=ObjectVersion("2"))
    accounts.see(Pods(pods=tuple(pods), live=True))
    after = accounts.account(_worlds(base, pods))

    assert counted.asked == [1]
    assert after is before

    pods[7] = dataclasses.replace(pods[7], phase=PodPhase.SUCCEEDED)
    accounts.see(Pods(pods=tuple(pods), live=True))
    after = accounts.account(_worlds(base, pods))

    assert len(counted.asked) == 2
    assert {phy for phy in before.holders if before.holders[phy] != after.holders[phy]} == {7}
    assert len(before.holders[PhyId(7)]) - len(after.holders[PhyId(7)]) == 1
    assert all(before.holders[phy] is after.holders[phy] for phy in before.holders if phy != 7)


@BOTH
def test_what_says_nothing_new_has_the_dialect_asked_of_nobody(
    dialect: type[Counted], base: World
) -> None:
    """The kubelet's list comes every ten seconds, and health changes in a storm all the time."""
    counted = dialect()
    accounts, pods = _crowd(counted, base)
    sick = dataclasses.replace(
        base,
        view=NodeView(
            generation=2,
            npus=tuple(dataclasses.replace(npu, health=9) for npu in base.view.npus),
        ),
        groups=tuple(dataclasses.replace(group, healthy=False) for group in base.groups),
    )

    accounts.hear(_held({number: number % 16 for number in range(MANY)}))
    accounts.see(Pods(pods=tuple(pods), live=True))
    accounts.account(_worlds(sick, pods))

    assert counted.asked == []


def test_all_is_worked_out_anew_where_npus_have_other_names() -> None:
    """An exchanged card has another serial, so what the scheduler granted of it is nobody's."""
    counted = CountedHami()
    accounts, pods = _crowd(counted, HAMI)
    card = npu_view(3)
    identity = dataclasses.replace(card.npu.identity, die=npu_view(99).npu.identity.die)
    other = dataclasses.replace(card, npu=dataclasses.replace(card.npu, identity=identity))
    npus = tuple(other if each.npu.phy == 3 else each for each in HAMI.view.npus)
    exchanged = dataclasses.replace(HAMI, view=NodeView(generation=2, npus=npus))

    found = accounts.account(_worlds(exchanged, pods))

    assert set(found.holders) == set(range(16)) - {3}


def test_all_is_worked_out_anew_under_another_configuration() -> None:
    counted = CountedHami()
    accounts, pods = _crowd(counted, HAMI)

    found = accounts.account(_worlds(OTHER, pods))

    assert dict(found.holders) == {}
    assert accounts.account([]) == Allocations(known=False, holders={})


def test_all_is_worked_out_anew_where_the_pods_become_known() -> None:
    """Unknown is not nobody."""
    accounts = PodAccounts(HamiDialect())
    pods = (_pod(1, npu=1),)
    accounts.see(Pods(pods=pods, live=True))

    unknown = accounts.account(_worlds(UNKNOWN, pods))
    known = accounts.account(_worlds(HAMI, pods))

    assert (unknown.known, list(unknown.holders)) == (False, [])
    assert (known.known, list(known.holders)) == (True, [1])


def test_all_is_worked_out_anew_where_npus_have_other_shares() -> None:
    """A share that is not of today is nobody's today, though its NPU is held."""
    accounts = PodAccounts(PlainDialect())
    accounts.hear(_held({1: 1, 2: 2}))

    shares = [dict(accounts.account([base]).shares) for base in (PLAIN, WHOLE)]

    assert shares == [{1: {1}, 2: {2}}, {1: set(), 2: set()}]


# --- the same as of all pods ---------------------------------------------------------------

PHASES = st.sampled_from([PodPhase.RUNNING, PodPhase.SUCCEEDED, PodPhase.PENDING])
SHOWN = st.dictionaries(
    st.integers(0, 5), st.tuples(st.one_of(st.none(), st.integers(0, 2)), PHASES)
)
HELD = st.dictionaries(st.integers(0, 6), st.integers(0, 2))


@pytest.mark.parametrize(
    ("dialect", "bases"),
    [
        pytest.param(CountedHami, [HAMI, HAMI, UNKNOWN, OTHER], id="hami"),
        pytest.param(CountedPlain, [PLAIN, PLAIN, WHOLE], id="plain"),
    ],
)
@settings(max_examples=60)
@given(steps=st.lists(st.tuples(SHOWN, HELD, st.booleans(), st.integers(0, 3)), max_size=6))
def test_after_whatever_has_happened_the_account_is_that_of_all_pods(
    dialect: type[Counted],
    bases: list[World],
    steps: list[tuple[dict[int, tuple[int | None, PodPhase]], dict[int, int], bool, int]],
) -> None:
    reference = dialect()
    accounts = PodAccounts(dialect())
    for shown, held, live, chosen in steps:
        pods = tuple(
            _pod(number, npu=shown[number][0], phase=shown[number][1]) for number in sorted(shown)
        )
        worlds = _worlds(bases[chosen % len(bases)], pods)
        accounts.hear(_held(held))
        accounts.see(Pods(pods=pods, live=live))

        finished = {each.key.name for each in pods if each.finished and live}
        counted = {number: npu for number, npu in held.items() if f"p{number:03}" not in finished}
        whole = reference.holders(_held(counted), worlds)
        found = accounts.account(worlds)

        assert found == whole
        assert list(found.holders) == list(whole.holders)
        assert accounts.any_holder_gone() is (live and bool(held.keys() - shown.keys()))


def test_a_pod_that_has_finished_counts_as_long_as_nobody_knows_better() -> None:
    """Nothing is known from an old view: another pod of that name may run by now."""
    accounts = PodAccounts(PlainDialect())
    pods = (_pod(1, phase=PodPhase.FAILED), _pod(2))
    accounts.hear(_held({1: 1, 2: 2}))
    held = []
    for live in (True, False, True):
        accounts.see(Pods(pods=pods, live=live))
        held.append(list(accounts.account([PLAIN]).holders))

    assert held == [[2], [1, 2], [2]]
