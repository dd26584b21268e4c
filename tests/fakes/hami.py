"""A node, its pods and its chip as HAMi's scheduler knows them, for tests of the dialect."""

import dataclasses
import json
from collections.abc import Mapping, Sequence

from ascend_agent.model.allocation import AllocationRequest
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.hami import HamiChip, HamiConfig, HamiRules, HamiState, HamiTemplate
from ascend_agent.model.health import HealthState, NodeView, NpuView
from ascend_agent.model.ids import (
    DieId,
    Millis,
    NodeName,
    ObjectVersion,
    PluginDeviceId,
    PodUid,
    ResourceName,
)
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer, PodKey, PodPhase
from ascend_agent.model.world import ClusterFacts, SharePolicy, World
from ascend_agent.slicing.by_die import MODE
from tests.fakes.npus import CHIP, view

NODE = NodeName("node-a")
BOUND_AT = 1767225601


def die(number: int) -> DieId:
    """Return the serial of the NPU of that physical id."""
    return DieId(f"0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-{number:08X}")


CHIP_910B3 = HamiChip(
    chip_name="910B3",
    word="Ascend910B3",
    resource=ResourceName("huawei.com/Ascend910B3"),
    memory_resource="huawei.com/Ascend910B3-memory",
    core_resource="huawei.com/Ascend910B3-core",
    allocatable_mib=65536,
    capacity_mib=65536,
    ai_core=20,
    ai_cpu=7,
    templates=(
        HamiTemplate(name="vir05_1c_16g", memory_mib=16384, ai_core=5, ai_cpu=1),
        HamiTemplate(name="vir10_3c_32g", memory_mib=32768, ai_core=10, ai_cpu=3),
    ),
)
CHIP_310P = HamiChip(
    chip_name="310P3",
    word="Ascend310P",
    resource=ResourceName("huawei.com/Ascend310P"),
    memory_resource="huawei.com/Ascend310P-memory",
    core_resource="huawei.com/Ascend310P-core",
    allocatable_mib=21527,
    capacity_mib=24576,
    ai_core=8,
    ai_cpu=7,
    templates=(
        HamiTemplate(name="vir01", memory_mib=3072, ai_core=1, ai_cpu=1),
        HamiTemplate(name="vir02", memory_mib=6144, ai_core=2, ai_cpu=2),
        HamiTemplate(name="vir04", memory_mib=12288, ai_core=4, ai_cpu=4),
    ),
)
CHIP_910C = dataclasses.replace(
    CHIP_910B3,
    chip_name="Ascend910",
    word="Ascend910C",
    resource=ResourceName("huawei.com/Ascend910C"),
    memory_resource="huawei.com/Ascend910C-memory",
    core_resource="huawei.com/Ascend910C-core",
    super_pod=True,
)


def state(
    chip: HamiChip = CHIP_910B3,
    *,
    soft: bool = False,
    rules: HamiRules | None = None,
    shares: int | None = None,
) -> HamiState:
    """Return what holds on a node of that chip; *soft*: wanted, and the host is ready."""
    return HamiState(
        config=HamiConfig(chips=(chip,)),
        chip=chip,
        rules=rules or HamiRules(),
        shares=chip.derived_shares if shares is None else shares,
        wants_soft=soft,
        soft=soft,
    )


def npu_view(phy: int, *, chip: str = "910B3", sick: bool = False) -> NpuView:
    """Return an NPU of that chip whose serial ends in its physical id."""
    known = view(phy, state=HealthState.SEPARATED if sick else HealthState.HEALTHY)
    identity = dataclasses.replace(
        known.npu.identity, die=die(phy), chip=dataclasses.replace(CHIP, chip_name=chip)
    )
    return dataclasses.replace(known, npu=dataclasses.replace(known.npu, identity=identity))


def node_view(count: int = 8, *, chip: str = "910B3", sick: Sequence[int] = ()) -> NodeView:
    """Return a node of NPUs of that chip."""
    return NodeView(
        generation=1,
        npus=tuple(npu_view(phy, chip=chip, sick=phy in sick) for phy in range(count)),
    )


def node(annotations: Mapping[str, str] | None = None) -> NodeObject:
    """Return the own Node."""
    return NodeObject(
        name=NODE,
        uid="uid-node-a",
        version=ObjectVersion("1"),
        labels={},
        annotations=dict(annotations or {}),
        live=True,
    )


def lock(pod: str, *, namespace: str = "default") -> Mapping[str, str]:
    """Return the annotation of a node lock that names that pod."""
    return {"hami.io/mutex.lock": f"2026-01-01T00:00:01Z,{namespace},{pod}"}


def device(number: int, memory: int, core: int = 0, *, word: str = "Ascend910B3") -> str:
    """Return one device as it stands in a slot."""
    return f"{die(number)},{word},{memory},{core}:"


def info(*entries: tuple[int, Mapping[str, object]]) -> str:
    """Return runtime info: the number of each device with what else its entry has."""
    return json.dumps([{"UUID": die(number), **rest} for number, rest in entries])


def container(
    name: str,
    *,
    asks: int = 1,
    kind: ContainerKind = ContainerKind.APP,
    chip: HamiChip = CHIP_910B3,
) -> PodContainer:
    """Return a container that asks for so many devices."""
    return PodContainer(name=name, kind=kind, limits={chip.resource: asks} if asks else {})


def pod(  # noqa: PLR0913 -- a pod is described by many things
    name: str,
    slots: str,
    *,
    allocated: str | None = None,
    runtime: str | None = None,
    containers: Sequence[PodContainer] | None = None,
    chip: HamiChip = CHIP_910B3,
    annotations: Mapping[str, str | None] | None = None,
    phase: PodPhase = PodPhase.PENDING,
    bound_at: int = BOUND_AT,
    terminating: bool = False,
    namespace: str = "default",
    uid: str | None = None,
    on: NodeName | None = NODE,
) -> Pod:
    """Return a pod that was bound to this node with these slots, none of them taken yet."""
    written: dict[str, str | None] = {
        f"hami.io/{chip.word}-devices-allocated": slots if allocated is None else allocated,
        f"hami.io/{chip.word}-devices-to-allocate": slots,
        "hami.io/bind-phase": "allocating",
        "hami.io/bind-time": str(bound_at),
        "hami.io/vgpu-node": NODE,
        "hami.io/vgpu-time": "1767225600",
        f"huawei.com/{chip.word}": runtime,
        "predicate-time": "1767225600",
        **(annotations or {}),
    }
    return Pod(
        key=PodKey(namespace=namespace, name=name),
        uid=PodUid(uid or f"uid-{name.removeprefix('p')}"),
        version=ObjectVersion("1"),
        node=on,
        phase=phase,
        terminating=terminating,
        labels={},
        annotations={key: value for key, value in written.items() if value is not None},
        containers=tuple(containers or (container("main", chip=chip),)),
        created_at_ms=Millis(0),
    )


def world(
    *pods: Pod,
    hami: HamiState | None = None,
    view: NodeView | None = None,
    annotations: Mapping[str, str] | None = None,
    facts: Mapping[str, object] | None = None,
) -> World:
    """Return what a decision rests on; *facts* changes single fields of what is known."""
    known = hami or state()
    assert known.chip is not None
    seen = view or node_view(chip=known.chip.chip_name)
    groups = MODE.advertise(seen.npus, word=known.chip.word, shares=known.shares)
    about = ClusterFacts(node_name=NODE, node=node(annotations), pods=pods, known=True)
    return World(
        view=seen,
        resource=known.chip.resource,
        groups=groups,
        share_policy=SharePolicy.SPREAD,
        now=Millis(0),
        hami=known,
        facts=dataclasses.replace(about, **dict(facts or {})),  # type: ignore[arg-type]  # fields by name
    )


def asks(*ids: tuple[int, int], chip: HamiChip = CHIP_910B3) -> AllocationRequest:
    """Return a request for devices: the NPU's number and that of the share."""
    devices = tuple(PluginDeviceId(f"{die(number)}-{share}") for number, share in ids)
    return AllocationRequest(resource=chip.resource, devices=devices)
