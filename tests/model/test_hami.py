import pytest

from ascend_agent.model.hami import HamiChip, HamiTemplate
from ascend_agent.model.ids import ResourceName


def chip(*memories: int, allocatable: int = 65536) -> HamiChip:
    """Return a chip with a template of each of these sizes in MiB, ascending."""
    return HamiChip(
        chip_name="910B3",
        word="Ascend910B3",
        resource=ResourceName("huawei.com/Ascend910B3"),
        memory_resource="huawei.com/Ascend910B3-memory",
        allocatable_mib=allocatable,
        capacity_mib=allocatable,
        templates=tuple(HamiTemplate(name=f"vir{mib}", memory_mib=mib) for mib in memories),
    )


@pytest.mark.parametrize(
    ("found", "shares"),
    [
        (chip(16384, 32768), 4),
        (chip(3072, allocatable=21527), 7),
        (chip(), 1),
        (chip(70000), 1),
        (chip(0), 1),
    ],
    ids=["fits evenly", "rounded down", "no templates", "larger than the chip", "of no size"],
)
def test_an_npu_is_as_many_devices_as_its_smallest_template_fits(
    found: HamiChip, shares: int
) -> None:
    assert found.derived_shares == shares


@pytest.mark.parametrize(
    ("memory", "name"),
    [(1, "vir16384"), (16384, "vir16384"), (16385, "vir32768"), (32769, None)],
)
def test_a_request_takes_the_smallest_template_that_holds_it(memory: int, name: str | None) -> None:
    found = chip(16384, 32768).template_for(memory)

    assert (found.name if found else None) == name
