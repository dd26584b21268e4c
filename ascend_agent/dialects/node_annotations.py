"""Isolated NPUs as annotations of the own Node, for clusters in which no scheduler asks for more.

Decides where the two texts stand and which of them people may edit. The texts are MindCluster's
(``ManuallySeparateNPU`` and ``UpgradeFaultReason`` of its ConfigMap), under keys of our own: nobody
else may take a Node's annotation for that ConfigMap (docs/decisions/0010).
"""

from typing import Final

from ascend_agent.model.cluster import ForeignEdit, MetadataField, NodeEdit, NodeObject, Report
from ascend_agent.model.isolation import IsolationTexts, PublishedIsolation
from ascend_agent.model.world import NodeWorld

SEPARATED: Final = "ascend-agent.io/manually-separated"
REASONS: Final = "ascend-agent.io/upgrade-fault-reason"

_LONGEST: Final = 128 * 1024
"""Bytes; all annotations of an object together may have twice as many."""


def said(node: NodeObject) -> PublishedIsolation:
    """Return what *node* says of isolation."""
    return PublishedIsolation(
        uid=node.uid,
        version=node.version,
        texts=IsolationTexts(
            separated=node.annotations.get(SEPARATED, ""),
            reasons=node.annotations.get(REASONS, ""),
        ),
    )


def isolation_report(world: NodeWorld) -> Report:
    """Return the annotations about isolated NPUs; those that would say nothing are taken away."""
    if world.isolation is None:
        return Report(edits=())
    separated, reasons = world.isolation.separated, world.isolation.reasons
    annotations: dict[str, str | None] = {SEPARATED: separated or None}
    left_out: tuple[str, ...] = ()
    if len(reasons) <= _LONGEST:
        annotations[REASONS] = reasons or None
    else:
        left_out = (f"{REASONS}: {len(reasons)} characters are more than {_LONGEST}",)
    # Who takes a name off meanwhile releases an NPU: that must be heard of, not written over.
    seen = {SEPARATED: world.node.annotations.get(SEPARATED)}
    edit = NodeEdit(labels={}, annotations=annotations, expects=seen)
    return Report(edits=(edit,), left_out=left_out)


def is_of_list(edit: ForeignEdit) -> bool:
    """Return whether *edit* changed the list from which people may take NPUs."""
    place = (edit.pod, edit.field, edit.key)
    return place == (None, MetadataField.ANNOTATIONS, SEPARATED)
