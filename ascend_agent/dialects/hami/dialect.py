"""The dialect as flows see it; what is decided stands in the files beside."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ascend_agent.dialects import node_annotations
from ascend_agent.dialects.hami.assign import assign
from ascend_agent.dialects.hami.holders import holders
from ascend_agent.dialects.hami.prefer import prefer
from ascend_agent.model.allocation import (
    AllocationRequest,
    Allocations,
    Assignment,
    Holder,
    NeedFresh,
    PreferenceRequest,
    Refused,
)
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import ForeignEdit, NodeObject, Report
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.model.isolation import PublishedIsolation
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import NodeWorld, World


class HamiDialect:
    """HAMi's scheduler chooses, and says so in annotations of the pod."""

    name: ClassVar[str] = "hami"
    words: ClassVar[tuple[str, ...]] = ()
    """Which word is offered is configured, and may change."""

    def word_of(self, npu: Npu, spec: ChipSpec) -> str:  # noqa: ARG002 -- the seam's signature
        """Return the generation's word, by which isolated NPUs are called in our own keys."""
        return spec.word

    def resource_of(self, word: str) -> ResourceName:
        """Return ``huawei.com/<word>``, as every resource of the built-in table is called."""
        return ResourceName(f"huawei.com/{word}")

    def assign(self, request: AllocationRequest, world: World) -> Assignment | NeedFresh | Refused:
        """Return what the next container of the pod that waits gets; see ``assign``."""
        return assign(request, world)

    def prefer(self, request: PreferenceRequest, world: World) -> tuple[PluginDeviceId, ...]:
        """Return ids of the NPUs that the scheduler chose; see ``prefer``."""
        return prefer(request, world)

    def holders(
        self,
        held: Mapping[ResourceName, Mapping[PluginDeviceId, Holder]],  # noqa: ARG002 -- ids name arbitrary NPUs
        worlds: Sequence[World],
    ) -> Allocations:
        """Return who has which NPU by the pods' annotations; see ``holders``."""
        return holders(worlds)

    def report(self, world: NodeWorld) -> Report:
        """Return the annotations about isolated NPUs; the scheduler is told by another flow."""
        return node_annotations.isolation_report(world)

    def isolation_said(self, node: NodeObject) -> PublishedIsolation:
        """Return what the annotations of *node* say of isolation."""
        return node_annotations.said(node)

    def is_release(self, edit: ForeignEdit) -> bool:
        """Return whether *edit* is of the annotation that lists the separated NPUs."""
        return node_annotations.is_of_list(edit)
