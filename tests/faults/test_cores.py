from ascend_agent.faults.cores import unfit_cores
from ascend_agent.model.ids import PhyId, PluginDeviceId

CORES = tuple(PluginDeviceId(f"npu-core-{number}") for number in range(16))


def named(*numbers: int) -> frozenset[PluginDeviceId]:
    return frozenset(CORES[number] for number in numbers)


def test_w27_an_unfit_npu_takes_as_many_free_cores_as_it_has() -> None:
    """Nothing is given out yet, so any eight will do: the first by name, as text."""
    out = unfit_cores(CORES, cores_per_npu=8, unfit={PhyId(1)}, mapped={})

    assert out == named(0, 1, 10, 11, 12, 13, 14, 15)


def test_w27_recovery_restores_them_all() -> None:
    assert unfit_cores(CORES, cores_per_npu=8, unfit=set(), mapped={}) == frozenset()


def test_cores_that_are_given_out_on_the_unfit_npu_are_among_them() -> None:
    mapped = {CORES[0]: PhyId(0), CORES[9]: PhyId(0)}

    out = unfit_cores(CORES, cores_per_npu=8, unfit={PhyId(0)}, mapped=mapped)

    assert named(0, 9) < out
    assert len(out) == 8
    assert out == named(0, 9, 1, 10, 11, 12, 13, 14)


def test_cores_that_are_given_out_elsewhere_stay_fit() -> None:
    mapped = dict.fromkeys(CORES[:4], PhyId(1))

    out = unfit_cores(CORES, cores_per_npu=8, unfit={PhyId(0)}, mapped=mapped)

    assert out.isdisjoint(CORES[:4])
    assert len(out) == 8


def test_numbers_that_can_not_be_right_take_out_no_free_core() -> None:
    """More cores of an NPU than it has, or fewer free ones than there must be."""
    too_many = dict.fromkeys(CORES[:9], PhyId(0))
    too_few = dict.fromkeys(CORES[:12], PhyId(1))

    assert unfit_cores(CORES, cores_per_npu=8, unfit={PhyId(0)}, mapped=too_many) == named(
        *range(9)
    )
    assert unfit_cores(CORES, cores_per_npu=8, unfit={PhyId(0)}, mapped=too_few) == frozenset()
