"""The check ``confinement``: whether SELinux or AppArmor hold this process back (PM-1, PM-4).

Reads modes and our own label. Whether a path is denied shows where that path is tried.
"""

from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place

_UNFIT: Final = frozenset({"container_t", "container_init_t"})
_TYPE: Final = 2  # user:role:type:level


async def _look(place: Place) -> tuple[Finding, ...]:
    return await place.off_loop(
        lambda: (
            judge_selinux(
                _read(place.sys / "fs/selinux/enforce"), _read(place.proc / "self/attr/current")
            ),
            judge_apparmor(
                _read(place.sys / "module/apparmor/parameters/enabled"),
                _read(place.proc / "self/attr/apparmor/current")
                or _read(place.proc / "self/attr/current"),
            ),
        )
    )


def judge_selinux(enforce: str, label: str) -> Finding:
    """Return the finding for the content of ``enforce`` and our own label, empty where absent."""
    parts = label.split(":")
    if len(parts) <= _TYPE:
        return ok("selinux does not confine us", "not in use on this node, as far as it shows")
    kind = parts[_TYPE]
    if enforce == "0" or not kind.startswith("container"):
        return ok("selinux does not confine us", f"label {label}, enforcing {enforce or 'unknown'}")
    remedy = "set securityContext.seLinuxOptions.type to spc_t (privileged: true implies it)"
    if kind in _UNFIT and enforce == "1":
        return fail(
            "selinux confines us",
            f"enforcing, and our type is {kind}: it may open no device node of the driver and "
            "make no socket for the kubelet",
            remedy=remedy,
        )
    return warn(
        "selinux may confine us", f"label {label}, enforcing {enforce or 'unknown'}", remedy=remedy
    )


def judge_apparmor(enabled: str, profile: str) -> Finding:
    """Return the finding for the module's state and our own profile, empty where absent."""
    if enabled != "Y" or not profile.endswith("(enforce)"):
        detail = f"profile {profile}" if enabled == "Y" and profile else "not in use"
        return ok("apparmor does not confine us", detail)
    return warn(
        "apparmor confines us",
        f"profile {profile}",
        remedy="set securityContext.appArmorProfile.type to Unconfined (before Kubernetes 1.30 the "
        "annotation container.apparmor.security.beta.kubernetes.io/CONTAINER: unconfined) where "
        "another check says 'permission denied'",
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip("\0\n ")
    except OSError:
        return ""  # not in use, or hidden from this container


CHECK: Final = Check(
    name="confinement",
    asks="Are SELinux or AppArmor in force here, and do they confine this process?",
    advice=(
        "SELinux confines us: run the container as spc_t, or load a policy that allows what "
        "SECURITY.md lists.\n"
        "AppArmor confines us: it works on one distribution and not on another when only one of "
        "them has a default profile; run unconfined, or load a profile of your own."
    ),
    look=_look,
)
