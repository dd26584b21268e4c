"""Which contents of HAMi's two files are in force, file by file.

One that can't be used changes nothing: what was in force stays, until a good one comes or the file
goes away. Without a file the built-in chips hold, and global settings; in the place of a file that
was never in order nothing does, since it may hide NPUs or want soft slices.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.dialects.hami.device_config import DeviceConfig, parse_device_config
from ascend_agent.dialects.hami.node_config import NodeConfig, parse_node_config
from ascend_agent.model.hami import HamiFiles
from ascend_agent.model.ids import NodeName

T = TypeVar("T")

DEVICE: Final = "device"
NODE: Final = "node"
_ABSENT: Final = ("absent", "")
_UNSEEN: Final = ("unseen", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[T]):
    """One of the files: what is in force of it, and why what it holds now is not.

    ``judged`` is what was looked at last, so that it is not read again while it stays the same.
    ``known`` is False while it was never in order: ``value`` is then what nobody has said.
    """

    value: T
    present: bool = False
    known: bool = True
    judged: tuple[str, str] = _UNSEEN
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """Both files as understood; ``names`` are what people call them, by role."""

    names: Mapping[str, str]
    device: Part[DeviceConfig] = field(
        default_factory=lambda: Part(value=DeviceConfig(chips=CHIPS))
    )
    node: Part[NodeConfig] = field(default_factory=lambda: Part(value=NodeConfig()))

    @property
    def refused(self) -> Mapping[str, str]:
        """Return why a file can't be used as it is now, by role."""
        parts = {DEVICE: self.device.refused, NODE: self.node.refused}
        return {role: why for role, why in parts.items() if why}

    @property
    def unknown(self) -> Mapping[str, str]:
        """Return why a file can't be used that never could since the agent has looked, by role."""
        known = {DEVICE: self.device.known, NODE: self.node.known}
        return {role: why for role, why in self.refused.items() if not known[role]}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what of the files in force has no effect, each with the file's name."""
        return (
            *(f"{self.names[DEVICE]}: {text}" for text in self.device.value.warnings),
            *(f"{self.names[NODE]}: {text}" for text in self.node.value.warnings),
        )


def judge(before: InForce, files: HamiFiles, *, node: NodeName) -> InForce:
    """Return what is in force once *files* are what there is; may compute for a moment."""
    return InForce(
        names=before.names,
        device=_follow(
            before.device,
            _offer(files, DEVICE),
            parse_device_config,
            without=DeviceConfig(chips=CHIPS),
        ),
        node=_follow(
            before.node,
            _offer(files, NODE),
            lambda text: parse_node_config(text, node=node),
            without=NodeConfig(),
        ),
    )


def _offer(files: HamiFiles, role: str) -> tuple[str, str]:
    if role in files.troubles:
        return ("trouble", files.troubles[role])
    return ("text", files.texts[role]) if role in files.texts else _ABSENT


def _follow(
    part: Part[T], offer: tuple[str, str], parse: Callable[[str], T], *, without: T
) -> Part[T]:
    if offer == part.judged:
        return part
    kind, text = offer
    if offer == _ABSENT:
        return Part(value=without, judged=offer)
    why = text
    if kind != "trouble":
        try:
            return Part(value=parse(text), present=True, judged=offer)
        except ValueError as error:
            why = str(error)
    known = part.known and part.judged != _UNSEEN
    return replace(part, known=known, judged=offer, refused=why)
