"""Who asks for the wrong name or number can read here what is right (CF-3)."""

from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.hami_config import CHECK
from tests.doctor.hami import hami_npu, hami_place
from tests.doctor.scene import SILENT, found, place, survey

ONE = survey(hami_npu(0))


async def test_with_another_dialect_there_is_nothing_to_judge(tmp_path: Path) -> None:
    assert await found(CHECK, place(tmp_path)) == [(Verdict.SKIPPED, "hami configuration")]


async def test_the_lines_of_a_pod_are_shown(tmp_path: Path) -> None:
    chip, lines = await CHECK.look(hami_place(tmp_path, driver=ONE))

    assert (chip.verdict, chip.what) == (Verdict.OK, "hami chip configured")
    assert "chip 910B3 as Ascend910B3, 4 devices an NPU, hard mode" in chip.detail
    assert lines.verdict is Verdict.OK
    for line in (
        "resources.limits huawei.com/Ascend910B3: 1",
        "huawei.com/Ascend910B3-memory: MiB, up to 16384 (vir05_1c_16g), 32768 (vir10_3c_32g)",
        "none or 65536 and more for a whole card",
        "no annotation huawei.com/vnpu-mode: hami-core",
        "runtimeClassName",
    ):
        assert line in lines.detail


async def test_on_a_soft_node_a_pod_must_say_so(tmp_path: Path) -> None:
    """CF-6: pods stayed pending with a mode mismatch."""
    soft = "nodes: [{name: n1, hami-vnpu-core: true, vDeviceCount: 8}]"
    *_, chip, lines = await CHECK.look(hami_place(tmp_path, node=soft, driver=ONE))

    assert "8 devices an NPU, soft mode" in chip.detail
    assert 'annotation huawei.com/vnpu-mode: "hami-core"' in lines.detail
    assert "MiB of the slice" in lines.detail


async def test_a_chip_that_is_not_configured_is_named_with_those_that_are(tmp_path: Path) -> None:
    (finding,) = await CHECK.look(hami_place(tmp_path, chip="910A", driver=ONE))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "hami chip not configured")
    assert "910B3" in finding.detail
    assert "910A" in finding.detail


@pytest.mark.parametrize("reads", [True, False])
async def test_a_file_that_can_not_be_used_fails_whatever_the_driver_says(
    tmp_path: Path, *, reads: bool
) -> None:
    driver = ONE if reads else SILENT
    first, *_ = await found(CHECK, hami_place(tmp_path, device="vnpus: 3", driver=driver))

    assert first == (Verdict.FAIL, "hami file not usable")


async def test_without_the_driver_the_chip_is_not_judged(tmp_path: Path) -> None:
    assert await found(CHECK, hami_place(tmp_path)) == [(Verdict.SKIPPED, "hami chip")]


async def test_a_key_nobody_knows_is_a_flaw(tmp_path: Path) -> None:
    first, *_ = await found(CHECK, hami_place(tmp_path, node="nodes: []\nextra: 1", driver=ONE))

    assert first == (Verdict.WARN, "hami file with a flaw")
