"""The check ``own-files``: whether the files of hang detection and DPU NICs can be used.

They are read and judged by the code that the agent follows them with, which leaves in force what
was there before; so a file that can't be used only shows in its log.
"""

from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.errors import ConfigError, HostError
from ascend_agent.faults.hang_config import BadHangConfig, parse_hang_config
from ascend_agent.host.small_file import LocalFile
from ascend_agent.settings.dpus import parse_dpu_config

_HANGS: Final = "hang configuration"
_DPUS: Final = "dpu configuration"


async def _look(place: Place) -> tuple[Finding, ...]:
    settings = place.settings
    found: list[Finding] = []
    if settings.hang_config is not None:
        found += await _judge(_HANGS, settings.hang_config)
        if not settings.hang_detection:
            remedy = "switch it on with --hang-detection, or leave the file out"
            found.append(warn(f"{_HANGS} without effect", "--hang-detection is off", remedy=remedy))
    if settings.dpu_config is not None:
        found += await _judge(_DPUS, settings.dpu_config)
    return tuple(found) or (
        skipped("files of hang detection and dpu nics", "no --hang-config and no --dpu-config"),
    )


async def _judge(what: str, path: Path) -> list[Finding]:
    try:
        data = await LocalFile(path).read()
    except HostError as error:
        remedy = "correct owner, mode or size of the file, or repair what it is mounted from"
        return [warn(f"{what} not readable", str(error), remedy=remedy)]
    if data is None:
        remedy = "correct the path; in a pod mount the file (the chart does it for its value)"
        return [warn(f"{what} missing", f"{path} is not there", remedy=remedy)]
    try:
        remarks = _remarks(what, data, str(path))
    except ConfigError as error:
        remedy = "correct it; docs/faults.md shows what it looks like"
        return [warn(f"{what} not usable", text, remedy=remedy) for text in str(error).splitlines()]
    if remarks:
        detail = f"{path}: {', '.join(remarks)}"
        remedy = "correct or remove these; the rest is used"
        return [warn(f"{what} has parts without effect", detail, remedy=remedy)]
    return [ok(f"{what} in order", str(path))]


def _remarks(what: str, data: bytes, name: str) -> tuple[str, ...]:
    """Return what in the file has no effect; raises ConfigError where nothing has."""
    if what == _DPUS:
        return parse_dpu_config(data, name=name).ignored
    config = parse_hang_config(data)
    if isinstance(config, BadHangConfig):
        raise ConfigError(f"{name}: {config.why}")
    return config.remarks if config.enabled else ("it switches hang detection off", *config.remarks)


CHECK: Final = Check(
    name="own-files",
    asks="With --hang-config or --dpu-config: can the file be used, all of it?",
    advice=(
        "Missing or not usable: the agent goes on with what it knew, at the start with built-in "
        "thresholds, or without DPU NICs.\n"
        "Without effect: a file that switches hang detection off, or lacks Enabled, wins over "
        "--hang-detection."
    ),
    look=_look,
)
