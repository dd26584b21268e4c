"""Chips, pods and devices for the tests of the scheduler."""

from collections.abc import Mapping
from types import MappingProxyType

from ascend_agent.model.hami import HamiChip, HamiTemplate
from ascend_agent.model.ids import ResourceName
from ascend_agent.sim.hami.usage import Device, Usage
from ascend_agent.sim.hami.words import Json


def chip(word: str = "Ascend910B3", *, super_pod: bool = False, **more: object) -> HamiChip:
    """Return the entry of a 910B3, under another word where wanted."""
    return HamiChip(
        chip_name="910B3",
        word=word,
        resource=ResourceName(f"huawei.com/{word}"),
        memory_resource=f"huawei.com/{word}-memory",
        core_resource=f"huawei.com/{word}-core",
        allocatable_mib=65536,
        capacity_mib=65536,
        ai_core=20,
        super_pod=super_pod,
        templates=(
            HamiTemplate(name="vir05_1c_16g", memory_mib=16384, ai_core=5),
            HamiTemplate(name="vir10_3c_32g", memory_mib=32768, ai_core=10),
        ),
        **more,  # type: ignore[arg-type]
    )


B3 = chip()
P3 = HamiChip(
    chip_name="310P3",
    word="Ascend310P",
    resource=ResourceName("huawei.com/Ascend310P"),
    memory_resource="huawei.com/Ascend310P-memory",
    allocatable_mib=21527,
    capacity_mib=24576,
    templates=(
        HamiTemplate(name="vir01", memory_mib=3072),
        HamiTemplate(name="vir02", memory_mib=6144),
        HamiTemplate(name="vir04", memory_mib=12288),
    ),
)


def container(
    name: str = "main",
    count: int = 0,
    *,
    memory: int | None = None,
    core: int | None = None,
    of: HamiChip = B3,
) -> Json:
    """Return a container that asks for *count* devices."""
    wanted = {of.resource: count, of.memory_resource: memory, of.core_resource: core}
    limits = {key: str(value) for key, value in wanted.items() if value}
    return {"name": name, "image": "test:1", "resources": {"limits": limits} if limits else {}}


def pod(
    *containers: Json,
    inits: tuple[Json, ...] = (),
    name: str = "p1",
    soft: bool = False,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Json:
    """Return a pod as its user writes it; *notes* are annotations."""
    annotations = {"huawei.com/vnpu-mode": "hami-core"} if soft else {}
    item: Json = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "annotations": {**annotations, **notes}},
        "spec": {"containers": list(containers)},
    }
    if inits:
        item["spec"]["initContainers"] = list(inits)
    return item


def device(number: int, **more: object) -> Device:
    """Return the device ``U<number>`` of a 910B3."""
    values: dict[str, object] = {
        "die": f"U{number}",
        "index": number,
        "count": 4,
        "memory_mib": 65536,
        "core": 20,
        "type": "Ascend910B3",
        "healthy": True,
        "group": 0 if number < 4 else 1,
    }
    return Device(**(values | more))  # type: ignore[arg-type]


def usages(*devices: Device) -> dict[str, Usage]:
    """Return unused devices by die."""
    return {one.die: Usage(device=one) for one in devices}
