"""The check ``rights``: who this process is, and what it may do besides opening files.

Source: ``/proc/self/status``; what the driver needs of whom is its environment table.
"""

import os
from collections.abc import Mapping
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place

_SYS_ADMIN: Final = 1 << 21
_SECCOMP: Final = {"0": "off", "1": "strict", "2": "filter"}


async def _look(place: Place) -> tuple[Finding, ...]:
    status = await place.off_loop(lambda: read_status((place.proc / "self/status").read_text()))
    return (judge(status, uid=os.geteuid(), shares=place.settings.shares),)


def read_status(text: str) -> Mapping[str, str]:
    """Return the fields of a ``status`` file."""
    parts = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in parts}


def judge(status: Mapping[str, str], *, uid: int, shares: int) -> Finding:
    """Return whether these rights are enough for an agent that offers *shares*."""
    effective = int(status.get("CapEff", "0"), 16)
    seccomp = status.get("Seccomp", "0")
    detail = (
        f"uid {uid}, capabilities {effective:016x}, seccomp {_SECCOMP.get(seccomp, seccomp)}, "
        f"no_new_privs {status.get('NoNewPrivs', '?')}"
    )
    if uid != 0:
        return warn(
            "not root",
            f"{detail}; other checks may fail that would not fail for the agent",
            remedy="run the doctor as root, or inside the agent's pod",
        )
    if effective & _SYS_ADMIN:
        return ok("root with all rights", detail)
    if shares > 1:
        return fail(
            "not privileged",
            f"{detail}; the driver sets the share flag that --shares needs for a privileged "
            "container or on bare metal alone, and answers -8002 here",
            remedy="run the container with privileged: true, or set --shares to 1",
        )
    return warn(
        "not privileged",
        f"{detail}; the driver shows an unprivileged container only the chips that were given "
        "to it",
        remedy="run the container with privileged: true unless all its device nodes are handed in",
    )


CHECK: Final = Check(
    name="rights",
    asks="Is this process root, and has it the rights that the driver asks for?",
    advice=(
        "Not root: what follows is judged with less than the agent has.\n"
        "Not privileged: the driver hides chips from such a container and refuses to set the "
        "share flag; SECURITY.md says what each privilege is for."
    ),
    look=_look,
)
