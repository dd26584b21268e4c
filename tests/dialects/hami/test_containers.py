"""Which container a slot is of, for each way schedulers lay them out."""

import pytest

from ascend_agent.dialects.hami.annotation import BadText, parse_slots
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.model.pods import ContainerKind, PodContainer
from tests.fakes.hami import CHIP_910B3, container, device, pod

X = device(0, 16384)
INIT = container("init-a", kind=ContainerKind.INIT)
SIDECAR = container("proxy", kind=ContainerKind.SIDECAR)
IDLE_INIT = container("setup", asks=0, kind=ContainerKind.INIT)
WEB = container("web", asks=0)
MAIN, TRAIN = container("main"), container("train")


@pytest.mark.parametrize(
    ("containers", "slots", "place", "name"),
    [
        ([MAIN], f"{X};", 0, "main"),
        ([INIT, WEB, MAIN], f"{X};;{X};", 0, "init-a"),
        ([INIT, WEB, MAIN], f"{X};;{X};", 2, "main"),
        ([SIDECAR, MAIN], f"{X};{X};", 0, "proxy"),
        ([WEB, TRAIN], f"{X};", 0, "train"),
        ([IDLE_INIT, WEB, TRAIN], f"{X};", 0, "train"),
        ([INIT, WEB, MAIN, TRAIN], f";{X};{X};", 1, "main"),
        ([INIT, WEB, MAIN, TRAIN], f";{X};{X};", 2, "train"),
        ([WEB, MAIN, TRAIN], f";{X};", 1, "main"),
        ([MAIN], f";;{X};", 2, "main"),
        ([MAIN, TRAIN], f";{X};", 0, "main"),
        ([MAIN, TRAIN], f";;;{X};", 3, None),
    ],
)
def test_a_slot_is_of_the_container_that_asks(
    containers: list[PodContainer], slots: str, place: int, name: str | None
) -> None:
    """HAMi A9: with Volcano's dense slots, and before HAMi 2.9, the name was wrong."""
    allocated = parse_slots(slots)
    assert not isinstance(allocated, BadText)
    found = container_of(
        pod("p1", slots, containers=containers), allocated, place, resource=CHIP_910B3.resource
    )

    assert found == name
