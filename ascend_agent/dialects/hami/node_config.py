"""HAMi's ``node-config.yaml`` → what it says of this node, if anything.

Decides which entry counts, the first of this node's name, and what an absent key means: that the
global value holds (HAMi C3).
"""

import re
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami.soft_wish import soft_wish
from ascend_agent.dialects.hami.yaml_text import Section, first_of, read_yaml, shown
from ascend_agent.model.hami import MOST_SHARES, HamiNodeEntry
from ascend_agent.model.ids import CardId, DieId, NodeName

_NODES: Final = "nodes"
_MOST_NODES: Final = 5000
"""As many as a cluster has: a file that is refused for its length would hide no NPU anywhere."""
_HIGHEST_CARD: Final = 9999
_NAMES_SHOWN: Final = 5
_DIE: Final = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{8}){4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """The file as understood; ``entry`` None: it says nothing of this node."""

    entry: HamiNodeEntry | None = None
    warnings: tuple[str, ...] = ()


def parse_node_config(text: str, *, node: NodeName) -> NodeConfig:
    """Return what the file says of *node*; other nodes' entries are not looked into.

    One without any entry has nothing to say, and nobody expects it to.

    Raises:
        ValueError: it can't be used; the text says where, why and what to do.

    """
    tree = read_yaml(text)
    if _NODES not in tree:
        raise ValueError("has no nodes; give a list of entries there, each with a name")
    top = Section(dict(tree), "top level")
    entries = top.entries(_NODES, most=_MOST_NODES)
    warnings = list(top.unknown())
    entry: HamiNodeEntry | None = None
    names = []
    for number, each in enumerate(entries, start=1):
        section = Section(each, f"nodes, entry {number}")
        name = section.text("name")
        names.append(name)
        if name != node:
            continue
        if entry is not None:
            warnings.append(
                f"nodes, entry {number}: {shown(name)} stood before, and the first counts; "
                "remove one"
            )
            continue
        entry = _entry(section, warnings)
    if entry is None and names:
        more = ", ..." if len(names) > _NAMES_SHOWN else ""
        listed = ", ".join(shown(name) for name in names[:_NAMES_SHOWN])
        warnings.append(
            f"no entry is of this node, {shown(node)}: the file names {listed}{more}; global "
            "settings hold here"
        )
    return NodeConfig(entry=entry, warnings=first_of(warnings))


def _entry(section: Section, warnings: list[str]) -> HamiNodeEntry:
    dies: frozenset[DieId] = frozenset()
    cards: frozenset[CardId] = frozenset()
    soft = soft_wish(section, "hami-vnpu-core", warnings)
    shares = section.whole("vDeviceCount", low=0, high=MOST_SHARES, default=0)
    if (filters := section.section("filterDevices")) is not None:
        dies = frozenset(_die(each, filters.where, warnings) for each in filters.texts("uuid"))
        cards = frozenset(map(CardId, filters.wholes("index", high=_HIGHEST_CARD)))
        warnings += filters.unknown()
    warnings += section.unknown()
    return HamiNodeEntry(soft=soft, shares=shares or None, hidden_dies=dies, hidden_cards=cards)


def _die(text: str, where: str, warnings: list[str]) -> DieId:
    die = text.strip().upper()
    if not _DIE.fullmatch(die):
        warnings.append(
            f"{where}, uuid: {shown(text)} is no VDIE id, five words of eight hex digits joined "
            "by dashes; npu-smi and the agent's /status show them"
        )
    return DieId(die)
