"""The built-in table, against the numbers of HAMi's own files."""

import pytest

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.model.hami import HamiChip

BY_NAME = {chip.chip_name: chip for chip in CHIPS}


@pytest.mark.parametrize(
    ("name", "word", "allocatable", "capacity", "ai_core", "shares"),
    [
        ("910A", "Ascend910A", 32768, 32768, 30, 15),
        ("910B2", "Ascend910B2", 65536, 65536, 24, 8),
        ("910B3", "Ascend910B3", 65536, 65536, 20, 4),
        ("910B4-1", "Ascend910B4-1", 65536, 65536, 20, 4),
        ("910B4", "Ascend910B4", 32768, 32768, 20, 4),
        ("310P3", "Ascend310P", 21527, 24576, 8, 7),
        ("Ascend910", "Ascend910C", 65536, 65536, 20, 4),
    ],
)
def test_each_chip_is_called_and_sized_as_hami_says(
    name: str, word: str, allocatable: int, capacity: int, ai_core: int, shares: int
) -> None:
    """UP-2: whoever has no file of his own gets the names that every scheduler knows."""
    chip = BY_NAME[name]

    assert (chip.word, chip.resource) == (word, f"huawei.com/{word}")
    assert chip.memory_resource == f"huawei.com/{word}-memory"
    assert chip.core_resource == f"huawei.com/{word}-core"
    assert (chip.allocatable_mib, chip.capacity_mib, chip.ai_core) == (
        allocatable,
        capacity,
        ai_core,
    )
    assert chip.derived_shares == shares
    assert chip.super_pod == (name == "Ascend910")


_HALF_AND_QUARTER = {"vir05_1c_16g": 16384, "vir10_3c_32g": 32768}


@pytest.mark.parametrize(
    ("name", "templates"),
    [
        ("910A", {"vir02": 2184, "vir04": 4369, "vir08": 8738, "vir16": 17476}),
        ("910B2", {"vir03_1c_8g": 8192, "vir06_1c_16g": 16384, "vir12_3c_32g": 32768}),
        ("910B3", _HALF_AND_QUARTER),
        ("910B4-1", _HALF_AND_QUARTER),
        ("910B4", {"vir05_1c_8g": 8192, "vir10_3c_16g": 16384}),
        ("310P3", {"vir01": 3072, "vir02": 6144, "vir04": 12288}),
        ("Ascend910", _HALF_AND_QUARTER),
    ],
)
def test_each_chip_has_the_templates_that_hami_says(name: str, templates: dict[str, int]) -> None:
    """UP-2: the scheduler writes these names, and the driver knows no others."""
    assert {each.name: each.memory_mib for each in BY_NAME[name].templates} == templates


def test_no_chip_stands_twice() -> None:
    assert len(BY_NAME) == len(CHIPS) == 7


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.chip_name)
def test_templates_ascend_by_memory(chip: HamiChip) -> None:
    sizes = [template.memory_mib for template in chip.templates]

    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("name", "memory_mib", "template"),
    [
        ("910B3", 16384, "vir05_1c_16g"),
        ("910B3", 20000, "vir10_3c_32g"),
        ("910B3", 65536, None),
        ("910B4", 8192, "vir05_1c_8g"),
        ("310P3", 21527, None),
        ("910A", 17476, "vir16"),
        ("910B2", 40000, None),
    ],
)
def test_the_smallest_template_that_fits_is_taken(
    name: str, memory_mib: int, template: str | None
) -> None:
    """HAMi case 22."""
    found = BY_NAME[name].template_for(memory_mib)

    assert (found.name if found else None) == template
