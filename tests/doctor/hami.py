"""A node that HAMi's scheduler serves, for the checks to look at."""

import dataclasses
from pathlib import Path
from typing import Any

from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import SurveyedNpu
from tests.doctor.scene import npu, place, put
from tests.fakes.npus import CHIP

FLAT = """
vnpus:
- chipName: {chip}
  commonWord: Ascend910B3
  resourceName: huawei.com/Ascend910B3
  resourceMemoryName: huawei.com/Ascend910B3-memory
  memoryAllocatable: 65536
  memoryCapacity: 65536
  aiCore: 20
  aiCPU: 7
  templates:
  - {{name: vir05_1c_16g, memory: 16384, aiCore: 5, aiCPU: 1}}
  - {{name: vir10_3c_32g, memory: 32768, aiCore: 10, aiCPU: 3}}
"""


def hami_npu(phy: int, chip: str = "910B3") -> SurveyedNpu:
    """Return an NPU whose chip is called so."""
    known = npu(phy)
    assert known.identity is not None
    identity = dataclasses.replace(known.identity, chip=dataclasses.replace(CHIP, chip_name=chip))
    return dataclasses.replace(known, identity=identity)


def hami_place(
    root: Path, *, chip: str = "910B3", device: str = FLAT, node: str = "", **more: Any
) -> Place:
    """Return a node below *root* with HAMi's two files; an empty text: there is no such file."""
    files = {"device_config": root / "device-config.yaml", "node_config": root / "node.yaml"}
    for path, text in zip(files.values(), (device.format(chip=chip), node), strict=True):
        if text:
            put(path, text)
    settings = {"dialect": "hami", "node_name": "n1", **files}
    return place(root, settings=settings, **more)
