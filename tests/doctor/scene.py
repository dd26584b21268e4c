"""A node in a folder, and what driver and API server say there, for the checks to look at."""

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ascend_agent.chips import identify
from ascend_agent.doctor.answers import (
    ClusterAnswer,
    ClusterFacts,
    ClusterOff,
    DriverAnswer,
    DriverTrouble,
    OwnNode,
)
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, Verdict
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.rules import RULES
from ascend_agent.doctor.survey import Survey, SurveyedNpu
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.npu import DriverApi, DriverPhase, DriverState, NpuProcess
from ascend_agent.settings import Settings
from tests.fakes.npus import CHIP, address, enumeration, identity

T = TypeVar("T")

HEALTHY = HealthAnswer(health=0, lost=False, codes=frozenset())
SICK = HealthAnswer(health=2, lost=False, codes=frozenset({FaultCode(0x80E01801)}))
READY = DriverState(
    phase=DriverPhase.READY,
    api=DriverApi.V1,
    library="/usr/local/Ascend/driver/lib64/driver/libdcmi.so",
    dcmi_version="25.2.0",
    driver_version="25.2.3",
)
SILENT = DriverTrouble(why="libdcmi.so was not found")
OFF = ClusterOff(why="no node name")
ASCEND = "huawei.com/Ascend910"
FACTS = ClusterFacts(
    server="https://10.0.0.1:443",
    credentials="service account",
    version="v1.36.3",
    node=OwnNode(capacity={ASCEND: "2"}, allocatable={ASCEND: "2"}),
    allowed={rule.text: True for rule in RULES},
    ahead_s=0.1,
)


def npu(phy: int, **facts: Any) -> SurveyedNpu:
    """Return a 910B NPU that answered everything, but for *facts*."""
    answered = SurveyedNpu(
        address=address(phy),
        identity=identity(phy),
        spec=identify(CHIP),
        health=HEALTHY,
        processes=(),
    )
    return dataclasses.replace(answered, **facts)


def survey(*npus: SurveyedNpu, lost: int = 0) -> Survey:
    """Return what a driver says that lists these NPUs."""
    return Survey(
        driver=READY,
        enumeration=enumeration(*(each.address.lane for each in npus), lost=lost),
        npus=npus,
    )


def process(pid: int) -> NpuProcess:
    """Return a process on an NPU."""
    return NpuProcess(pid=pid, memory_bytes=1 << 20)


def place(
    root: Path,
    *,
    driver: DriverAnswer = SILENT,
    cluster: ClusterAnswer = OFF,
    settings: dict[str, object] | None = None,
    **more: Any,
) -> Place:
    """Return a node below *root*: every path that a setting names, /proc, /sys and /dev."""
    paths = {
        "device_plugin_dir": root / "plugins",
        "kubelet_dir": root / "kubelet",
        "run_dir": root / "run",
        "cdi_dir": root / "cdi",
        "host_root": root,
    }
    for name in ("proc", "sys", "dev", "plugins", "run", "cdi"):
        (root / name).mkdir(exist_ok=True)
    return Place(
        settings=Settings.model_validate({**paths, **(settings or {})}),
        environment={},
        driver=saying(driver),
        cluster=saying(cluster),
        proc=root / "proc",
        sys=root / "sys",
        dev=root / "dev",
        **{"deadline_s": 5.0, **more},
    )


def saying(answer: T) -> Callable[[], Awaitable[T]]:
    """Return what answers that at once."""

    async def get() -> T:
        await asyncio.sleep(0)
        return answer

    return get


async def found(check: Check, where: Place) -> list[tuple[Verdict, str]]:
    """Return verdict and subject of each finding."""
    return [(one.verdict, one.what) for one in await check.look(where)]


async def the_one(check: Check, where: Place) -> Finding:
    """Return the only finding."""
    (finding,) = await check.look(where)
    return finding


def put(path: Path, text: str = "") -> Path:
    """Write a file with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@contextmanager
def as_nobody() -> Iterator[None]:
    """Let this process have no more rights than an ordinary user's while the block runs."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
