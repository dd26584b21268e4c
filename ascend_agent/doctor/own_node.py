"""The check ``own-node``: whether the Node object shows what this node has to offer (CF-4, CF-10).

Compares the kubelet's numbers with what the driver shows now, and looks for resources and
annotations of other plugins.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ascend_agent.doctor.answers import ClusterFacts, DriverTrouble, OwnNode
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.hami_side import draw_here
from ascend_agent.doctor.own_words import OwnWords, own_words
from ascend_agent.doctor.picture import Count
from ascend_agent.doctor.place import Place
from ascend_agent.model.ids import ResourceName

_ASCEND: Final = "huawei.com/"
_FOREIGN: Final = ("hami.io/node-register-Ascend", "hami.io/node-handshake-Ascend")


async def _look(place: Place) -> tuple[Finding, ...]:
    answer = await place.cluster()
    if not isinstance(answer, ClusterFacts):
        return (skipped("own node", "no API server answers, see the check api-server"),)
    if isinstance(answer.node, str):
        return (
            fail(
                "own node not found",
                answer.node,
                remedy="let --node-name (NODE_NAME) be the node's name as kubectl get nodes shows "
                "it, and --kubeconfig be of the cluster that the node belongs to",
            ),
        )
    survey = await place.driver()
    counts = None
    if not isinstance(survey, DriverTrouble):
        counts = (await draw_here(place, survey)).counts
    own = await own_words(place)
    found = [*_foreign(answer.node, own), *_compare(answer.node, counts or {})]
    if counts is None:
        found.append(skipped("numbers of the node", "the driver does not answer"))
    return tuple(found) or (ok("own node found", "and this node has no NPU to offer"),)


def _compare(node: OwnNode, counts: Mapping[ResourceName, Count]) -> Iterator[Finding]:
    for resource, count in counts.items():
        capacity = _number(node.capacity.get(resource))
        allocatable = _number(node.allocatable.get(resource))
        text = (
            f"{resource}: capacity {capacity}, allocatable {allocatable}; the driver shows "
            f"{count.total}, of which {count.healthy} healthy"
        )
        if (capacity, allocatable) == (count.total, count.healthy):
            yield ok("node shows its npus", text)
        elif allocatable == 0 and count.healthy:
            yield fail(
                "node shows no npu",
                text,
                remedy="see the checks kubelet, node-lock and agent: no agent is registered, or "
                "the kubelet has just lost it",
            )
        else:
            yield warn(
                "node shows other numbers",
                text,
                remedy="wait 10 s, the kubelet's own pace, and look again; then see the checks "
                "other-plugins and agent, and compare --shares",
            )


def _foreign(node: OwnNode, own: OwnWords) -> Iterator[Finding]:
    others = {
        name: amount
        for name, amount in node.capacity.items()
        if name.startswith(_ASCEND) and name not in own.resources and _number(amount)
    }
    if others:
        yield warn(
            "resources of another plugin",
            ", ".join(f"{name}: {amount}" for name, amount in sorted(others.items())),
            remedy="remove the other plugin, see the check other-plugins; the kubelet forgets its "
            "resources 5 minutes later",
        )
    notes = sorted(
        name
        for name in node.annotations
        if name.startswith(_FOREIGN) and name not in own.annotations
    )
    if notes:
        yield warn(
            "annotations of another plugin",
            ", ".join(notes),
            remedy="if that plugin is gone, remove them: kubectl annotate node NAME KEY-; HAMi's "
            "scheduler counts NPUs by them",
        )


def _number(text: str | None) -> int:
    """Return a quantity of an extended resource, which is always a whole number; 0 if absent."""
    return int(text) if text and text.isdecimal() else 0


CHECK: Final = Check(
    name="own-node",
    asks="Is the own Node there, does it show the NPUs, and does it show foreign ones?",
    advice=(
        "Not found: the node name or the cluster is the wrong one.\n"
        "No NPU though the driver has healthy ones: the way from agent to kubelet is broken, which "
        "kubelet-directory, kubelet, node-lock and agent take apart.\n"
        "Resources of another plugin: it still runs, or the kubelet has not forgotten it yet."
    ),
    look=_look,
)
