"""Under which names the agent of this node may appear: resources, sockets, annotations.

By the dialect: plain has a few words, HAMi those of the chips that are configured.
"""

from dataclasses import dataclass

from ascend_agent.dialects import load_dialect
from ascend_agent.dialects.hami import keys
from ascend_agent.doctor.hami_side import read_files
from ascend_agent.doctor.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """The names; sockets by file name, MindCluster's and HAMi's plugin have the same as we."""

    resources: frozenset[str]
    sockets: frozenset[str]
    annotations: frozenset[str] = frozenset()


async def own_words(place: Place) -> OwnWords:
    """Return every name that may be the agent's own."""
    in_force = await read_files(place)
    if in_force is None:
        dialect = load_dialect("plain")
        return OwnWords(
            resources=frozenset(dialect.resource_of(word) for word in dialect.words),
            sockets=frozenset(f"{word}.sock" for word in dialect.words),
        )
    chips = in_force.device.value.chips
    return OwnWords(
        resources=frozenset(chip.resource for chip in chips),
        sockets=frozenset(f"{chip.word}.sock" for chip in chips),
        annotations=frozenset(
            key for chip in chips for key in (keys.register(chip.word), keys.handshake(chip.word))
        ),
    )
