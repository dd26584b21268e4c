"""MindCluster's ``hangDetectionConfig.json``: thresholds of the hang detection, and its switch.

Decides what a file means. When it is read, and that an unusable one leaves what was in force, is
left to ``flows/detect_hangs``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ascend_agent.faults.hang import HangThresholds

_SHOWN = 80
_MOST_REMARKS = 20
_FIELDS: Final = {
    "AICoreUtilization": "core_percent",
    "HbmMemoryDelta": "memory_percent",
    "TrafficDelta": "traffic",
    "CPUTimeDelta": "cpu_s",
    "DetectDuration": "rounds",
}
_AT_LEAST_ONE = "DetectDuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class HangConfig:
    """What a file says; ``remarks`` names what in it has no effect, for people."""

    enabled: bool = True
    thresholds: HangThresholds = field(default_factory=HangThresholds)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BadHangConfig:
    """The file can't be used; ``why`` says what is wrong with it."""

    why: str


def parse_hang_config(data: bytes) -> HangConfig | BadHangConfig:
    """Return what the file says.

    A file without ``Enabled`` switches detection off, as MindCluster reads it; a threshold that
    is missing, negative, or a ``DetectDuration`` of 0 has its default.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return BadHangConfig(why="it is no JSON")
    section = document.get("HangDetection") if isinstance(document, dict) else None
    if not isinstance(section, dict):
        return BadHangConfig(why="it has no object HangDetection")
    enabled = section.get("Enabled", False)
    if not isinstance(enabled, bool):
        return BadHangConfig(why="Enabled is neither true nor false")
    given = section.get("Threshold", {})
    if not isinstance(given, dict):
        return BadHangConfig(why="Threshold is no object")
    remarks = [f"unknown: {_shown(key)}" for key in document if key != "HangDetection"]
    remarks += [f"unknown: {_shown(key)}" for key in section if key not in {"Enabled", "Threshold"}]
    values: dict[str, int] = {}
    for key, value in given.items():
        if key not in _FIELDS:
            remarks.append(f"unknown: {_shown(key)}")
        elif isinstance(value, bool) or not isinstance(value, int):
            return BadHangConfig(why=f"{key} is no whole number")
        elif value < (1 if key == _AT_LEAST_ONE else 0):
            remarks.append(f"{key} {_shown(str(value))} is too small; the default counts")
        else:
            values[_FIELDS[key]] = value
    return HangConfig(
        enabled=enabled, thresholds=HangThresholds(**values), remarks=tuple(remarks[:_MOST_REMARKS])
    )


def spelled(thresholds: HangThresholds) -> Mapping[str, int]:
    """Return *thresholds* by the file's own names, for people."""
    return {key: getattr(thresholds, name) for key, name in _FIELDS.items()}


def _shown(text: str) -> str:
    return text[:_SHOWN]
