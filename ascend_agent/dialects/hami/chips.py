"""Which chips HAMi knows, as its own configuration of 2.10 says it: for nodes without that file.

Data alone. Source: ``device-config.yaml`` of HAMi's chart and of the Ascend device plugin 1.4.
"""

from collections.abc import Sequence
from typing import Final

from ascend_agent.model.hami import HamiChip, HamiTemplate
from ascend_agent.model.ids import ResourceName


def _chip(
    name: str,
    word: str,
    memory: tuple[int, int],
    cores: tuple[int, int],
    templates: Sequence[tuple[str, int, int, int]],
    *,
    super_pod: bool = False,
) -> HamiChip:
    """Return one row: *memory* is allocatable and capacity, *cores* are AI cores and AI CPUs."""
    resource = f"huawei.com/{word}"
    return HamiChip(
        chip_name=name,
        word=word,
        resource=ResourceName(resource),
        memory_resource=f"{resource}-memory",
        core_resource=f"{resource}-core",
        allocatable_mib=memory[0],
        capacity_mib=memory[1],
        ai_core=cores[0],
        ai_cpu=cores[1],
        super_pod=super_pod,
        templates=tuple(
            HamiTemplate(name=each, memory_mib=mib, ai_core=core, ai_cpu=cpu)
            for each, mib, core, cpu in templates
        ),
    )


_HALF_AND_QUARTER: Final = (("vir05_1c_16g", 16384, 5, 1), ("vir10_3c_32g", 32768, 10, 3))

CHIPS: Final = (
    _chip(
        "910A",
        "Ascend910A",
        (32768, 32768),
        (30, 0),
        (
            ("vir02", 2184, 2, 0),
            ("vir04", 4369, 4, 0),
            ("vir08", 8738, 8, 0),
            ("vir16", 17476, 16, 0),
        ),
    ),
    _chip(
        "910B2",
        "Ascend910B2",
        (65536, 65536),
        (24, 6),
        (
            ("vir03_1c_8g", 8192, 3, 1),
            ("vir06_1c_16g", 16384, 6, 1),
            ("vir12_3c_32g", 32768, 12, 3),
        ),
    ),
    _chip("910B3", "Ascend910B3", (65536, 65536), (20, 7), _HALF_AND_QUARTER),
    _chip("910B4-1", "Ascend910B4-1", (65536, 65536), (20, 7), _HALF_AND_QUARTER),
    _chip(
        "910B4",
        "Ascend910B4",
        (32768, 32768),
        (20, 7),
        (("vir05_1c_8g", 8192, 5, 1), ("vir10_3c_16g", 16384, 10, 3)),
    ),
    _chip(
        "310P3",
        "Ascend310P",
        (21527, 24576),
        (8, 7),
        (("vir01", 3072, 1, 1), ("vir02", 6144, 2, 2), ("vir04", 12288, 4, 4)),
    ),
    _chip("Ascend910", "Ascend910C", (65536, 65536), (20, 7), _HALF_AND_QUARTER, super_pod=True),
)
"""By ``chipName`` as the driver says it; no name stands twice."""
