"""Which NPUs are meant, and which of them can be handed out."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.devices import asked, find_chosen, out_of_service
from ascend_agent.model.allocation import RefusalReason, Refused
from ascend_agent.model.ids import DieId, PhyId
from tests.fakes.hami import CHIP_910B3, asks, die, node_view, npu_view, world


def test_the_kubelets_ids_name_dies_in_its_order() -> None:
    assert asked(asks((5, 1), (0, 3)), world()) == (die(5), die(0))


def test_the_chosen_npu_is_found_by_its_die() -> None:
    views = {view.npu.identity.die: view for view in node_view(2).npus}

    found = find_chosen(die(1), views, CHIP_910B3)

    assert not isinstance(found, Refused)
    assert found.npu.phy == PhyId(1)


@pytest.mark.parametrize("wanted", [die(7), die(0), DieId("x" * 200)])
def test_an_npu_that_is_not_here_or_of_another_chip_is_refused(wanted: DieId) -> None:
    views = {view.npu.identity.die: view for view in (npu_view(0, chip="910B4"), npu_view(1))}

    found = find_chosen(wanted, views, CHIP_910B3)

    assert isinstance(found, Refused)
    assert found.reason is RefusalReason.UNKNOWN_DEVICE
    assert wanted[:30] in found.detail
    assert len(found.detail) < 250


def test_an_npu_that_takes_no_more_containers_is_out_of_service() -> None:
    """HAMi B6."""
    fit, sick = npu_view(3), npu_view(3, sick=True)
    kept = dataclasses.replace(fit, kept=frozenset({0}))

    assert out_of_service(fit) == ""
    assert f"NPU 3 ({die(3)}), which is out of service" in out_of_service(sick)
    assert "it takes no containers" in out_of_service(kept)
