"""What one chip does now: health, fault codes, memory, utilisation, processes.

What is decided here: how many entries of a list count, and which way of asking a chip answers.
What a health value or a fault code means is left to the agent's process.
Source: DCMI API, health, error codes, utilisation, processes.
"""

import ctypes

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.identity import read_memory, read_physical_id
from ascend_agent.driver.dcmi.library import structure
from ascend_agent.driver.dcmi.session import Chip, Result, Session

_MOST_CODES = abi.LIMITS["max_error_codes"]
# The library writes up to 64 processes and is never told how many fit.
_MOST_PROCESSES = abi.LIMITS["max_proc_written"]
_KINDS = abi.ENUMS["utilization_type"]
_PERIOD_S = 1
_FULL_PERCENT = 100


def read_health(session: Session, chip: Chip) -> Result:
    """Return health value and standing codes with a return code each; both are always asked.

    A lost chip shows in the health query's code alone, even where the code query fails too.
    ``phy`` tells whose answer it is where the address does not.
    """
    count, standing = ctypes.c_int(), (ctypes.c_uint * _MOST_CODES)()
    codes_rc = session.ask_always("fault_codes", chip, ctypes.byref(count), standing, _MOST_CODES)
    health = ctypes.c_uint()
    health_rc = session.ask_always("health", chip, ctypes.byref(health))
    if codes_rc == codes.OK and not 0 <= count.value <= _MOST_CODES:
        codes_rc = codes.INVALID_ANSWER
    # Exactly the counted entries: what follows them is whatever the library left there.
    counted = standing[: count.value] if codes_rc == codes.OK else []
    return {
        "rc": codes.OK,
        "health_rc": health_rc,
        "health": health.value if health_rc == codes.OK else None,
        "codes_rc": codes_rc,
        "codes": [code for code in counted if code],
        "phy": _whose(session, chip),
    }


def _whose(session: Session, chip: Chip) -> int | None:
    """Return the physical id behind an address that may have moved; None where it can't, or fails.

    No init can run between this and the queries beside it: they are one operation of a lane.
    """
    if not session.generation.moves:
        return None
    rc, phy = read_physical_id(session, chip[2])
    return phy if rc == codes.OK else None


def read_usage(session: Session, chip: Chip) -> Result:
    """Return memory in MiB and utilisation in percent, None where the chip does not tell."""
    _, _, size, used = read_memory(session, chip)
    core, vector, whole = _read_utilisation(session, chip)
    return {
        "rc": codes.OK,
        "memory_mib": size,
        "memory_used_mib": used,
        "ai_core_percent": core,
        "vector_percent": vector,
        "npu_percent": whole,
    }


def read_processes(session: Session, chip: Chip) -> Result:
    """Return ``[pid, bytes]`` a process.

    One retry: the query fails whole when a process ends while it runs.
    """
    processes = (structure("dcmi_proc_mem_info") * _MOST_PROCESSES)()
    count = ctypes.c_int()
    for _ in range(2):
        rc = session.ask("processes", chip, processes, ctypes.byref(count))
        if rc == codes.OK or rc in codes.ABSENT:
            break
    if rc == codes.OK and not 0 <= count.value <= _MOST_PROCESSES:
        rc = codes.INVALID_ANSWER
    if rc != codes.OK:
        return {"rc": rc, "call": session.name("processes")}
    found = [[entry.proc_id, entry.proc_mem_usage] for entry in processes[: count.value]]
    return {"rc": rc, "processes": found}


def _read_utilisation(session: Session, chip: Chip) -> tuple[int | None, int | None, int | None]:
    """Return AI core, vector and whole-NPU percent by the first way that this chip answers.

    A way that answers -8255, or that the library lacks, is not tried again.
    """
    info = structure("dcmi_multi_utilization_info")()
    rc = session.ask("multi_use_period", chip, ctypes.byref(info), _PERIOD_S)
    if rc != codes.OK:
        rc = session.ask("multi_use", chip, ctypes.byref(info))
    if rc == codes.OK:
        return _percent(info.aicore_util), _percent(info.aiv_util), _percent(info.npu_util)
    core, vector, whole = (
        _read_single(session, chip, _KINDS[kind]) for kind in ("AICORE", "VECTORCORE", "NPU")
    )
    return core, vector, whole


def _read_single(session: Session, chip: Chip, kind: int) -> int | None:
    rate = ctypes.c_uint()
    rc = session.ask("use", chip, kind, ctypes.byref(rate), variant=kind)
    return _percent(rate.value) if rc == codes.OK else None


def _percent(value: int) -> int | None:
    return value if value <= _FULL_PERCENT else None
