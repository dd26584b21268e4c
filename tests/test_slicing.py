import pytest

from ascend_agent.model.allocation import SlicePlan
from ascend_agent.model.hami import SoftPaths
from ascend_agent.model.ids import PhyId
from ascend_agent.model.slices import SoftSlice, TemplateSlice, WholeSlice
from ascend_agent.slicing import load_mode, plan

PATHS = SoftPaths(root="/opt/soft", region="/opt/region")


@pytest.mark.parametrize("name", ["whole", "shared", "by-die"])
def test_a_mode_is_found_by_its_name(name: str) -> None:
    assert load_mode(name).name == name


def test_a_whole_npu_needs_nothing_more() -> None:
    assert plan(WholeSlice(), PATHS) == SlicePlan()


def test_each_way_to_cut_has_its_own_plan() -> None:
    template = plan(TemplateSlice(template="vir02"), PATHS)
    soft = plan(
        SoftSlice(memory_mib=1, core_percent=0, registry=PhyId(0), directory="uid_a"), PATHS
    )

    assert template.envs.keys() == {"ASCEND_VNPU_SPECS"}
    assert template.directory is None
    assert soft.directory == "uid_a"
