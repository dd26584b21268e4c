"""What one chip is: its identity, read call by call.

What is decided here: which answers count as "the chip does not tell", and in which form facts are
handed on. Only the physical id and the chip's name are indispensable. What a name or a board id
means is left to ``ascend_agent.chips``. Source: DCMI API, identity.
"""

import ctypes

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.library import structure, text
from ascend_agent.driver.dcmi.session import Chip, Result, Session

_INVALID = abi.LIMITS["invalid_u32"]
# The library writes up to 32 bytes of CPU list and up to 65 of product without knowing our size.
_TEXT_BYTES = 256


def read_identity(session: Session, chip: Chip) -> Result:
    """Return the identity of *chip*; facts it does not tell are None and named in unavailable."""
    logic = chip[2]
    rc, phy = read_physical_id(session, logic)
    if rc != codes.OK:
        return {"rc": rc, "call": session.name("physical_id")}
    facts = _read_chip_info(session, chip)
    if facts["rc"] != codes.OK:
        return facts
    missing: dict[str, int] = {}
    for read in (_board, _mainboard, _product, _die, _bus, _memory, _affinity):
        facts |= read(session, chip, missing)
    return {**facts, "phy": phy, "logic": logic, "unavailable": missing}


def read_physical_id(session: Session, logic: int) -> tuple[int, int]:
    """Return the code and the physical id of a logic id."""
    phy = ctypes.c_uint(_INVALID)
    rc = session.call("physical_id", logic, ctypes.byref(phy))
    if rc == codes.OK and not is_plausible(phy.value):
        rc = codes.INVALID_ANSWER
    return rc, phy.value


def is_plausible(value: int) -> bool:
    """Return whether an unsigned answer is a number at all: all-ones and the like are markers."""
    return value < 2**31 - 1


def _read_chip_info(session: Session, chip: Chip) -> Result:
    """Return name, type, version, cores; the older call serves where the newer fails."""
    info = structure("dcmi_chip_info_v2")()
    rc = session.ask("chip_info", chip, ctypes.byref(info))
    if rc != codes.OK and "chip_info_old" in session.generation.calls:
        info = structure("dcmi_chip_info")()
        rc = session.ask_always("chip_info_old", chip, ctypes.byref(info))
    facts = {
        "chip_type": text(info.chip_type),
        "chip_name": text(info.chip_name),
        "chip_version": text(info.chip_ver),
    }
    if rc == codes.OK and not any(facts.values()):
        rc = codes.INVALID_ANSWER
    if rc != codes.OK:
        return {"rc": rc, "call": session.name("chip_info")}
    npu_name = text(info.npu_name) if hasattr(info, "npu_name") else ""
    return {"rc": rc, **facts, "npu_name": npu_name, "ai_cores": info.aicore_cnt}


def _note(session: Session, what: str, rc: int, missing: dict[str, int]) -> None:
    """Remember in *missing* why a fact is None; what a generation never tells is no news."""
    if rc != codes.OK and what in session.generation.calls:
        missing[session.name(what)] = rc


def _board(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    info = structure("dcmi_board_info")()
    rc = session.ask("board", chip, ctypes.byref(info))
    ids = (info.board_id, info.pcb_id, info.bom_id, info.slot_id)
    if rc == codes.OK and set(ids) == {_INVALID}:
        rc = codes.INVALID_ANSWER
    _note(session, "board", rc, missing)
    if rc != codes.OK:
        return {"board_id": None, "board_slot": None}
    return {"board_id": info.board_id, "board_slot": info.slot_id}


def _mainboard(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    board = ctypes.c_uint(_INVALID)
    rc = session.ask("mainboard", chip, ctypes.byref(board))
    if rc == codes.OK and board.value == _INVALID:
        rc = codes.INVALID_ANSWER
    _note(session, "mainboard", rc, missing)
    return {"mainboard_id": board.value if rc == codes.OK else None}


def _product(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    rc = session.ask("product", chip, buffer, 65)
    _note(session, "product", rc, missing)
    return {"product": (text(buffer) or None) if rc == codes.OK else None}


def _die(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    """Return the die id as five groups of eight upper-case hex digits."""
    die = structure("dcmi_die_id")()
    rc = session.ask("die", chip, session.generation.die_type, ctypes.byref(die))
    words = tuple(die.soc_die)
    if rc == codes.OK and (not any(words) or set(words) == {_INVALID}):
        rc = codes.INVALID_ANSWER
    _note(session, "die", rc, missing)
    return {"die": "-".join(f"{word:08X}" for word in words) if rc == codes.OK else None}


def _bus(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    """Return the PCI address as ``DDDD:BB:DD.F``; a UB-attached chip has none."""
    pci = structure("dcmi_pcie_info_all")()
    rc = session.ask("pcie", chip, ctypes.byref(pci))
    _note(session, "pcie", rc, missing)
    if rc != codes.OK:
        return {"bus": None}
    place = f"{pci.bdf_busid:02X}:{pci.bdf_deviceid:02X}.{pci.bdf_funcid:X}"
    return {"bus": f"{pci.domain & _INVALID:04X}:{place}"}


def _memory(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    rc, kind, size, _ = read_memory(session, chip)
    what = "ddr" if kind == "ddr" else "hbm"
    _note(session, what, rc, missing)
    return {"memory_mib": size, "memory_kind": kind if size is not None else None}


def read_memory(session: Session, chip: Chip) -> tuple[int, str, int | None, int | None]:
    """Return the code, "hbm" or "ddr", and size and use in MiB.

    DDR is asked for only where a chip has no HBM: a 910A has both, and a passing HBM failure
    must not turn its 32 GiB into something else.
    """
    hbm = structure("dcmi_hbm_info")()
    rc = session.ask("hbm", chip, ctypes.byref(hbm))
    if rc == codes.OK:
        return _sizes("hbm", hbm.memory_size, hbm.memory_usage)
    if rc not in codes.ABSENT or "ddr" not in session.generation.calls:
        return rc, "hbm", None, None
    ddr = structure("dcmi_get_memory_info_stru")()
    rc = session.ask("ddr", chip, ctypes.byref(ddr))
    if rc == codes.OK:
        return _sizes("ddr", ddr.memory_size, ddr.memory_size - ddr.memory_available)
    return rc, "ddr", None, None


def _sizes(kind: str, size: int, used: int) -> tuple[int, str, int | None, int | None]:
    if not (size > 0 and is_plausible(size)):
        return codes.INVALID_ANSWER, kind, None, None
    return codes.OK, kind, size, used if 0 <= used <= size else None


def _affinity(session: Session, chip: Chip, missing: dict[str, int]) -> Result:
    """Return the CPU list near the chip, such as ``0-63,128-191``."""
    buffer, length = ctypes.create_string_buffer(_TEXT_BYTES), ctypes.c_int()
    rc = session.ask("affinity", chip, buffer, ctypes.byref(length))
    _note(session, "affinity", rc, missing)
    return {"affinity": (text(buffer) or None) if rc == codes.OK else None}
