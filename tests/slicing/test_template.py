from ascend_agent.model.allocation import SlicePlan
from ascend_agent.model.slices import TemplateSlice
from ascend_agent.slicing.template import plan


def test_the_runtime_is_told_which_template_to_cut() -> None:
    """No mounts: the runtime hands in what a vNPU needs."""
    assert plan(TemplateSlice(template="vir05_1c_16g")) == SlicePlan(
        envs={"ASCEND_VNPU_SPECS": "vir05_1c_16g"}
    )
