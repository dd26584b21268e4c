"""NPUs with their chip's spec, as injection is given them."""

from ascend_agent import chips
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import ChipIdentity, Npu
from tests.model.samples import Place, make_chip, make_npu

TRAINING = make_chip("910B3")
EDGE = make_chip("310B4")
INFERENCE = make_chip("310P3")
SOC = make_chip("310P3", product="Atlas 200I SoC A1")
UB = make_chip("Ascend950PR")


def make(
    chip: ChipIdentity, *phys: int, logic_from: int | None = None
) -> list[tuple[Npu, ChipSpec]]:
    """Return NPUs of one chip; their logic ids count from *logic_from*, else equal the physical."""
    spec = chips.identify(chip)
    assert spec is not None
    return [
        (
            make_npu(
                phy,
                chip=chip,
                place=Place(card=phy),
                generation=spec.generation,
                logic=None if logic_from is None else logic_from + index,
            ),
            spec,
        )
        for index, phy in enumerate(phys)
    ]
