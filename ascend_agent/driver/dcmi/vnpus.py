"""The vNPUs of one chip: which there are, and taking one away.

What is decided here: that one vNPU that can't be described does not hide the others, and that none
is destroyed that a process has open, nor by a number that means all. Which ones nobody owns is
decided in the agent's process. Source: DCMI API, info
channel and vNPU.
"""

import ctypes
from collections.abc import Callable

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.library import structure, text
from ascend_agent.driver.dcmi.session import Chip, Result, Session

_MAIN = abi.ENUMS["dcmi_main_cmd"]["VDEV_MNG"]
_EACH = abi.SUB_CMD["VDEV_MNG"]["VDEV_RESOURCE"]
_TOTAL = abi.SUB_CMD["VDEV_MNG"]["TOTAL_RESOURCE"]
_MOST = abi.LIMITS["max_vdev"]
_FIRST, _END = abi.LIMITS["vdev_id_min"], abi.LIMITS["vdev_id_end"]
_UNKNOWN = ""
_OPENED = 1


class Vnpus:
    """The operations on vNPUs; *opened* returns the session or raises."""

    def __init__(self, opened: Callable[[], Session]) -> None:
        self._opened = opened

    def read(self, card: int, slot: int, logic: int) -> Result:
        """Return ``[id, template, opened, container]`` a vNPU.

        One that can't be described has no template, and counts as opened.
        """
        session, chip = self._opened(), (card, slot, logic)
        rc, ids = _list(session, chip)
        if rc != codes.OK:
            return _failure(session, "info", rc)
        return {"rc": rc, "vnpus": [_describe(session, chip, vnpu)[1] for vnpu in ids]}

    def destroy(self, card: int, slot: int, logic: int, vnpu: int) -> Result:
        """Destroy one vNPU; one that is gone already is fine, one in use is left alone."""
        if not _FIRST <= vnpu < _END:  # 0xFFFF would destroy every vNPU of the chip
            detail = f"{vnpu} is no vNPU: those are {_FIRST} to {_END - 1}"
            return {"rc": codes.INVALID_PARAMETER, "call": "vnpus_destroy", "detail": detail}
        session, chip = self._opened(), (card, slot, logic)
        # Whoever decided this looked a moment ago: a container may have started since.
        what = "info"
        rc, (_, _, opened, _) = _describe(session, chip, vnpu)
        if rc == codes.OK and opened:
            detail = f"a process has vNPU {vnpu} open"
            return {"rc": codes.OCCUPIED, "call": "vnpus_destroy", "detail": detail}
        if rc == codes.OK:
            what = "vnpu_destroy"
            rc = session.ask_always(what, chip, vnpu)
        if rc == codes.OK or _is_gone(session, chip, vnpu):
            return {"rc": codes.OK}
        return _failure(session, what, rc)


def _list(session: Session, chip: Chip) -> tuple[int, list[int]]:
    total = structure("dcmi_soc_total_resource")()
    rc = _ask(session, chip, _TOTAL, total)
    if rc == codes.OK and total.vdev_num > _MOST:
        rc = codes.INVALID_ANSWER
    return rc, list(dict.fromkeys(total.vdev_id[: total.vdev_num])) if rc == codes.OK else []


def _describe(session: Session, chip: Chip, vnpu: int) -> tuple[int, list[object]]:
    asked = structure("dcmi_vdev_query_stru")()
    asked.vdev_id = vnpu
    rc = _ask(session, chip, _EACH, asked)
    if rc != codes.OK:
        return rc, [vnpu, _UNKNOWN, _OPENED, 0]
    info = asked.query_info
    return rc, [vnpu, text(info.name), int(bool(info.is_container_used)), info.container_id]


def _ask(session: Session, chip: Chip, sub: int, out: ctypes.Structure) -> int:
    size = ctypes.c_uint(ctypes.sizeof(out))
    arguments = (_MAIN, sub, ctypes.byref(out), ctypes.byref(size))
    if sub == _TOTAL:
        rc = session.ask("info", chip, *arguments, variant=sub)
    else:  # -8255 of one vNPU says nothing about the next
        rc = session.ask_always("info", chip, *arguments)
    return codes.INVALID_ANSWER if rc == codes.OK and size.value < ctypes.sizeof(out) else rc


def _is_gone(session: Session, chip: Chip, vnpu: int) -> bool:
    rc, ids = _list(session, chip)
    return rc == codes.OK and vnpu not in ids


def _failure(session: Session, what: str, rc: int) -> Result:
    return {"rc": rc, "call": session.name(what)}
