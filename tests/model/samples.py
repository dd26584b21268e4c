"""Values for the tests of policy: an NPU, its view, the groups the kubelet is offered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.health import HealthState, NodeView, NpuView, UnhealthyReason
from ascend_agent.model.ids import CardId, LogicId, Millis, NumaNode, PhyId, ResourceName, SlotId
from ascend_agent.model.npu import ChipIdentity, Npu, NpuAddress, NpuIdentity
from ascend_agent.model.world import SharePolicy, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an NPU sits; an NPU alone on its card, in one ring, on one NUMA node by default."""

    card: int | None = None
    slot: int = 0
    link: int = 0
    numa: int | None = 0


def make_chip(
    name: str = "910B3", *, board: int | None = 0x30, product: str | None = None
) -> ChipIdentity:
    return ChipIdentity(
        chip_type="Ascend",
        chip_name=name,
        npu_name=name,
        chip_version="V1",
        board_id=board,
        mainboard_id=None,
        product=product,
    )


def make_identity(
    phy: int,
    *,
    chip: ChipIdentity | None = None,
    place: Place | None = None,
    logic: int | None = None,
) -> NpuIdentity:
    at = place or Place(card=phy)
    card = None if at.card is None else CardId(at.card)
    index = phy if logic is None else logic
    return NpuIdentity(
        phy=PhyId(phy),
        address=NpuAddress(
            card=card,
            slot=None if card is None else SlotId(at.slot),
            logic=LogicId(index),
            lane=index if card is None else card,
        ),
        chip=chip or make_chip(),
        die=None,
        bus=None,
        memory_mib=65536,
        ai_cores=20,
        affinity=None,
    )


def make_npu(
    phy: int,
    *,
    chip: ChipIdentity | None = None,
    place: Place | None = None,
    generation: str = "910B",
    logic: int | None = None,
) -> Npu:
    at = place or Place(card=phy)
    identity = make_identity(phy, chip=chip, place=at, logic=logic)
    return Npu(
        phy=PhyId(phy),
        identity=identity,
        address=identity.address,
        generation=generation,
        numa=None if at.numa is None else NumaNode(at.numa),
        link_group=at.link,
    )


def unlisted(npu: Npu) -> Npu:
    return replace(npu, address=None)


def make_view(npu: Npu, *reasons: UnhealthyReason) -> NpuView:
    return NpuView(
        npu=npu,
        state=HealthState.SEPARATED if reasons else HealthState.HEALTHY,
        reasons=reasons,
        faults=(),
        health=0,
        since_ms=Millis(0),
    )


def make_world(
    views: Iterable[NpuView],
    *,
    word: str = "Ascend910",
    shares: int = 1,
    policy: SharePolicy = SharePolicy.SPREAD,
) -> World:
    npus = tuple(views)
    return World(
        view=NodeView(generation=1, npus=npus),
        resource=ResourceName(f"huawei.com/{word}"),
        groups=tuple(
            DeviceGroup(word=word, npu=v.npu.phy, shares=shares, healthy=v.healthy, numa=v.npu.numa)
            for v in npus
        ),
        share_policy=policy,
        now=Millis(0),
    )


def placed(places: Mapping[int, Place]) -> tuple[NpuView, ...]:
    return tuple(make_view(make_npu(phy, place=at)) for phy, at in sorted(places.items()))
