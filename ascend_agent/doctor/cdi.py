"""The check ``cdi``: whether our CDI specification is there, valid, and in step with the NPUs.

What it should say comes from the code that the agent writes it with.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ascend_agent.cluster.fields import parse_json
from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.picture import draw
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.write_test import try_write
from ascend_agent.host.access import explain_refusal
from ascend_agent.injection import cdi
from ascend_agent.injection.resolve import paths, resolve
from ascend_agent.model.allocation import Refused
from ascend_agent.runtime.regular import read_regular
from ascend_agent.settings import InjectionWay

_NAME: Final = "ascend-agent.json"
_AGAIN: Final = (
    "let the agent write it: it does so at its start and looks again every 30 s; its log says why "
    "not (cdi specification not written)"
)


async def _look(place: Place) -> tuple[Finding, ...]:
    path = place.settings.cdi_dir / _NAME
    if place.settings.way is not InjectionWay.CDI:
        return (await place.off_loop(lambda: _unused(path)),)
    error = await place.off_loop(lambda: _try_write(path.parent))
    if error is not None:
        return (
            fail(
                "cdi directory not writable",
                explain_refusal(path.parent, error),
                remedy="mount --cdi-dir writable into the pod",
            ),
        )
    try:
        text = await place.off_loop(lambda: read_regular(path))
    except FileNotFoundError:
        return (warn("no cdi specification", f"{path} does not exist", remedy=_AGAIN),)
    except ValueError as error:
        return (_broken(str(error)),)
    return (judge(path, text, await _expected(place)),)


def _unused(path: Path) -> Finding:
    if path.exists():
        return warn(
            "cdi specification left over",
            f"{path} is there, and NPUs get in another way",
            remedy="remove the file, unless pods that were started by it still run",
        )
    return skipped("cdi specification", "NPUs get in another way: --inject is not cdi")


def _try_write(directory: Path) -> OSError | None:
    """Return why the directory, or the nearest one above it that exists, can't be written."""
    there = next(each for each in (directory, *directory.parents) if each.exists())
    return try_write(there)


async def _expected(place: Place) -> Mapping[str, object] | str:
    """Return what the file should say, or why that is not known."""
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return "the driver does not answer, see the check driver"
    npus = draw(answer, place.settings).npus
    if not npus:
        return "there is no NPU"
    host = place.host_files
    wants = cdi.common_wants(npus, base_mounts=await host.base_mounts())
    common = resolve(
        wants,
        existing=await host.existing(paths(wants)),
        entries={want.path: await host.entries(want) for want in wants.directories},
        npus=(),
    )
    return common.detail if isinstance(common, Refused) else cdi.document(npus, common)


def judge(path: Path, text: bytes, expected: Mapping[str, object] | str) -> Finding:
    """Return the finding for a specification that says *text*."""
    try:
        found = parse_json(text)
    except ValueError as error:
        return _broken(f"{path}: {error}")
    if isinstance(expected, str):
        return skipped("cdi specification", f"{path} is JSON; what it should say: {expected}")
    missing = sorted(_names(expected) - _names(found), key=int)
    if missing:
        return fail(
            "cdi specification out of step",
            f"{path} has no device for NPU {', '.join(missing)}: containers with it don't start",
            remedy=_AGAIN,
        )
    if found != expected:
        return warn(
            "cdi specification out of date",
            f"{path} names nodes, mounts or NPUs that are no longer right",
            remedy=_AGAIN,
        )
    return ok("cdi specification in step", f"{path}: {len(_names(expected))} NPUs")


def _broken(why: str) -> Finding:
    return fail("cdi specification broken", why, remedy=f"remove the file; {_AGAIN}")


def _names(document: object) -> set[str]:
    devices = document.get("devices") if isinstance(document, Mapping) else None
    if not isinstance(devices, list):
        return set()
    return {str(each.get("name")) for each in devices if isinstance(each, Mapping)}


CHECK: Final = Check(
    name="cdi",
    asks="With --inject cdi: is our specification there, valid, and in step with the NPUs?",
    advice=(
        "Not writable: the agent can't tell the container runtime of the NPUs.\n"
        "Broken or out of step: containers with these NPUs don't start; the agent replaces the "
        "file by itself, so look why it does not.\n"
        "Left over: a file of an earlier setting; it does no harm to pods that don't name it."
    ),
    look=_look,
)
