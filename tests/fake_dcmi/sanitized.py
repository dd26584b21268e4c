"""The program that ``test_sanitizer`` runs under AddressSanitizer: ``LIBRARY WHAT``.

WHAT is ``every-operation``, or the name of a mistake that callers of the vendor's library have
made: a buffer that is too short. The library must have been built with the sanitizer.
"""

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from ascend_agent.driver.dcmi.abi import LIBLINGQU
from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.library import structure
from ascend_agent.driver.dcmi.npusmi import NpuSmi
from tests.fake_dcmi.control import FakeHost, fake_host

PRESETS = (
    "310",
    "310B4",
    "310P3",
    "310P3-duo",
    "910A",
    "910B1",
    "910B2",
    "910B3",
    "910B4",
    "910C",
    "910C-x86",
    "910C-9000",
    "950",
    "950-card",
    "mixed-ids",
    "sparse-cards",
    "mixed-ids-950",
)
_FULL = tuple(range(0x80E00000, 0x80E00000 + 128))


@dataclass(frozen=True, slots=True)
class Opened:
    """A backend, the host it is on, and the events it was told."""

    host: FakeHost
    backend: DcmiBackend
    seen: SimpleQueue[bytes]


@contextmanager
def opened(library: Path, *model: str) -> Iterator[Opened]:
    """Open a backend on a host made of script lines."""
    with fake_host(*model) as host, tempfile.TemporaryDirectory() as folder:
        # A copy: the loader hands out a library that was loaded before, its state included.
        own = shutil.copy(library, Path(folder) / "libdcmi.so")
        switches = shutil.copy(library.with_name(LIBLINGQU), Path(folder) / LIBLINGQU)
        os.putenv("FAKE_DCMI_DIR", str(host.directory))
        seen: SimpleQueue[bytes] = SimpleQueue()
        backend = DcmiBackend(
            {"library": own, "switch_library": switches, "allow_unsafe_library": True},
            lambda _seen_ns, raw: seen.put(raw),
            pause=lambda _: None,
            tool=NpuSmi(places=()),
        )
        answer = backend.open()
        if answer["rc"]:
            raise RuntimeError(f"{model}: {answer}")
        yield Opened(host, backend, seen)


def full_switch_list(library: Path) -> None:
    """Read the longest list of switch faults, and be told of one."""
    with opened(library, "preset 910C 2") as fake:
        for port in range(130):
            fake.host.change_switch(0x08520003, port=port)
        answers = [fake.backend.switches.open(), fake.backend.switches.subscribe()]
        fake.host.inject_switch(0x08520003, port=130)
        told = fake.backend.decode(fake.seen.get(timeout=5))
        listed = fake.backend.switches.read()
        if any(answer["rc"] for answer in (*answers, listed)) or len(str(told)) < 20:
            raise RuntimeError(f"{answers} {listed} {told}")


def full_vnpu_list(library: Path) -> None:
    """Read the longest list of vNPUs, with the longest name, and destroy one of them."""
    with opened(library, "preset 910B3 1") as fake:
        for vnpu in range(100, 132):
            fake.host.set_vnpu(0, vnpu, "vir05_1c_16g_mxx", used=vnpu % 2)
        listed = fake.backend.vnpus.read(0, 0, 0)["vnpus"]
        answer = fake.backend.vnpus.destroy(0, 0, 0, 130)
        if answer["rc"] or not isinstance(listed, list) or len(listed) != 32:
            raise RuntimeError(f"{listed} {answer}")


def every_operation(library: Path) -> None:
    """Run every operation on every chip of every preset, with full lists."""
    full_switch_list(library)
    full_vnpu_list(library)
    for preset in PRESETS:
        with opened(library, f"preset {preset}", "callbacks on") as fake:
            fake.backend.subscribe()
            listed = fake.backend.enumerate(1)["chips"]
            assert isinstance(listed, list)
            for card, slot, logic, _ in listed:
                ask_everything(fake, card, slot, logic)


def ask_everything(fake: Opened, card: int, slot: int, logic: int) -> None:
    """Run every operation on one chip, and have it tell an event."""
    backend, identity = fake.backend, fake.backend.identity(card, slot, logic)
    phy = identity["phy"]
    assert isinstance(phy, int)
    # Before the processes: a card on which something runs keeps its flag.
    enabled = backend.share_enable(card, slot, logic)
    fake.host.set_codes(phy, _FULL)
    fake.host.set_processes(phy, [(pid, pid << 20) for pid in range(1, 65)])
    fake.host.notify(phy, _FULL[0], assertion=1)
    told = backend.decode(fake.seen.get(timeout=5))
    found = {
        "identity": identity,
        "health": backend.health(card, slot, logic),
        "usage": backend.usage(card, slot, logic),
        "processes": backend.processes(card, slot, logic),
        "share_enable": enabled,
        "share_read": backend.share_read(card, slot, logic),
    }
    failed = {op: answer for op, answer in found.items() if answer["rc"]}
    fake.host.set_processes(phy, [])
    backend.share_disable(card, slot, logic)
    codes, processes = found["health"]["codes"], found["processes"].get("processes")
    assert isinstance(processes, list)
    if failed or codes != list(_FULL) or len(processes) != 64 or told["logic"] != logic:
        raise RuntimeError(f"{failed or found} {told}")


def short_process_list(library: Path) -> None:
    """Give 32 entries to a call that writes 64 (DCMI defect 1)."""
    with opened(library, "preset 910B3") as fake:
        fake.host.set_processes(0, [(pid, 1) for pid in range(1, 65)])
        buffer, count = (structure("dcmi_proc_mem_info") * 32)(), ctypes.c_int()
        longer = ctypes.cast(buffer, ctypes.POINTER(structure("dcmi_proc_mem_info")))
        fake.backend._opened().call("processes", 0, 0, longer, ctypes.byref(count))


def short_chip_info(library: Path) -> None:
    """Give the 100 bytes of the first generation to the second (DCMI defect 2)."""
    with opened(library, "preset 950") as fake:
        old = structure("dcmi_chip_info")()
        longer = ctypes.cast(ctypes.byref(old), ctypes.POINTER(structure("dcmi_chip_info_v2")))
        fake.backend._opened().call("chip_info", 0, longer)


def short_affinity(library: Path) -> None:
    """Give 24 bytes to a call that is not told the size and writes 32."""
    with opened(library, "preset 910B3") as fake:
        buffer, length = ctypes.create_string_buffer(24), ctypes.c_int()
        fake.backend._opened().call("affinity", 0, 0, buffer, ctypes.byref(length))


def short_code_list(library: Path) -> None:
    """Claim room for 128 codes where there is room for 64."""
    with opened(library, "preset 910B3") as fake:
        buffer, count = (ctypes.c_uint * 64)(), ctypes.c_int()
        fake.backend._opened().call("fault_codes", 0, 0, ctypes.byref(count), buffer, 128)


def short_switch_list(library: Path) -> None:
    """Claim room for 128 switch faults where there is room for 64."""
    with opened(library, "preset 910C 2") as fake:
        fake.backend.switches.open()
        entries, count = (structure("LqDcmiEvent") * 64)(), ctypes.c_uint()
        lingqu = fake.backend.switches._opened()
        longer = ctypes.cast(entries, ctypes.POINTER(structure("LqDcmiEvent")))
        lingqu.call("lq_dcmi_get_fault_info", 128, ctypes.byref(count), longer)


def short_vnpu(library: Path) -> None:
    """Give the room of a description where the chip's total is written."""
    with opened(library, "preset 910B3") as fake:
        out, size = structure("dcmi_vdev_query_stru")(), ctypes.c_uint(360)
        session = fake.backend._opened()
        session.call("info", 0, 0, 52, 1, ctypes.byref(out), ctypes.byref(size))


MISTAKES: dict[str, Callable[[Path], None]] = {
    "short-process-list": short_process_list,
    "short-chip-info": short_chip_info,
    "short-affinity": short_affinity,
    "short-code-list": short_code_list,
    "short-switch-list": short_switch_list,
    "short-vnpu": short_vnpu,
}


if __name__ == "__main__":
    {"every-operation": every_operation, **MISTAKES}[sys.argv[2]](Path(sys.argv[1]))
