"""What the doctor says of a node of HAMi's is what its agent would make of it."""

from pathlib import Path

from ascend_agent.doctor.hami_side import draw_here, read_files, state_of
from ascend_agent.doctor.picture import Count
from tests.doctor.hami import hami_npu, hami_place
from tests.doctor.scene import npu, place, survey

RESOURCE = "huawei.com/Ascend910B3"
TWO = survey(hami_npu(0), hami_npu(1))
HIDES = "nodes: [{name: n1, vDeviceCount: 8, filterDevices: {index: [1]}}]"


async def test_without_the_dialect_there_are_no_files(tmp_path: Path) -> None:
    where = place(tmp_path)

    assert await read_files(where) is None
    assert list((await draw_here(where, survey(npu(0)))).counts) == ["huawei.com/Ascend910"]


async def test_devices_are_counted_as_the_scheduler_counts_them(tmp_path: Path) -> None:
    picture = await draw_here(hami_place(tmp_path), TWO)

    assert picture.counts == {RESOURCE: Count(total=8, healthy=8)}


async def test_hidden_npus_are_nobodys(tmp_path: Path) -> None:
    picture = await draw_here(hami_place(tmp_path, node=HIDES), TWO)

    assert picture.counts == {RESOURCE: Count(total=8, healthy=8)}
    assert [view.npu.phy for view in picture.view.npus] == [0]
    assert [npu.phy for npu in picture.inventory.npus] == [0]


async def test_of_a_chip_that_is_not_configured_nothing_is_offered(tmp_path: Path) -> None:
    where = hami_place(tmp_path, chip="910A")
    picture, in_force = await draw_here(where, TWO), await read_files(where)

    assert picture.counts == {}
    assert in_force is not None
    assert state_of(where, in_force, picture.inventory).chip is None
