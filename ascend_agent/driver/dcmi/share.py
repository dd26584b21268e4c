"""The driver's flag that lets several containers open one chip.

What is decided here: the order of ways to set it: look first, set if it differs, look again; the
command-line tool only where the library has no way. When the flag is wanted is left to the
agent's process. Source: DCMI API, device share.
"""

import ctypes

from ascend_agent.driver.dcmi import codes
from ascend_agent.driver.dcmi.npusmi import NpuSmi, ToolError
from ascend_agent.driver.dcmi.session import Chip, Result, Session

_OFF, _ON = 0, 1
_NEED_ROOT = "setting it takes root on bare metal or in a privileged container"


def read_share(session: Session, chip: Chip, tool: NpuSmi) -> Result:
    """Return whether several containers may open *chip*, as 0 or 1."""
    rc, enabled = _get(session, chip)
    if rc in codes.ABSENT and _tool_knows(chip):
        try:
            rc, enabled = codes.OK, tool.read_share(chip[0], chip[1])
        except ToolError as error:
            return _failure(session, "share_get", rc, str(error))
    return _answer(enabled) if rc == codes.OK else _failure(session, "share_get", rc)


def enable_share(session: Session, chip: Chip, tool: NpuSmi) -> Result:
    """Switch the flag on if it is off, and return what it reads afterwards.

    On a two-die card the driver switches both dies; setting the second finds it on.
    """
    return _switch(session, chip, tool, on=True)


def disable_share(session: Session, chip: Chip, tool: NpuSmi) -> Result:
    """Switch the flag off if it is on, and return what it reads afterwards."""
    return _switch(session, chip, tool, on=False)


def _switch(session: Session, chip: Chip, tool: NpuSmi, *, on: bool) -> Result:
    rc, enabled = _get(session, chip)
    if rc == codes.OK and enabled == on:
        return _answer(enabled)
    what = "share_get"
    if rc == codes.OK:
        what = "share_set"
        rc = session.ask(what, chip, _ON if on else _OFF)
    if rc == codes.OK:
        return read_share(session, chip, tool)
    if rc == codes.NOT_PERMITTED:
        return _failure(session, what, rc, _NEED_ROOT)
    if rc not in codes.ABSENT or not _tool_knows(chip):
        return _failure(session, what, rc)
    try:
        tool.set_share(chip[0], chip[1], on=on)
    except ToolError as error:
        return _failure(session, what, rc, str(error))
    return read_share(session, chip, tool)


def _get(session: Session, chip: Chip) -> tuple[int, bool]:
    # The generations differ in the flag's sign, which its values 0 and 1 don't show.
    flag = ctypes.c_int() if session.generation.api == "v1" else ctypes.c_uint()
    rc = session.ask("share_get", chip, ctypes.byref(flag))
    return rc, flag.value == _ON


def _tool_knows(chip: Chip) -> bool:
    """Return whether the tool can name *chip*: it wants card and slot."""
    return chip[0] >= 0


def _answer(enabled: bool) -> Result:  # noqa: FBT001 -- the one fact of this answer
    return {"rc": codes.OK, "enabled": int(enabled)}


def _failure(session: Session, what: str, rc: int, detail: str = "") -> Result:
    said = {"detail": detail} if detail else {}
    return {"rc": rc, "call": session.name(what), **said}
