"""The check ``surroundings``: whether network ports and switches of the node's chips can be seen.

Both are known by programs of the driver's that it may have been installed without. Nothing of it
is run here: the tool because it asks cards, the library because it would be loaded into us.
"""

from typing import Final

from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.driver.dcmi import abi
from ascend_agent.driver.dcmi.search import LibraryTroubleError, find_library
from ascend_agent.driver.trusted import check_program
from ascend_agent.errors import HostError
from ascend_agent.model.chip import Ports
from ascend_agent.settings import DriverKind

_WHAT: Final = "network ports and switches"


async def _look(place: Place) -> tuple[Finding, ...]:
    if place.settings.driver is DriverKind.SIMULATED:
        return (skipped(_WHAT, "the driver is simulated, and so are they"),)
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return (skipped(_WHAT, "the driver does not answer, see the check driver"),)
    specs = [npu.spec for npu in answer.npus if npu.spec is not None]
    found: list[Finding] = []
    if any(spec.ports is not Ports.NONE for spec in specs):
        found.append(await place.off_loop(lambda: _tool(place)))
    if any(spec.has_switches for spec in specs):
        found.append(await place.off_loop(lambda: _library(place)))
    return tuple(found) or (skipped(_WHAT, "no chip of this node has any"),)


def _tool(place: Place) -> Finding:
    settings = place.settings
    try:
        path = check_program(str(settings.hccn_tool), allow_unsafe=settings.allow_unsafe_library)
    except HostError as trouble:
        return warn(
            "network ports not seen",
            str(trouble),
            remedy="mount the driver's directory with its tools, or name the tool with "
            "--hccn-tool; without it a port that is down shows only where the driver tells of it",
        )
    return ok("tool for network ports found, root alone can change it", path)


def _library(place: Place) -> Finding:
    settings = place.settings
    try:
        path = find_library(
            abi.LIBLINGQU,
            explicit=str(settings.switch_library) if settings.switch_library else None,
            library_path=place.environment.get("LD_LIBRARY_PATH", ""),
            allow_unsafe=settings.allow_unsafe_library,
            option="--switch-library",
        )
    except LibraryTroubleError as trouble:
        return warn(
            "switches not seen",
            trouble.detail,
            remedy="do what the sentence says; on a node without switches nothing",
        )
    return ok("switch library found, root alone can change it", path)


CHECK: Final = Check(
    name="surroundings",
    asks="Are the driver's tool for network ports and the library of the switches there, where "
    "the chips have such?",
    advice=(
        "Not seen: NPUs are served all the same; what the agent can't see is never a fault.\n"
        "Whoever needs these faults installs the whole driver, and in a pod mounts all of it."
    ),
    look=_look,
)
