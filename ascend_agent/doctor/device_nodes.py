"""The check ``device-nodes``: a dry run of what a container of each NPU would get (IM-3, IM-6).

The way in decides what is wanted and the same code as Allocate's resolves it on this host.
"""

import stat
from typing import Final

from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, Verdict, about_npus, fail, ok, skipped
from ascend_agent.doctor.picture import draw
from ascend_agent.doctor.place import Place
from ascend_agent.injection import find_injections
from ascend_agent.injection.logical import WithLogicalIds
from ascend_agent.injection.resolve import paths, resolve
from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import ContainerGrant, Refused
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu
from ascend_agent.settings import DriverKind, InjectionWay, Settings

_WHAT: Final = "what a container gets"
_MISSING: Final = "load the driver on the host; in a pod mount the host's /dev, and set --host-root"


async def _look(place: Place) -> tuple[Finding, ...]:
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return (skipped(_WHAT, "the driver does not answer, see the check driver"),)
    npus = draw(answer, place.settings).npus
    if not npus:
        return (skipped(_WHAT, "there is no NPU that could be given to a container"),)
    ways = [_injection(place.settings)]
    if (
        place.settings.way is InjectionWay.RUNTIME
        and place.settings.driver is not DriverKind.SIMULATED
    ):
        # The vendor's runtime hands in about what the device-node way does. With simulated NPUs
        # a container gets the variable and nothing else.
        ways.append(find_injections()["devices"])
    found = [(npu.phy, await _try(place, way, npu, spec)) for way in ways for npu, spec in npus]
    troubles = [(phy, one) for phy, one in found if one.verdict is not Verdict.OK]
    return about_npus(troubles or found[:1])


def _injection(settings: Settings) -> Injection:
    way = find_injections()[settings.injection]
    return WithLogicalIds(way) if settings.logical_ids else way


async def _try(place: Place, injection: Injection, npu: Npu, spec: ChipSpec) -> Finding:
    host = place.host_files
    mounts = await host.base_mounts() if injection.reads_mounts else None
    wants = injection.wants([(npu, spec)], base_mounts=mounts)
    existing = await host.existing(paths(wants))
    entries = {want.path: await host.entries(want) for want in wants.directories}
    grant = resolve(wants, existing=existing, entries=entries, npus=[npu.phy])
    if isinstance(grant, Refused):
        return fail("device node missing", grant.detail, remedy=_MISSING)
    wrong = await place.off_loop(lambda: _no_devices(place, grant))
    if wrong:
        return fail(
            "no device node",
            ", ".join(wrong),
            remedy="remove what lies there and load the driver anew: a container runtime makes "
            "folders of what it is to mount and can't find",
        )
    # Both that tell the runtime are one to people, who set --inject.
    name = InjectionWay.RUNTIME.value if injection.name == "visible" else injection.name
    return ok(_WHAT, f"by {name}: {describe(grant)}")


def _no_devices(place: Place, grant: ContainerGrant) -> list[str]:
    """Return the nodes that are something else, with what they are."""
    found = []
    for node in grant.nodes:
        mode = place.on_host(node.host_path).stat().st_mode
        if not stat.S_ISCHR(mode):
            found.append(f"{node.host_path} is {stat.filemode(mode)}")
    return found


def describe(grant: ContainerGrant) -> str:
    """Return what a container gets, for people."""
    parts = [
        *(f"{name}={value}" for name, value in sorted(grant.envs.items())),
        *(node.host_path for node in grant.nodes),
        *(f"{mount.host_path} (read-only)" for mount in grant.mounts),
        *(f"CDI device {name}" for name in grant.cdi_devices),
    ]
    return ", ".join(parts)


CHECK: Final = Check(
    name="device-nodes",
    asks="What would a container of each NPU get, and is all of it there?",
    advice=(
        "A missing node fails each Allocate of that NPU: load the driver, and let the agent see "
        "the host's /dev as it is now.\n"
        "Where all is well the finding shows what a container of the first NPU gets, which is "
        "what to compare a container with that finds no NPU.\n"
        "Don't mount the driver a second time in the pod: mixed files of two releases end in "
        "-8005 inside the container."
    ),
    look=_look,
)
