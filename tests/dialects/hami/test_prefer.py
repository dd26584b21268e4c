"""The kubelet is led to the ids of the devices that the scheduler chose."""

from collections.abc import Sequence

from ascend_agent.dialects.hami.prefer import prefer
from ascend_agent.model.allocation import PreferenceRequest
from ascend_agent.model.ids import PluginDeviceId
from ascend_agent.model.world import World
from tests.fakes.hami import CHIP_910B3, device, die, lock, pod, world


def _ids(*names: tuple[int, int]) -> tuple[PluginDeviceId, ...]:
    return tuple(PluginDeviceId(f"{die(number)}-{share}") for number, share in names)


def _asks(
    size: int,
    available: Sequence[tuple[int, int]],
    must: Sequence[tuple[int, int]] = (),
) -> PreferenceRequest:
    return PreferenceRequest(
        resource=CHIP_910B3.resource,
        available=_ids(*available),
        must_include=_ids(*must),
        size=size,
    )


ALL = [(number, share) for number in range(8) for share in range(4)]


def _world(slots: str) -> World:
    return world(pod("p1", slots), annotations=lock("p1"))


def test_an_id_of_each_chosen_device_is_preferred_lowest_first() -> None:
    """HAMi H4: the kubelet's own account named arbitrary devices."""
    chosen = f"{device(5, 65536)}{device(4, 65536)};"

    assert prefer(_asks(2, ALL), _world(chosen)) == _ids((5, 0), (4, 0))
    assert prefer(_asks(2, ALL[17:]), _world(chosen)) == _ids((5, 0), (4, 1))
    # The kubelet names what is free in no order.
    assert prefer(_asks(2, ALL[::-1]), _world(chosen)) == _ids((5, 0), (4, 0))


def test_what_must_be_included_counts_as_one_of_them() -> None:
    chosen = f"{device(5, 65536)}{device(4, 65536)};"

    assert prefer(_asks(2, ALL, [(5, 3)]), _world(chosen)) == _ids((5, 3), (4, 0))


def test_other_ids_fill_up_what_is_not_free() -> None:
    chosen = f"{device(5, 65536)}{device(4, 65536)};"

    assert prefer(_asks(2, [(0, 0), (1, 0), (4, 2)]), _world(chosen)) == _ids((4, 2), (0, 0))


def test_there_is_no_wish_where_nobody_waits_for_so_many() -> None:
    assert prefer(_asks(2, ALL), _world(f"{device(5, 16384)};")) == ()
    assert prefer(_asks(1, ALL), world()) == ()
    assert prefer(_asks(0, ALL), _world(f"{device(5, 16384)};")) == ()


def test_a_strange_id_of_the_kubelet_does_no_harm() -> None:
    request = PreferenceRequest(
        resource=CHIP_910B3.resource,
        available=(PluginDeviceId("strange"), *_ids((5, 0))),
        must_include=(),
        size=1,
    )

    assert prefer(request, _world(f"{device(5, 16384)};")) == _ids((5, 0))
